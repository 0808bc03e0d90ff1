// Command interlock is the whole product in one program: the control plane
// (server), the agent on a machine with phones (host), one task without a
// server (run), the operator's commands and the demo.
//
// This package reads settings and signals, and prints; everything else is in
// internal. What a person asked for goes to standard output, progress, log
// lines and errors to standard error. An error is one sentence that says what
// to do, and the exit code says what kind it was (exit.go).
//
// The first SIGINT or SIGTERM asks a server or a host to drain; the second
// cancels, unless it comes within a second and is thus taken for the same. Every
// other command is cancelled by the first.
package main

import "os"

// version is set by the build.
var version = "unversioned"

func main() { os.Exit(run()) }

// run is main with the deferred calls done before the process ends.
func run() int {
	p := newProgram()
	defer p.watchSignals()()
	return p.execute(os.Args[1:])
}

//go:build unix

package webdriver

import (
	"os"
	"os/exec"
	"syscall"
)

// own puts the program in a group of its own, so that end reaches what it
// starts and a Ctrl-C at the terminal does not.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = attributes() }

// end ends a process and its group.
func end(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

//go:build unix

package wordpress_test

import (
	"os/exec"
	"syscall"
)

// inGroupOfItsOwn lets endGroup reach what the program starts.
func inGroupOfItsOwn(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends the program and all that it started.
func endGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

//go:build !unix

package wordpress_test

import "os/exec"

// PHP's server has no workers here.
func inGroupOfItsOwn(*exec.Cmd) {}

func endGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

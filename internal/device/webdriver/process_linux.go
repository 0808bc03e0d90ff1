package webdriver

import "syscall"

// attributes: ChromeDriver ends when this process does, however that happens.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// columns is the width of the terminal that f is; 0: it is none.
func columns(f *os.File) int {
	var screen windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &screen) != nil {
		return 0
	}
	return int(screen.Window.Right-screen.Window.Left) + 1
}

// Package adbdtest is a phone for tests of package android: the daemon that
// runs on one, spoken to by a real adb server, with a small Android behind it.
//
// The phone is a state machine of an app for notes (a list that scrolls, a form
// with fields), the settings (rotation, a secure screen with a password), a web
// page and a home screen. It understands the commands that the driver sends,
// and answers others as a shell does that has no such program. What a command
// did is certain: the same commands always lead to the same screens.
//
// A test makes it misbehave with Answer (the next commands of a kind are
// answered otherwise, late, in part or never), Freeze, Drop and Unauthorize.
// The adb server of StartServer listens on a port of its own and keeps its keys
// in a folder of its own; both end with the test.
package adbdtest

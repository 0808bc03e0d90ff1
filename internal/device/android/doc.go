// Package android drives real phones over adb: it speaks the smart-socket
// protocol of an adb server itself, and needs nothing installed on the phone.
//
// A Phone is claimed by one Open, which wakes its screen, and is bound to the
// boot of the phone that it found there: once the phone has restarted, every
// call says device.ErrLost. Each command that acts carries that boot with it, so
// the phone itself refuses one that was meant for its life before. Other
// programs may use the same adb server meanwhile; it is never ended, and a phone
// that went offline is brought back by connecting it anew, never by restarting
// the server.
//
// Observe reads the window in front with uiautomator, which on a screen that
// never rests takes some ten seconds to give up. Such a screen is shown as a
// picture with one element that says so; a description that was cut is never
// taken for a whole one, and no picture is ever made up. Where the keyboard
// lies over an element, that part of the element is not in the scene.
//
// An error says that an action was not dispatched only where the server had
// not been asked to run anything on the phone yet. A connection that ends
// without an exit code, a deadline and a command that failed all say Unknown.
//
// The driver changes two things for its own use, the input method and the
// clipboard, and only to type what Android's own input command can't. What to
// put back is written to a file before the change, and put back by the next
// Open if this process is gone by then.
package android

// Package webdriver drives a browser as if it were a phone: Chromium through
// ChromeDriver, with the screen, the touch and the user agent of a phone.
//
// Open starts a ChromeDriver of its own on loopback and a browser with an empty
// profile, and Close ends both and removes the profile, so no attempt sees what
// another left behind. If this process is killed the browser ends by itself on
// Linux, elsewhere it may stay, and the profile stays in the temporary folder.
//
// A scene's pixels are CSS pixels of the visible page, whose width and height
// are the screen's; the screenshot's transform maps the browser's own pixels to
// them, each axis by its own ratio. What another element covers is not in the
// scene, so nothing can be aimed at it. A dialog of the page's script is the
// whole scene until it is answered. Frames of another origin show as one
// element without content.
//
// An error says that an action was not dispatched only where the driver could
// not even be connected to, or the action was refused before.
package webdriver

// Package wordpress holds the plugin for WordPress against a real one: its own
// code under PHP, and a site on PHP's server with SQLite, asked by a real
// browser, with a real control plane behind it. Nothing of it ships.
//
// What passes between the browser and the site, and between the site and the
// control plane, goes over a wire that records it, so that a test can say of
// everything that a browser ever saw that it held no token, no key and no
// credential.
//
// WordPress comes from Debian's packages, which .ci/wordpress unpacks into
// .cache/wordpress; PHP, Chromium, zip and unzip are installed by .ci/setup.
// Without one of them the tests fail and name the line that brings it. The flag
// -suite chooses another WordPress, and -php another PHP.
package wordpress

// Package archtest keeps the plan of the house: which room (package) may
// import which. House holds the plan as data, Check compares a source tree
// with it, and this package's own test does so for this module.
//
// The plan is an ordered list, foundation first. A room may import the rooms
// that it knows, all of them earlier in the list, and whatever those know:
// the set is closed. Three kinds of room are narrower than that. An adapter (a
// provider, a store, a device driver) is imported only by a room that names
// it, and only app and rooms for tests may name one, so replacing a vendor or
// a database touches one folder and one line of wiring. A room for tests is
// imported only by tests and by other rooms for tests. Nobody imports a
// command. A Wall is a thing that some rooms must not reach whatever the plan
// allows, and it says why.
//
// Check reads the import lines itself, from every Go file: tests and files
// that a build tag leaves out as well. A listing by the go command would be
// invisible to the cache of test results, and a broken plan would then show an
// earlier pass.
//
// A new room is added to the plan in the commit that makes it.
package archtest

// Package peers holds our wire clients against programs that we did not write:
// the vendors' own libraries for Node, which must send the same request and
// read the same decision out of each recorded reply, and aimock, a mock of
// both vendors. Nothing of it ships.
//
// The programs are npm packages, pinned in package.json; "npm ci" in this
// folder installs them. Without them the tests fail, because a peer that
// didn't speak has agreed to nothing.
package peers

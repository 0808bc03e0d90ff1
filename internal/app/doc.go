// Package app wires a server or a host out of settings and parts. It is the
// only room that knows providers, stores and device drivers by name, so
// replacing one touches its folder and a line here. It holds no rule of the
// product: what looks like one belongs to the room it is about.
//
// A Server or a host is built whole or not at all, runs in Run until its
// context ends or it is drained, and has given everything back when Run
// returns: doors first, then the loops, the store last. After a crash nothing
// here needs repair; each room says what it does with what it finds.
package app

// Package app wires a server or a host out of settings and parts. It is the
// only room that knows providers, stores and device drivers by name, so
// replacing one touches its folder and a line here. It holds no rule of the
// product: what looks like one belongs to the room it is about.
//
// A Server or a Host is built whole or not at all, runs in Run until its
// context ends or it is drained, and has given everything back when Run
// returns: doors first, then the loops, the store last. After a crash nothing
// here needs repair; each room says what it does with what it finds.
package app

import (
	"net"
	"net/netip"
	"time"
)

// DefaultListen is where a server listens if nobody says otherwise.
const DefaultListen = "127.0.0.1:8420"

// ServerConfig is what a server is built of. The zero value serves no model
// and needs a Database.
type ServerConfig struct {
	Version string

	Listen          string // the doors without an address of their own; "": DefaultListen
	ListenHosts     string
	ListenOperators string
	PublicURL       string // how others reach it; "": as it listens
	TLSCert, TLSKey string // paths of PEM files; both or neither
	TrustedProxies  []netip.Prefix

	Database          string        // path of the SQLite file
	DecisionRetention time.Duration // zero: decision's default
	DecisionMaxBytes  int64         // zero: no limit

	MaxDecisionsPerAttempt int   // zero: usage's default
	MaxTokensPerTask       int64 // zero: no limit
	MaxConcurrentDecides   int   // zero: usage's default

	Planner Planner

	// For tests, and for the demo's free port.
	Now      func() time.Time // nil: time.Now
	Listener net.Listener     // nil: made from Listen
}

// HostConfig is what a host is built of.
type HostConfig struct {
	Version   string
	Server    string // URL
	CAFile    string
	StateDir  string // credential and unsent results
	Name      string
	Labels    map[string]string
	Devices   []DeviceConfig
	DrainTime time.Duration
	Planner   Planner

	Now func() time.Time // nil: time.Now
}

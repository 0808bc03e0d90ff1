// Package store holds what every storage engine shares: how bodies are packed,
// and the named failures of a store that a caller can act on.
//
// Each room of the control plane declares the Store that it needs; an engine
// (store/sqlite) implements them all, and store/storetest is the suite that
// every engine passes.
package store

import "interlock/internal/fault"

// Failures of the store itself. Each is one sentence that says what to do; the
// cause in its chain is for the operator's log.
var (
	// ErrBusy: the queue of waiting writes is full. Nothing was written.
	ErrBusy = fault.New(fault.Exhausted, "store_busy", "more is being written than the disk can take; try again in a moment").Retry(0)
	// ErrFull: nothing was written. The same call succeeds once there is space.
	ErrFull = fault.New(fault.Unavailable, "storage_full", "the disk that holds the database is full; free some space and try again").Retry(0)
	// ErrLocked: another program writes to the database.
	ErrLocked = fault.New(fault.Unavailable, "database_locked", "another program holds the database; close it and try again").Retry(0)
	// ErrInUse: another server has the database open.
	ErrInUse = fault.New(fault.Conflict, "database_in_use", "another Interlock server has this database open; stop it first, or give this one a database of its own (INTERLOCK_DATABASE)")
	// ErrClosed: the store was closed; nothing was written.
	ErrClosed = fault.New(fault.Unavailable, "store_closed", "the server is shutting down; try again once it is back").Retry(0)
	// ErrNotDatabase: the file is something else, or damaged.
	ErrNotDatabase = fault.New(fault.Invalid, "not_a_database", "the file is not an Interlock database, or it is damaged; check INTERLOCK_DATABASE, or restore a backup")
	// ErrNewer: the schema is more than one step ahead of this program.
	ErrNewer = fault.New(fault.Conflict, "database_newer", "the database was written by a newer Interlock; run that version, or restore a backup made before the upgrade")
	// ErrPlace: the file can't be made or opened where it should be.
	ErrPlace = fault.New(fault.Forbidden, "database_unwritable", "the database can't be opened for writing there; check INTERLOCK_DATABASE, the folder and who owns it")
	// ErrNetworkDisk: file locks can't be trusted there.
	ErrNetworkDisk = fault.New(fault.Invalid, "database_on_network_disk", "the database lies on a network file system, where its locks can't be trusted; put it on a local disk")
)

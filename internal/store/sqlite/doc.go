// Package sqlite keeps the whole control plane in one SQLite file.
//
// Promises. A call that returned without error is on the disk: every commit is
// synced. Each method is one transaction; one that fails leaves nothing
// behind. What a caller reads includes every write that was answered before.
//
// Writing. One goroutine owns the only writing connection. It takes what is
// waiting, at most 256 operations and those of the control lane (leases,
// claims, results) first, commits them together, answers, and repeats: the
// sync is shared, and nobody waits for company. An operation that fails after
// it wrote something undoes the batch, which then runs again with a savepoint
// an operation; so operations may run twice and keep no state of their own.
// A context that ends while an operation waits does not take it back: the
// caller can't know what became of it and repeats with the same key. More than
// 4,096 waiting operations in a lane are refused with store.ErrBusy.
//
// Reading uses connections of its own that can't write, each read at most 30
// seconds, so that none keeps the write-ahead log from being emptied for long.
//
// Time. Config.Now is the one clock. Leases run on its monotonic reading,
// counted from Open: stepping the wall clock neither ends nor prolongs one.
// Schedules and records use the wall clock. A lease granted before a restart
// starts over at Open with the length it was granted for: nobody could renew
// while the server was down, and the stored time may stem from a clock that
// was stepped since.
//
// Crash. SQLite recovers by itself at Open; an answered call is there, one that
// was not answered is there whole or not at all. Nothing that matters is only
// in memory.
//
// Quotas. A unit is taken by one statement that is guarded with the limit, in
// the transaction that logs the call: no meter is raised beyond its limit, and
// none says less than the log.
//
// Erasure. Deleted content is overwritten. Reclaim shortens the file, overwrites
// what the engine left when it moved rows between pages, and empties the
// write-ahead log, so that a pruned prompt, instruction or reply is in neither
// file. It looks at every page, about 700 MiB a second, in turns between which
// others write.
//
// One server a file: a lock beside it (the file's name with ".lock") refuses a
// second one. The file is readable by its owner only.
package sqlite

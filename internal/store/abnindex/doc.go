// Package abnindex makes an index file of the Australian Business Register's
// public extract (the ABN Bulk Extract) and answers look-ups from it, without
// a credential and without a network. Import makes one, Index is an abn.Source.
//
// Promises. An index is whole or it is not there: every record of every file
// of one extract, but for those that Import counts as left out. So "no record"
// is a true answer as of the extract's time, and every failure is another
// answer: upstream_unavailable.
//
// Making. An import reads the zips as streams, in memory that does not grow
// with them, and stores batches of records in a file beside the index, the old
// one answering meanwhile. Each batch is one transaction with the mark of how
// far the reading has come. At the end the number of records is proved, the
// file is on the disk, and one rename puts it into the place of the old index.
// The files are taken for hostile: what is no extract, whole and sound, is
// refused with its place, and the index stays as it was.
//
// Crash. A process that is killed, or a machine that loses power, leaves the
// old index untouched and the new one at its last batch; the same import goes
// on from there. It knows its files by their size and by a hash of their ends,
// which in a zip hold the checksums of everything inside. A lock (the index's
// name with ".lock") keeps two imports apart.
//
// Asking. An index file never changes once it has its name, so it is read as
// immutable. A look-up asks at most once a second whether another file has
// taken the name and goes over to it; a clock that was
// set back only makes it ask earlier. A file in its place that is no index
// changes nothing; none at all ends the answers.
//
// What is authoritative is the register: details that it withdraws are in an
// index until the next import.
package abnindex

// Package audit holds the facts of what an operator, or the system itself,
// changed. A store commits a Fact in the same transaction as the change that
// it describes, so there is never one without the other. The facts of a
// tenant form a hash chain: removing, inserting or editing one breaks every
// hash after it, which Verify reports.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Fact is one change. Detail never holds a secret, a prompt or an argument.
type Fact struct {
	Tenant  tenant.ID
	At      time.Time         // UTC; stores keep microseconds
	Actor   string            // "token:<id>", "host:<id>" or "system"
	Action  string            // a verb on a noun: "task.cancel", "host.revoke"
	Subject string            // the id of what was changed
	Detail  map[string]string // what changed, for a person
}

// System is the Actor of what nobody asked for.
const System = "system"

// ByToken is the Actor of an operator with the API token of that id.
func ByToken(id string) string { return "token:" + id }

// ByHost is the Actor of the host with that id.
func ByHost(id string) string { return "host:" + id }

// Entry is a Fact at its place in the tenant's chain.
type Entry struct {
	Seq  int64 // 1, 2, 3 … within the tenant, without gaps
	Fact Fact
	Prev [32]byte // hash of the entry before; zero for the first
	Hash [32]byte
}

// Seal places f behind the entry whose sequence number and hash are given
// (0 and the zero hash at the start of a chain).
func Seal(prevSeq int64, prev [32]byte, f Fact) Entry {
	f.At = f.At.UTC().Truncate(time.Microsecond)
	e := Entry{Seq: prevSeq + 1, Fact: f, Prev: prev}
	e.Hash = e.sum()
	return e
}

// sum hashes length-prefixed fields, so that no two entries share an encoding.
func (e Entry) sum() [32]byte {
	h := sha256.New()
	field := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	h.Write(e.Prev[:])
	f := e.Fact
	field(fmt.Sprint(e.Seq))
	field(string(f.Tenant))
	field(fmt.Sprint(f.At.UnixMicro()))
	field(f.Actor)
	field(f.Action)
	field(f.Subject)
	for _, k := range slices.Sorted(maps.Keys(f.Detail)) {
		field(k)
		field(f.Detail[k])
	}
	return [32]byte(h.Sum(nil))
}

// Verify checks consecutive entries of one tenant that start behind the given
// sequence number and hash. The error names the first entry that is wrong.
func Verify(prevSeq int64, prev [32]byte, entries []Entry) error {
	for _, e := range entries {
		if e.Seq != prevSeq+1 || e.Prev != prev || e.Hash != e.sum() {
			return fault.New(fault.Conflict, "audit_chain_broken", "the audit chain is broken at entry %d: it was changed, removed or inserted outside Interlock", prevSeq+1)
		}
		prevSeq, prev = e.Seq, e.Hash
	}
	return nil
}

// Log reads the chain of a tenant; stores implement it.
type Log interface {
	// Facts returns up to limit entries behind sequence number after, in order.
	Facts(ctx context.Context, t tenant.ID, after int64, limit int) ([]Entry, error)
}

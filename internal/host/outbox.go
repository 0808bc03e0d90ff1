package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
)

const (
	outboxFolder = "outbox"
	// keepResult is how long a result is tried before it is dropped.
	keepResult = 7 * 24 * time.Hour
	// maxOutbox bounds what is read back at start.
	maxOutbox = 10_000
)

// letter is one result on its way, as it is on disk.
type letter struct {
	hostapi.Held
	Key    string                `json:"key"`
	Result hostapi.ResultRequest `json:"result"`
	At     time.Time             `json:"at"` // wall clock, when the attempt ended
}

// outbox keeps results that the control plane has not answered for good, one
// file each. A result is in it before it is sent, so that it outlives the
// process. It is safe for concurrent use.
type outbox struct {
	dir string
	log *slog.Logger

	mu       sync.Mutex
	letters  []letter              // guarded by mu; oldest first, equal to the files
	withheld map[hostapi.Held]bool // guarded by mu; their events go first
	change   chan struct{}         // guarded by mu; closed and replaced when letters or withheld change
}

// openOutbox reads what an earlier process left. A file that can't be read is
// set aside and named in the log; it never holds up the others.
func openOutbox(stateDir string, log *slog.Logger) (*outbox, error) {
	o := &outbox{dir: filepath.Join(stateDir, outboxFolder), log: log, withheld: map[hostapi.Held]bool{}, change: make(chan struct{})}
	if err := makePrivate(o.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return nil, errStorage.Because(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || len(o.letters) == maxOutbox {
			continue
		}
		var l letter
		path := filepath.Join(o.dir, e.Name())
		if err := readPrivate(path, &l); err != nil || l.path(o.dir) != path || checkID(l.TaskID) != nil {
			log.Error("a result in the outbox can't be read and is set aside", "file", path, "error", err)
			os.Rename(path, path+".bad")
			continue
		}
		o.letters = append(o.letters, l)
	}
	slices.SortFunc(o.letters, func(a, b letter) int { return a.At.Compare(b.At) })
	return o, nil
}

// path is the letter's file.
func (l letter) path(dir string) string { return attemptFile(dir, l.Held) }

// attemptFile is the path in dir of a file for one attempt, whatever its task
// is called.
func attemptFile(dir string, h hostapi.Held) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", h.TaskID, h.Attempt))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
}

// put makes the result of an attempt durable and withholds it until post. The
// first one stands. Where the disk refuses, it is kept in memory all the same,
// and the error says so.
func (o *outbox) put(l letter) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.find(l.Held) >= 0 {
		return fault.New(fault.Conflict, "result_exists", "this attempt has a result already")
	}
	o.letters = append(o.letters, l)
	o.withheld[l.Held] = true
	return writeState(l.path(o.dir), l)
}

// post lets a result be sent.
func (o *outbox) post(h hostapi.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.withheld, h)
	o.changed()
}

// drop forgets a letter that was answered for good.
func (o *outbox) drop(h hostapi.Held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.find(h)
	if i < 0 {
		return
	}
	if err := removeState(o.letters[i].path(o.dir)); err != nil {
		// It is sent once more after a restart, and answered as a replay.
		o.log.Warn("a result that was answered can't be removed from the outbox", "task", h.TaskID, "attempt", h.Attempt, "error", err)
	}
	o.letters = slices.Delete(o.letters, i, i+1)
	o.changed()
}

// changed wakes everybody; the caller holds mu.
func (o *outbox) changed() {
	close(o.change)
	o.change = make(chan struct{})
}

// due returns what may be sent, oldest first, and a channel that is closed
// when that changes.
func (o *outbox) due() ([]letter, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := slices.DeleteFunc(slices.Clone(o.letters), func(l letter) bool { return o.withheld[l.Held] })
	return due, o.change
}

// emptied waits until nothing is left that may be sent.
func (o *outbox) emptied(ctx context.Context) {
	for {
		due, change := o.due()
		if len(due) == 0 {
			return
		}
		select {
		case <-change:
		case <-ctx.Done():
			return
		}
	}
}

// find returns the place of an attempt's letter, or -1; the caller holds mu.
func (o *outbox) find(h hostapi.Held) int {
	return slices.IndexFunc(o.letters, func(l letter) bool { return l.Held == h })
}

// held returns the attempts whose results are not answered yet, oldest first.
func (o *outbox) held() []hostapi.Held {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []hostapi.Held
	for _, l := range o.letters {
		out = append(out, l.Held)
	}
	return out
}

// has reports whether an attempt's result waits here.
func (o *outbox) has(h hostapi.Held) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.find(h) >= 0
}

// tooOld reports whether a letter has been tried for long enough. One from the
// future was written by a clock that was wrong, and is kept.
func (l letter) tooOld(now time.Time) bool { return now.Sub(l.At) > keepResult }

// checkID refuses task ids that could mean something in a path.
func checkID(id string) error {
	bad := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, bad) {
		return fault.New(fault.Invalid, "task_id", "the control plane sent a task id that is none")
	}
	return nil
}

package host

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/runner"
)

const (
	commitsFolder = "commits"
	// keepCommits is how long the ledger of an attempt that a crash ended is
	// kept: the control plane has given up on it long before.
	keepCommits = 7 * 24 * time.Hour
)

// ledger keeps what an attempt has sent that can't be taken back, in a file
// that is there until the attempt's end is known. It is the runner's Ledger.
type ledger struct {
	path string
	held hostapi.Held
}

// page is a ledger on disk.
type page struct {
	hostapi.Held
	Commits []entry `json:"commits"`
}

type entry struct {
	Hash string    `json:"hash"`
	Step int       `json:"step"`
	Tool string    `json:"tool"`
	At   time.Time `json:"at"`
	Seen bool      `json:"seen,omitzero"`
}

func newLedger(stateDir string, held hostapi.Held) *ledger {
	return &ledger{path: attemptFile(filepath.Join(stateDir, commitsFolder), held), held: held}
}

// Commits returns what a process before this one sent for the attempt.
func (l *ledger) Commits(context.Context) ([]runner.Commit, error) {
	var p page
	switch err := readPrivate(l.path, &p); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var all []runner.Commit
	for _, e := range p.Commits {
		all = append(all, runner.Commit(e))
	}
	return all, nil
}

// Keep replaces the file.
func (l *ledger) Keep(_ context.Context, all []runner.Commit) error {
	p := page{Held: l.held}
	for _, c := range all {
		p.Commits = append(p.Commits, entry(c))
	}
	return writeState(l.path, p)
}

// close removes the file: the attempt's end is known.
func (l *ledger) close() error { return removeState(l.path) }

// readLedgers makes the folder of ledgers and tells of what a crash has left in
// it. Should the control plane give this host one of those attempts once more,
// the runner finds its ledger and ends it as indeterminate.
func readLedgers(stateDir string, now time.Time, log *slog.Logger) error {
	dir := filepath.Join(stateDir, commitsFolder)
	if err := makePrivate(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errStorage.Because(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") {
			readLeft(filepath.Join(dir, e.Name()), now, log)
		}
	}
	return nil
}

func readLeft(path string, now time.Time, log *slog.Logger) {
	var p page
	if err := readPrivate(path, &p); err != nil || len(p.Commits) == 0 {
		log.Error("a ledger of an earlier process can't be read; it stays where it is", "file", path, "error", err)
		return
	}
	last := p.Commits[len(p.Commits)-1]
	if now.Sub(last.At) > keepCommits {
		if err := removeState(path); err != nil {
			log.Warn("an old ledger can't be removed", "file", path, "error", err)
		}
		return
	}
	log.Warn("this host ended while it acted: nobody saw what came of the last action, so look at the device",
		"task", p.TaskID, "attempt", p.Attempt, "step", last.Step, "tool", last.Tool, "sent", last.At)
}

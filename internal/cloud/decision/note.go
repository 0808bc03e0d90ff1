package decision

import (
	"context"
	"errors"
	"sync"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/tally"
)

// Outcomes beside the reasons of llm.Unavailable and the codes of faults.
const (
	OutcomeDecided  = "decided"
	OutcomeReplayed = "replayed" // answered from the log, or from a flight that another call began
)

// counters are since the start of the process.
type counters struct {
	outcomes tally.Tally

	mu         sync.Mutex
	pruneFails int64 // guarded by mu
	pruned     int64 // guarded by mu
}

func (c *counters) pruneFailed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pruneFails++
}

func (c *counters) prunedRows(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pruned += int64(n)
}

// note writes the one line of a decide: ids, tool, latency and the class of
// the failure. Prompts, arguments, the model's words and usage are not in it.
func (s *Service) note(ctx context.Context, f *flight, h fleet.Host, r llm.Request, requestID string, d llm.Decision, err error, latency time.Duration) {
	outcome := OutcomeDecided
	switch {
	case err != nil:
		outcome = class(err)
	case f.replay || f.requestID != requestID:
		outcome = OutcomeReplayed
	}
	s.counts.outcomes.Add(outcome)
	attrs := []any{"request", requestID, "task", bounded(r.TaskID), "attempt", r.Attempt, "host", h.ID, "tool", d.Call.Tool, "latency", latency}
	if err != nil {
		attrs = append(attrs, "error", outcome)
	}
	s.cfg.Logger.InfoContext(ctx, "decide", attrs...)
}

// class is the stable name of a failure.
func class(err error) string {
	var u *llm.Unavailable
	if errors.As(err, &u) {
		return string(u.Reason)
	}
	return fault.Of(err).Code
}

// bounded cuts an id that a stranger may have made up.
func bounded(id string) string { return id[:min(len(id), 64)] }

// ids are the attributes that say which decide a line is about.
func (f *flight) ids(more ...any) []any {
	return append([]any{"request", f.requestID, "task", f.fence.Task, "attempt", f.fence.Attempt, "host", f.fence.Host}, more...)
}

// Stats is what the service counted since the start, and how the log stands.
type Stats struct {
	Outcomes    map[string]int64 // decides by outcome: decided, replayed, a reason or a fault's code
	InFlight    int
	Log         Size
	MaxBytes    int64         // 0: no budget
	NextPrune   time.Time     // when the next decisions are due to go; zero: none are
	PruneLag    time.Duration // for how long decisions have been overdue
	Pruned      int64         // decisions that retention removed
	PruneFailed int64         // rounds of retention that failed
}

// Decides is how many decides came, whatever became of them.
func (st Stats) Decides() (n int64) {
	for _, c := range st.Outcomes {
		n += c
	}
	return n
}

// Stats reads the counters, and two of the store's.
func (s *Service) Stats(ctx context.Context) (Stats, error) {
	st := Stats{Outcomes: s.counts.outcomes.Counts(), MaxBytes: s.cfg.MaxBytes, InFlight: s.inFlight()}
	s.counts.mu.Lock()
	st.Pruned, st.PruneFailed = s.counts.pruned, s.counts.pruneFails
	s.counts.mu.Unlock()
	var err error
	if st.Log, err = s.store.Size(ctx); err != nil {
		return st, err
	}
	oldest, err := s.store.NextPrune(ctx)
	if err == nil && !oldest.IsZero() {
		st.NextPrune = oldest.Add(s.cfg.Retention)
		st.PruneLag = max(s.now().Sub(st.NextPrune), 0)
	}
	return st, err
}

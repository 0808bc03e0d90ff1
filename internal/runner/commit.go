package runner

import (
	"context"
	"slices"
	"time"

	"interlock/internal/device"
	"interlock/internal/sleep"
)

// Commit is one action that can't be taken back, or of which nobody knows
// (policy.Classify), as the ledger keeps it. It holds no argument and no text
// of the screen.
type Commit struct {
	Hash string // of the proposal, as in Permission.ActionHash
	Step int
	Tool string
	At   time.Time // UTC, right before it was sent
	Seen bool      // its effect was seen; kept with the next commit, not before
}

// Ledger keeps the commits of one attempt where a crash can't lose them. Its
// errors end the attempt like those of Record.
type Ledger interface {
	// Commits returns what was kept, by a process before this one too.
	Commits(ctx context.Context) ([]Commit, error)

	// Keep replaces what was kept. All of it is durable when Keep returns nil.
	Keep(ctx context.Context, all []Commit) error
}

// How long the effect of a commit is looked for.
const (
	effectPause  = 500 * time.Millisecond
	effectLooks  = 6
	loadingLooks = 24 // while the screen says that more is to come
)

// resume reads what an earlier process of this attempt has sent. A commit of
// it whose effect nobody saw is the end.
func (a *attempt) resume(ctx context.Context) *end {
	if a.ledger == nil {
		return nil
	}
	var err error
	if a.commits, err = a.ledger.Commits(ctx); err != nil {
		return hostSaid(ctx, err, "not_recorded", "the host could not read which actions it had sent; its log has the cause")
	}
	if slices.ContainsFunc(a.commits, func(c Commit) bool { return !c.Seen }) {
		a.acted = true
		return unseen()
	}
	return nil
}

// unseen is the end of an attempt that sent a commit and saw nothing come of
// it.
func unseen() *end {
	return over(Indeterminate, "effect_unseen", "an action that can't be taken back was sent and nothing was seen to come of it; look at the device before trying again")
}

// sent reports whether this very proposal was sent before in this attempt.
func (a *attempt) sent(d *decision) bool {
	hash := d.hash()
	return slices.ContainsFunc(a.commits, func(c Commit) bool { return c.Hash == hash })
}

// enter writes d to the ledger, if it is a commit, before anything is sent.
func (a *attempt) enter(ctx context.Context, d *decision) *end {
	if !d.class.Commits() {
		return nil
	}
	a.commits = append(a.commits, Commit{Hash: d.hash(), Step: a.steps + 1, Tool: d.call.Tool, At: a.clock().UTC()})
	if a.ledger == nil {
		return nil
	}
	if err := a.ledger.Keep(ctx, slices.Clone(a.commits)); err != nil {
		a.withdraw(d)
		return hostSaid(ctx, err, "not_recorded", "the host could not record that an action was about to be sent; its log has the cause")
	}
	return nil
}

// withdraw takes d back, which was surely not sent.
func (a *attempt) withdraw(d *decision) {
	if d.class.Commits() {
		a.commits = a.commits[:len(a.commits)-1]
	}
}

// conclusive looks at what came of a commit that was sent, for a bounded time,
// and ends the attempt where nothing did. What changed meanwhile by itself, as
// a clock does, can't be told from an effect.
func (a *attempt) conclusive(ctx context.Context, d decision) *end {
	for look := 1; ; look++ {
		if err := a.observe(ctx); err != nil {
			return a.conclude(ctx, d, Unclear, unclear(ctx, err))
		}
		if d.came(&a.met, &a.scene) {
			break
		}
		if look >= looksFor(&a.scene, effectLooks, loadingLooks) {
			return a.conclude(ctx, d, Unclear, unseen())
		}
		if sleep.For(ctx, effectPause) != nil {
			return a.conclude(ctx, d, Unclear, unclear(ctx, device.ErrFailed))
		}
	}
	a.commits[len(a.commits)-1].Seen = true
	return nil
}

// came reports whether anything came of op, before which the screen was as was.
// That what is touched gets the focus shows that it was touched and nothing
// more; a key may well do nothing else than move it.
func (op *operation) came(was, now *device.Scene) bool {
	if was.Shows(now) {
		return false
	}
	return op.point == nil || !sameBut(device.Focused, *was, *now)
}

// sameBut reports whether two scenes differ in those flags of their elements
// alone.
func sameBut(flags device.Flags, a, b device.Scene) bool {
	for _, s := range []*device.Scene{&a, &b} {
		s.Elements = slices.Clone(s.Elements)
		for i := range s.Elements {
			s.Elements[i].Flags &^= flags
		}
		*s = device.Seal(*s)
	}
	return a.Shows(&b)
}

// looksFor is how often to look: longer while s says that more is to come.
func looksFor(s *device.Scene, usual, loading int) int {
	if s.Loading() {
		return loading
	}
	return usual
}

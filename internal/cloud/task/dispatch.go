package task

import (
	"context"
	"slices"
	"time"

	"interlock/internal/tenant"
)

// storeTimeout bounds a store call that no caller waits for.
const storeTimeout = 10 * time.Second

// scanned bounds how many queued tasks one sweep looks at.
const scanned = 10_000

// offer lets waiting hosts have t, now or when it is ready.
func (s *Service) offer(t Task) {
	switch now := s.now(); {
	case t.State != Queued:
	case t.NextRun.After(now):
		s.polls.wake(t.NextRun)
	default:
		s.polls.offer(offered{task: t})
	}
}

// freed follows the end of an attempt: its device can serve again, and the
// task itself may want another try.
func (s *Service) freed(t Task, f Fence) {
	s.polls.ask(f.Host)
	s.offer(t)
}

// dispatch claims work for held polls until ctx ends, then stops them. Rounds
// follow one another; whatever came up during one goes into the next.
func (s *Service) dispatch(ctx context.Context) error {
	defer s.polls.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.polls.kick:
		}
		s.claim(ctx)
	}
}

// sweepAll sweeps at its period and when a task becomes ready, until ctx ends.
// It is a loop of its own because a sweep reads the whole queue: a task that is
// submitted meanwhile doesn't wait for it.
func (s *Service) sweepAll(ctx context.Context) error {
	period := time.NewTicker(s.cfg.Sweep)
	defer period.Stop()
	ready := time.NewTimer(s.untilReady())
	defer ready.Stop()
	for {
		due := true
		select {
		case <-ctx.Done():
			return nil
		case <-period.C:
		case <-ready.C:
			at, ok := s.polls.nextWake()
			due = ok && !at.After(s.now())
		case <-s.polls.sooner:
			due = false
		}
		if due {
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "queued tasks not offered; trying again with the next sweep", "error", err)
			}
			s.polls.wakeRound() // also for a round that failed
		}
		ready.Reset(s.untilReady())
	}
}

// untilReady is how long nothing becomes ready that we know of; the sweep's
// own ticker bounds it. What is due and still not ready by the store's clock
// is not asked for in a tight loop.
func (s *Service) untilReady() time.Duration {
	at, ok := s.polls.nextWake()
	if !ok {
		return time.Hour
	}
	return max(at.Sub(s.now()), 20*time.Millisecond)
}

// claim is one round: one store transaction for every poll in it.
func (s *Service) claim(ctx context.Context) {
	rd := s.polls.next()
	if len(rd.waiters) == 0 {
		return
	}
	// What a cancelled claim took would be lost to its host until the lease
	// ran out, so a round that began is finished.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	requests := make([]ClaimRequest, len(rd.waiters))
	for i, w := range rd.waiters {
		requests[i] = w.request
	}
	s.counts.claims.Add(1)
	given, err := s.store.Claim(ctx, s.timing, requests)
	if err != nil {
		s.polls.again(rd)
		s.cfg.Logger.WarnContext(ctx, "no work claimed for waiting hosts; trying again with the next sweep", "hosts", len(requests), "error", err)
		return
	}
	taken := map[ID]bool{}
	for i, tasks := range given {
		for _, t := range tasks {
			taken[t.ID] = true
		}
		s.hand(ctx, rd.waiters[i], tasks)
	}
	for _, o := range rd.offers {
		if !taken[o.task.ID] && !o.tried {
			s.polls.offer(offered{task: o.task, tried: true})
		}
	}
}

// hand gives claimed tasks to the poll that they were claimed for.
func (s *Service) hand(ctx context.Context, w *waiter, claimed []Task) {
	if len(claimed) == 0 {
		return
	}
	s.counts.claimed.Add(int64(len(claimed)))
	for _, t := range claimed {
		s.cfg.Logger.InfoContext(ctx, "task claimed", "task", t.ID, "attempt", t.Attempt, "host", t.Host)
		s.changed(changeOf(t))
	}
	if !s.polls.deliver(w, claimed) {
		s.giveBack(ctx, claimed)
	}
}

// sweep offers queued tasks to waiting hosts whatever was said before, so that
// a wake-up that was never given, by a crash or by another replica, costs
// moments. With no host waiting it reads only when the next task is ready.
func (s *Service) sweep(ctx context.Context) error {
	s.polls.woken(s.now())
	for _, t := range s.polls.wanting() {
		if err := s.offerQueued(ctx, t); err != nil {
			return err
		}
	}
	next, err := s.store.NextRun(ctx)
	if err == nil && !next.IsZero() {
		s.polls.wake(next)
	}
	return err
}

func (s *Service) offerQueued(ctx context.Context, t tenant.ID) error {
	f := Filter{Tenant: t, States: []State{Queued}, Limit: MaxPage}
	for seen := 0; seen < scanned; seen += MaxPage {
		tasks, err := s.store.Tasks(ctx, f)
		if err != nil {
			return err
		}
		slices.SortFunc(tasks, func(a, b Task) int { return a.CreatedAt.Compare(b.CreatedAt) })
		for _, q := range tasks {
			if !q.NextRun.After(s.now()) {
				s.offer(q)
			}
		}
		if len(tasks) < MaxPage {
			return nil
		}
		f.Before = tasks[0].ID
	}
	return nil
}

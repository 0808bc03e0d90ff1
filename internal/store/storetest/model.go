package storetest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// model is the plainest reading of the contracts: lists that are searched, and
// no transaction because nothing runs at the same time.
type model struct {
	now     time.Time
	tasks   []*modelTask // in the order of submission
	devices map[modelDevice]modelHold
	usage   map[task.ID]usage.Rollup
}

type modelTask struct {
	task.Task
	cancelBy time.Time // of a cancelling task
	attempts []*modelAttempt
}

type modelAttempt struct {
	host     fleet.HostID
	device   string
	acked    bool
	ended    string // "": not yet
	hash     []byte // of its result
	keys     []string
	events   int
	released bool
}

type modelDevice struct {
	host fleet.HostID
	id   string
}

// modelHold is a device's lease. A zero free means that the attempt is held.
type modelHold struct {
	task    task.ID
	attempt int
	free    time.Time
}

func newModel(now time.Time) *model {
	return &model{now: now, devices: map[modelDevice]modelHold{}, usage: map[task.ID]usage.Rollup{}}
}

func (m *model) find(id task.ID) *modelTask {
	i := slices.IndexFunc(m.tasks, func(k *modelTask) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return m.tasks[i]
}

// current is the attempt that a fence names, nil if there is none.
func (k *modelTask) attempt(n int) *modelAttempt {
	if n < 1 || n > len(k.attempts) {
		return nil
	}
	return k.attempts[n-1]
}

// fenced is the task of f, or why f does not hold it.
func (m *model) fenced(f task.Fence) (*modelTask, error) {
	k := m.find(f.Task)
	switch {
	case k == nil:
		return nil, task.ErrNotFound
	case f.Attempt < k.Attempt || k.State.Terminal():
		return k, task.ErrStaleAttempt
	case f.Attempt > k.Attempt || !k.State.Held() || f.Host != k.Host:
		return k, task.ErrLeaseLost
	}
	return k, nil
}

func (m *model) submit(k task.Task) {
	k.NextRun = later(k.Spec.NotBefore, m.now)
	k.CreatedAt, k.UpdatedAt = m.now, m.now
	m.tasks = append(m.tasks, &modelTask{Task: k})
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// claim serves one host, whose devices are tried in the order that it names.
func (m *model) claim(r task.ClaimRequest) []task.Task {
	var out []task.Task
	for _, k := range m.claimable() {
		for _, d := range r.Devices {
			place := modelDevice{r.Host, d.ID}
			hold, taken := m.devices[place]
			if len(out) < r.Max && k.Spec.Selector.Matches(r.Host, r.Labels, d) && (!taken || !hold.free.IsZero() && !hold.free.After(m.now)) {
				m.give(k, place)
				out = append(out, k.Task)
				break
			}
		}
	}
	return out
}

// claimable are the ready tasks in the order of claims.
func (m *model) claimable() []*modelTask {
	var out []*modelTask
	for _, k := range m.tasks {
		if k.State == task.Queued && !k.NextRun.After(m.now) && (k.Spec.ExpiresAt.IsZero() || k.Spec.ExpiresAt.After(m.now)) {
			out = append(out, k)
		}
	}
	rank := func(k *modelTask) int64 {
		return k.NextRun.Add(-time.Duration(k.Spec.Priority) * 5 * time.Minute).UnixMicro()
	}
	slices.SortStableFunc(out, func(a, b *modelTask) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

func (m *model) give(k *modelTask, d modelDevice) {
	k.State, k.Host, k.Device, k.Acted = task.Leased, d.host, d.id, false
	k.Attempt++
	k.LeaseExpires, k.UpdatedAt = m.now.Add(timing.AckWithin), m.now
	k.attempts = append(k.attempts, &modelAttempt{host: d.host, device: d.id})
	m.devices[d] = modelHold{task: k.ID, attempt: k.Attempt}
}

func (m *model) ack(f task.Fence) (bool, error) {
	k, err := m.fenced(f)
	if err == nil && k.overdue(m.now) {
		err = task.ErrLeaseLost
	}
	if err != nil {
		return false, err
	}
	a := k.attempt(f.Attempt)
	if !a.acked {
		a.acked = true
		k.Tries++
	}
	if k.State == task.Leased {
		k.State = task.Running
	}
	k.LeaseExpires, k.UpdatedAt = m.now.Add(timing.Lease), m.now
	return k.State == task.Cancelling, nil
}

// overdue: its host had its time to stop.
func (k *modelTask) overdue(now time.Time) bool {
	return k.State == task.Cancelling && k.cancelBy.Before(now)
}

func (m *model) renew(f task.Fence) task.Renewal {
	k, err := m.fenced(f)
	if err != nil || k.overdue(m.now) {
		return task.Renewal{Fence: f, Lost: true}
	}
	if k.State != task.Leased {
		k.LeaseExpires = m.now.Add(timing.Lease)
	}
	return task.Renewal{Fence: f, Cancel: k.State == task.Cancelling}
}

// act appends the event that says that the attempt acts.
func (m *model) act(f task.Fence, seq int) (int, error) {
	k, err := m.fenced(f)
	if err != nil {
		return 0, err
	}
	a := k.attempt(f.Attempt)
	if seq == a.events {
		a.events++
		k.Acted = true
	}
	return a.events, nil
}

func (m *model) record(r decision.Row) (int, error) {
	k := m.find(r.Task)
	if k != nil {
		if a := k.attempt(r.Attempt); a != nil {
			if step := slices.Index(a.keys, r.Key); step >= 0 {
				return step, nil
			}
		}
	}
	m.meter(r)
	k, err := m.fenced(task.Fence{Tenant: r.Tenant, Host: r.Host, Task: r.Task, Attempt: r.Attempt})
	if err == nil && k.State == task.Cancelling {
		err = task.ErrCancelled
	}
	if err != nil {
		return 0, err
	}
	a := k.attempt(r.Attempt)
	a.keys = append(a.keys, r.Key)
	return len(a.keys) - 1, nil
}

func (m *model) meter(r decision.Row) {
	u := m.usage[r.Task]
	u.Calls++
	in, _ := r.Usage.Input.Get()
	u.Input.Total += in
	if !r.Usage.Input.IsKnown() {
		u.Input.Unknown++
	}
	m.usage[r.Task] = u
}

// end makes a task terminal.
func (m *model) end(k *modelTask, s task.State, reason string) {
	k.State, k.Reason, k.LeaseExpires, k.UpdatedAt, k.TerminalAt = s, reason, time.Time{}, m.now, m.now
}

// queue makes it wait again.
func (m *model) queue(k *modelTask, next time.Time) {
	k.State, k.Host, k.Device, k.Acted = task.Queued, "", "", false
	k.LeaseExpires, k.UpdatedAt, k.NextRun = time.Time{}, m.now, next
}

// leave ends the attempt's hold on its device.
func (m *model) leave(id task.ID, a *modelAttempt, n int, free time.Time) {
	d := modelDevice{a.host, a.device}
	if h := m.devices[d]; h.task != id || h.attempt != n {
		return
	}
	if free.IsZero() {
		delete(m.devices, d)
	} else {
		m.devices[d] = modelHold{task: id, attempt: n, free: free}
	}
}

func (m *model) finish(f task.Finish) (replayed bool, err error) {
	k := m.find(f.Task)
	if k == nil {
		return false, task.ErrNotFound
	}
	a := k.attempt(f.Attempt)
	switch {
	case a == nil || a.host != f.Host:
		return false, task.ErrLeaseLost
	case a.hash != nil && bytes.Equal(a.hash, f.Hash[:]):
		return true, nil
	case a.hash != nil:
		return false, task.ErrTerminalDifferent
	case f.Attempt < k.Attempt || k.State.Terminal() || k.State == task.Queued && a.released:
		return false, task.ErrStaleAttempt
	}
	a.hash, a.ended = f.Hash[:], "result"
	if !a.acked {
		a.acked = true
		k.Tries++
	}
	m.leave(k.ID, a, f.Attempt, time.Time{})
	state, reason := f.State, f.Reason
	if state == task.Queued {
		switch {
		case k.State == task.Cancelling:
			state, reason = task.Cancelled, k.Reason
		case k.Tries >= k.Spec.MaxAttempts:
			state = task.Dead
		default:
			m.queue(k, m.now.Add(f.NextRun))
			return false, nil
		}
	}
	m.end(k, state, reason)
	k.Host, k.Device = a.host, a.device
	r := f.Result
	k.Result = &r
	return false, nil
}

func (m *model) release(f task.Fence, acted bool) error {
	k := m.find(f.Task)
	if k != nil {
		if a := k.attempt(f.Attempt); a != nil && a.host == f.Host && a.released {
			return nil
		}
	}
	k, err := m.fenced(f)
	if err != nil {
		return err
	}
	a := k.attempt(f.Attempt)
	a.ended, a.released = "released", true
	m.leave(k.ID, a, f.Attempt, time.Time{})
	k.Acted = k.Acted || acted
	m.lose(k, m.now, false)
	return nil
}

func (m *model) takeBack(f task.Fence) task.Task {
	k, err := m.fenced(f)
	if err == nil && !k.attempt(f.Attempt).acked && !k.Acted {
		a := k.attempt(f.Attempt)
		a.ended, a.released = "released", true
		m.leave(k.ID, a, f.Attempt, time.Time{})
		next := m.now
		if k.LeaseMisses > 0 {
			next = next.Add(backoff(k.LeaseMisses))
		}
		m.lose(k, next, true)
	}
	return k.Task
}

// lose is the rule for an attempt that ended without a result.
func (m *model) lose(k *modelTask, next time.Time, missed bool) {
	acked := k.attempt(k.Attempt).acked || k.Acted
	if missed {
		k.LeaseMisses++
	}
	switch {
	case k.State == task.Cancelling:
		m.end(k, task.Cancelled, k.Reason)
	case k.Acted && !k.Spec.Repeatable:
		m.end(k, task.Failed, "indeterminate")
	case acked && k.Tries >= k.Spec.MaxAttempts:
		m.end(k, task.Dead, "attempts_used_up")
	case missed && k.LeaseMisses >= timing.MaxMisses:
		m.end(k, task.Dead, "never_acknowledged")
	default:
		m.queue(k, next)
	}
}

// reapable are the tasks that the reaper must move now.
func (m *model) reapable() []*modelTask {
	var out []*modelTask
	for _, k := range m.tasks {
		if k.State.Held() && k.LeaseExpires.Before(m.now) || k.overdue(m.now) ||
			k.State == task.Queued && !k.Spec.ExpiresAt.IsZero() && !k.Spec.ExpiresAt.After(m.now) {
			out = append(out, k)
		}
	}
	return out
}

func (m *model) reap(k *modelTask, revoked bool) {
	if k.State == task.Queued {
		m.end(k, task.Dead, "expired")
		return
	}
	a := k.attempt(k.Attempt)
	acked := a.acked || k.Acted
	a.ended = "lost"
	m.leave(k.ID, a, k.Attempt, k.LeaseExpires.Add(timing.DeviceGrace))
	next := m.now
	if acked {
		next = next.Add(backoff(k.Tries))
	}
	m.lose(k, next, !acked && !revoked)
}

func (m *model) cancel(id task.ID, reason string) error {
	k := m.find(id)
	switch {
	case k == nil:
		return task.ErrNotFound
	case k.State.Terminal():
		return task.ErrTerminal
	case k.State == task.Queued:
		m.end(k, task.Cancelled, reason)
	case k.State != task.Cancelling:
		k.State, k.Reason, k.UpdatedAt = task.Cancelling, reason, m.now
		k.cancelBy = m.now.Add(timing.CancelWithin)
	}
	return nil
}

// prune removes what the store may remove, and returns how many decisions.
func (m *model) prune(before time.Time) (decisions int) {
	for _, k := range m.tasks {
		if k.State.Terminal() && k.PrunedAt.IsZero() && k.TerminalAt.Before(before) {
			k.PrunedAt = m.now
			decisions += k.forget()
		}
	}
	return decisions
}

func (k *modelTask) forget() (decisions int) {
	for _, a := range k.attempts {
		decisions += len(a.keys)
		a.keys = nil
	}
	return decisions
}

// stored is the decisions that the log holds, as (attempt, step, key).
func (k *modelTask) stored() []modelDecision {
	var out []modelDecision
	for n, a := range k.attempts {
		for step, key := range a.keys {
			out = append(out, modelDecision{n + 1, step, key})
		}
	}
	return out
}

type modelDecision struct {
	Attempt, Step int
	Key           string
}

// newestFirst is what a list of all tasks gives.
func (m *model) newestFirst() []task.Task {
	out := make([]task.Task, len(m.tasks))
	for i, k := range m.tasks {
		out[len(out)-1-i] = k.Task
	}
	return out
}

func (m *model) counts() map[task.State]int {
	out := map[task.State]int{}
	for _, k := range m.tasks {
		out[k.State]++
	}
	return out
}

// nextRun is when the earliest task that waits for its time is ready.
func (m *model) nextRun() (next time.Time) {
	for _, k := range m.tasks {
		if k.State == task.Queued && k.NextRun.After(m.now) && (next.IsZero() || k.NextRun.Before(next)) {
			next = k.NextRun
		}
	}
	return next
}

// fences are all attempts there ever were.
func (m *model) fences() []task.Fence {
	var out []task.Fence
	for _, k := range m.tasks {
		for n, a := range k.attempts {
			out = append(out, task.Fence{Tenant: tenant.Default, Host: a.host, Task: k.ID, Attempt: n + 1})
		}
	}
	return out
}

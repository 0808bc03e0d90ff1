package task

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"interlock/internal/cloud/fleet"
	"interlock/internal/tenant"
)

// waiter is one held poll.
type waiter struct {
	request ClaimRequest
	answer  chan Answer // holds one, so that whoever answers never blocks
}

func newWaiter(h fleet.Host, p Poll) *waiter {
	w := &waiter{answer: make(chan Answer, 1), request: ClaimRequest{Tenant: h.Tenant, Host: h.ID, Labels: h.Labels, Key: p.Key, Max: min(p.Max, maxAsk)}}
	for _, d := range h.Devices {
		if slices.Contains(p.Idle, d.ID) {
			w.request.Devices = append(w.request.Devices, d)
		}
	}
	if h.Drain || h.Draining || len(w.request.Devices) == 0 {
		w.request.Max = 0
	}
	return w
}

// serves reports whether one of the waiter's idle devices can serve t.
func (w *waiter) serves(t Task) bool {
	r := w.request
	return r.Max > 0 && r.Tenant == t.Tenant && slices.ContainsFunc(r.Devices, func(d fleet.Device) bool {
		return t.Spec.Selector.Matches(r.Host, r.Labels, d)
	})
}

// keptSignals bounds what is kept for a host that holds no poll, and for how
// long: heartbeats say the same.
const (
	keptSignals = 64
	keepSignals = time.Minute
)

// mail is the signals of a host without a held poll, and those of its last
// answer, which may have been lost.
type mail struct {
	signals []Signal
	sentKey string
	sent    []Signal
	at      time.Time // of the last change
}

// offered is a task that became ready; tried means that the first host which
// it was offered to did not get it.
type offered struct {
	task  Task
	tried bool
}

// pollRoom holds the polls and what they must be asked about in the next round
// of claiming. Nothing in it is authoritative: the store decides who gets what.
type pollRoom struct {
	mu      sync.Mutex
	waiters map[fleet.HostID]*waiter // guarded by mu
	mail    map[fleet.HostID]*mail   // guarded by mu
	asking  map[fleet.HostID]bool    // hosts to ask for in the next round; guarded by mu
	offers  []offered                // guarded by mu
	wakeAt  time.Time                // when a task becomes ready, zero: none known; guarded by mu
	closed  bool                     // guarded by mu
	kick    chan struct{}            // holds one: there is something for a round
	sooner  chan struct{}            // holds one: wakeAt was set
}

func newPollRoom() *pollRoom {
	return &pollRoom{waiters: map[fleet.HostID]*waiter{}, mail: map[fleet.HostID]*mail{}, asking: map[fleet.HostID]bool{}, kick: make(chan struct{}, 1), sooner: make(chan struct{}, 1)}
}

func (r *pollRoom) wakeRound() {
	select {
	case r.kick <- struct{}{}:
	default: // a round is due already
	}
}

func (r *pollRoom) held() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiters)
}

// enter holds w. It takes over an earlier poll of the host, answers at once
// where signals wait, and else asks for work in the next round.
func (r *pollRoom) enter(w *waiter, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	host := w.request.Host
	if r.closed {
		return errDraining.Retry(time.Second)
	}
	if old := r.waiters[host]; old != nil {
		delete(r.waiters, host)
		old.answer <- Answer{}
	}
	if m := r.mail[host]; m != nil && now.Sub(m.at) < keepSignals {
		if m.sentKey == w.request.Key {
			m.signals = merge(m.sent, m.signals)
		}
		if len(m.signals) > 0 {
			m.send(w, now)
			return nil
		}
	}
	r.waiters[host] = w
	if w.request.Max > 0 {
		r.asking[host] = true
		r.wakeRound()
	}
	return nil
}

// send answers w with everything that waits. That the host is revoked is said
// again to a poll that was let in just before.
func (m *mail) send(w *waiter, now time.Time) {
	m.sentKey, m.sent, m.signals, m.at = w.request.Key, m.signals, nil, now
	if revoked := (Signal{Kind: SignalRevoked}); slices.Contains(m.sent, revoked) {
		m.signals = []Signal{revoked}
	}
	w.answer <- Answer{Signals: slices.Clone(m.sent)}
}

// leave takes w out and returns what it was answered meanwhile.
func (r *pollRoom) leave(w *waiter) (Answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiters[w.request.Host] == w {
		delete(r.waiters, w.request.Host)
	}
	select {
	case a := <-w.answer:
		return a, true
	default:
		return Answer{}, false
	}
}

// signal tells the host's held poll at once, or its next one.
func (r *pollRoom) signal(host fleet.HostID, sig Signal, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.mail[host]
	if m == nil || now.Sub(m.at) >= keepSignals {
		m = &mail{}
		r.mail[host] = m
	}
	m.at = now
	m.signals = merge(m.signals, []Signal{sig})
	if w := r.waiters[host]; w != nil {
		delete(r.waiters, host)
		m.send(w, now)
	}
}

// merge returns a, then what of b is not in it; the oldest go beyond the bound.
func merge(a, b []Signal) []Signal {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out[max(0, len(out)-keptSignals):]
}

// nudge answers the host's held poll empty, so that it asks again.
func (r *pollRoom) nudge(host fleet.HostID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiters[host]; w != nil {
		delete(r.waiters, host)
		w.answer <- Answer{}
	}
}

func (r *pollRoom) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for host, w := range r.waiters {
		delete(r.waiters, host)
		w.answer <- Answer{}
	}
}

// ask puts a host's held poll into the next round.
func (r *pollRoom) ask(host fleet.HostID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiters[host] != nil {
		r.asking[host] = true
		r.wakeRound()
	}
}

// offer puts a task that is ready into the next round, if anybody waits.
func (r *pollRoom) offer(o offered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiters) > 0 {
		r.offers = append(r.offers, o)
		r.wakeRound()
	}
}

// wake notes that something becomes ready at t.
func (r *pollRoom) wake(t time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wakeAt.IsZero() || t.Before(r.wakeAt) {
		r.wakeAt = t
		select {
		case r.sooner <- struct{}{}:
		default: // it is looked at already
		}
	}
}

// nextWake returns when something becomes ready.
func (r *pollRoom) nextWake() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wakeAt, !r.wakeAt.IsZero()
}

// woken forgets a wake that is due, and mail that nobody will fetch.
func (r *pollRoom) woken(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wakeAt.After(now) {
		r.wakeAt = time.Time{}
	}
	for host, m := range r.mail {
		if now.Sub(m.at) >= keepSignals {
			delete(r.mail, host)
		}
	}
}

// wanting returns the tenants of the polls that can take a task.
func (r *pollRoom) wanting() []tenant.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []tenant.ID
	for _, w := range r.waiters {
		if w.request.Max > 0 && !slices.Contains(out, w.request.Tenant) {
			out = append(out, w.request.Tenant)
		}
	}
	return out
}

// round is the polls to claim for, and the tasks that were offered to them.
type round struct {
	waiters []*waiter
	offers  []offered
}

// audience is who may serve a task: the tenant, and the selector in a form that
// can be compared. A backlog has few of them, so a round that looks once at all
// polls for each stays short.
type audience struct {
	tenant       tenant.ID
	host         fleet.HostID
	device, kind string
	labels       string
}

func audienceOf(t Task) audience {
	s := t.Spec.Selector
	a := audience{tenant: t.Tenant, host: s.Host, device: s.Device, kind: s.Kind}
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		a.labels += strconv.Quote(name) + "=" + strconv.Quote(s.Labels[name]) + ","
	}
	return a
}

// breadth is how many hosts a task is offered to after the first did not get it.
const breadth = 64

// next takes the polls that asked, and for each offered task one that can
// serve it: k tasks wake k hosts, not all.
func (r *pollRoom) next() round {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out round
	room := map[*waiter]int{} // tasks that each can still be offered
	take := func(w *waiter) {
		if _, in := room[w]; !in {
			out.waiters = append(out.waiters, w)
			room[w] = w.request.Max
		}
	}
	for host := range r.asking {
		if w := r.waiters[host]; w != nil && w.request.Max > 0 {
			take(w)
		}
	}
	covered := map[audience]bool{} // every poll that serves them is in the round
	for _, o := range r.offers {
		out.offers = append(out.offers, o)
		who := audienceOf(o.task)
		if covered[who] {
			continue
		}
		want := 1
		if o.tried {
			want = breadth
		}
		for _, w := range r.waiters {
			if left, in := room[w]; (in && left == 0) || !w.serves(o.task) {
				continue
			}
			take(w)
			room[w]--
			if want--; want == 0 {
				break
			}
		}
		covered[who] = want > 0
	}
	clear(r.asking)
	r.offers = nil
	return out
}

// again puts a round back that could not be claimed.
func (r *pollRoom) again(rd round) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range rd.waiters {
		r.asking[w.request.Host] = true
	}
}

// deliver answers w with what was claimed for it, or the host's newer poll
// with the same key. It reports false if the host has gone.
func (r *pollRoom) deliver(w *waiter, claimed []Task) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.waiters[w.request.Host]
	if now == nil || now.request.Key != w.request.Key {
		return false
	}
	delete(r.waiters, w.request.Host)
	now.answer <- Answer{Assignments: claimed}
	return true
}

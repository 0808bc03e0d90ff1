package providertest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/secret"
)

// decideTimeout is the caller's timeout on the fake clock.
const decideTimeout = 60 * time.Second

// bubble is one fake vendor on a network in memory, and the caller under test.
type bubble struct {
	world
	start time.Time
}

// RunOnFakeClock runs the cases that take time: retries, deadlines, hangs.
// Each runs in a bubble of its own. R-PLAN-2, R-PLAN-5, R-PLAN-11
func RunOnFakeClock(t *testing.T, s Subject) {
	for _, f := range failures {
		s.inBubble(t, f.name+", again and again", func(t *testing.T) { s.keepsFailing(t, f) })
		if f.again {
			s.inBubble(t, f.name+", once", func(t *testing.T) { s.failsOnce(t, f) })
		}
	}
	for name, f := range map[string]func(*testing.T){
		"a Retry-After within the deadline is kept":                       s.keepsRetryAfter,
		"a deadline before the next try fails at once with what is known": s.noTimeForAnother,
		"a hang ends at the deadline":                                     s.hangs,
		"a hang after a failure ends at the same deadline":                s.hangsAfterFailure,
		"the request's own timeout counts where it is shorter":            s.shorterTimeout,
		"a caller that gives up during a pause":                           s.givesUpDuringPause,
		"a lost lease keeps its reason":                                   s.leaseLost,
	} {
		s.inBubble(t, name, f)
	}
}

func (s Subject) inBubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

func (s Subject) bubble(t *testing.T, replies ...Reply) bubble {
	t.Helper()
	const address = "vendor.test:80"
	v := NewVendor(s.Shape, secret.New(keyCanary), replies...)
	network := NewNetwork()
	listener := network.Listen(address)
	server := &http.Server{Handler: v}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	transport := network.Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the fake vendor ended with %v", err)
		}
	})
	c := provider.Config{BaseURL: "http://" + address, Key: secret.New(keyCanary), Model: askedModel, Timeout: decideTimeout, Transport: transport, Dialect: s.dialect()}
	caller := s.New(t, Endpoint{Config: c, Network: network})
	return bubble{world{v, c.BaseURL, caller}, time.Now()}
}

// decide makes one decision and checks how long it took and how often the
// vendor was asked.
func (b bubble) decide(t *testing.T, ctx context.Context, timeout, least, most time.Duration, requests int) (llm.Decision, error) {
	t.Helper()
	r := Request()
	r.Timeout = timeout
	d, err := b.caller.Decide(ctx, r)
	if took := time.Since(b.start); took < least || took > most {
		t.Errorf("the decision took %s, want %s to %s", took, least, most)
	}
	if n := len(b.vendor.Requests()); n != requests {
		t.Errorf("the vendor was asked %d times, want %d", n, requests)
	}
	return d, err
}

// Three pauses, each up to a quarter shorter than 0.5, 1 and 2 seconds.
const (
	leastPauses = 2625 * time.Millisecond
	mostPauses  = 3500 * time.Millisecond
)

func (s Subject) keepsFailing(t *testing.T, f failing) {
	b := s.bubble(t, f.reply(s.Shape))
	least, most, requests := time.Duration(0), time.Duration(0), 1
	if f.again {
		least, most, requests = leastPauses, mostPauses, 4
	}
	_, err := b.decide(t, t.Context(), 0, least, most, requests)
	s.checkFailing(t, err, f)
}

func (s Subject) failsOnce(t *testing.T, f failing) {
	good := s.goodRecording()
	b := s.bubble(t, f.reply(s.Shape), Reply{Body: good.Body})
	d, err := b.decide(t, t.Context(), 0, 375*time.Millisecond, 500*time.Millisecond, 2)
	s.check(t, d, err, good.Want)
}

func (s Subject) keepsRetryAfter(t *testing.T) {
	good := s.goodRecording()
	for name, c := range map[string]struct {
		header func(now time.Time) map[string]string
		want   time.Duration
	}{
		"in seconds": {func(time.Time) map[string]string { return map[string]string{"Retry-After": "7"} }, 7 * time.Second},
		"in milliseconds": {func(time.Time) map[string]string {
			return map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}
		}, 1500 * time.Millisecond},
		"as a date": {func(now time.Time) map[string]string {
			return map[string]string{"Retry-After": now.Add(7 * time.Second).UTC().Format(http.TimeFormat)}
		}, 7 * time.Second},
		"as a date of a clock that is years ahead": {func(now time.Time) map[string]string {
			theirs := now.AddDate(5, 0, 0).UTC()
			return map[string]string{"Date": theirs.Format(http.TimeFormat), "Retry-After": theirs.Add(9 * time.Second).Format(http.TimeFormat)}
		}, 9 * time.Second},
	} {
		b := s.bubble(t)
		b.vendor.Answer(func(Seen) Reply {
			if len(b.vendor.seen) > 1 {
				return Reply{Body: good.Body}
			}
			return Reply{Status: 429, Header: c.header(time.Now())}
		})
		t.Log(name)
		d, err := b.decide(t, t.Context(), 0, c.want, c.want, 2)
		s.check(t, d, err, good.Want)
	}
}

func (s Subject) noTimeForAnother(t *testing.T) {
	busy := complaint(529, "overloaded_error", "", "busy", nil)(s.Shape)
	_, err := s.bubble(t, busy).decide(t, t.Context(), 300*time.Millisecond, 0, 0, 1)
	s.checkFailing(t, err, failing{want: llm.Overloaded})
	_, err = s.bubble(t, Reply{Status: 429, Header: map[string]string{"Retry-After": "60"}}).decide(t, t.Context(), 0, 0, 0, 1)
	s.checkFailing(t, err, failing{want: llm.RateLimited, retryAfter: time.Minute})
}

func (s Subject) hangs(t *testing.T) {
	_, err := s.bubble(t, Reply{Hang: true}).decide(t, t.Context(), 0, decideTimeout, decideTimeout, 1)
	s.checkFailure(t, err, Want{Reason: llm.Timeout, Model: askedModel})
}

func (s Subject) hangsAfterFailure(t *testing.T) {
	_, err := s.bubble(t, Reply{Status: 500}, Reply{Hang: true}).decide(t, t.Context(), 0, decideTimeout, decideTimeout, 2)
	s.checkFailure(t, err, Want{Reason: llm.Timeout, Model: askedModel})
}

func (s Subject) shorterTimeout(t *testing.T) {
	for _, asked := range []time.Duration{5 * time.Second, 5 * time.Minute} {
		want := min(asked, decideTimeout)
		_, err := s.bubble(t, Reply{Hang: true}).decide(t, t.Context(), asked, want, want, 1)
		s.checkFailure(t, err, Want{Reason: llm.Timeout, Model: askedModel})
	}
}

func (s Subject) givesUpDuringPause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := s.bubble(t, Reply{Status: 429, Header: map[string]string{"Retry-After": "30"}})
	time.AfterFunc(3*time.Second, cancel)
	_, err := b.decide(t, ctx, 0, 3*time.Second, 3*time.Second, 1)
	if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
}

func (s Subject) leaseLost(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	b := s.bubble(t, Reply{Hang: true})
	time.AfterFunc(3*time.Second, func() { cancel(&llm.Unavailable{Reason: llm.LeaseLost, Detail: "the lease is lost"}) })
	_, err := b.decide(t, ctx, 0, 3*time.Second, 3*time.Second, 1)
	if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.LeaseLost {
		t.Errorf("got %v, want lease_lost", err)
	}
}

package gateway_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
)

// held is trouble that lasts until it is let go.
type held chan struct{}

func (h held) trouble(ctx context.Context) error {
	select {
	case <-h:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin calls on a goroutine of its own, and waits in the bubble until that
// can't go on.
func (w *world) begin(ctx context.Context, s *gateway.Service, r gateway.Request) <-chan made {
	out := make(chan made, 1)
	go func() { out <- on(ctx, s, r) }()
	synctest.Wait()
	return out
}

// bubble runs a test with a world whose goroutines can be waited for.
func bubble(t *testing.T, test func(*testing.T, *world)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
}

// R-BRIDGE-5: a double click is one call and one unit.
func TestADoubleClickIsOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		hold := make(held)
		w.shelf.meet(hold.trouble)
		first := w.begin(t.Context(), w.Service, take("k"))
		second := w.begin(t.Context(), w.Service, take("k"))
		require(t, "calls that reached the app", w.shelf.times(), 1)
		other := take("k")
		other.Arguments = []byte(`{"item": "rice"}`)
		w.expect(other, "idempotency_conflict")
		close(hold)
		a, b := <-first, <-second
		if a.err != nil || b.err != nil || string(a.Result) != `{"item":"tea","left":99999}` || string(a.Result) != string(b.Result) {
			t.Errorf("got %+v and %+v", a, b)
		}
		require(t, "the first is replayed", a.Meta.Replayed, false)
		require(t, "the second is replayed", b.Meta.Replayed, true)
		require(t, "the second's meter", *b.Meta.Meter, *a.Meta.Meter)
		require(t, "used", w.used(), 1)
		require(t, "records of calls made", len(w.records(gateway.OK)), 1)
	})
}

func TestWhoSharesACallSharesItsFailure(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		hold := make(held)
		w.shelf.meet(func(ctx context.Context) error {
			_ = hold.trouble(ctx)
			return fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed")
		})
		first := w.begin(t.Context(), w.Service, take("k"))
		second := w.begin(t.Context(), w.Service, take("k"))
		close(hold)
		a, b := <-first, <-second
		require(t, "the first", a.code(), "upstream_unavailable")
		require(t, "the second", b.code(), "upstream_unavailable")
		require(t, "replayed", b.Meta.Replayed, false)
		require(t, "used", w.used(), 0)
		require(t, "calls that reached the app", w.shelf.times(), 1)
	})
}

// R-BRIDGE-5: a key is one of a site; its repeat gets the first answer.
func TestARepeatOfAKeyGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.expect(take("k"), gateway.OK)
	w.clock.Advance(23 * time.Hour)
	again := w.expect(take("k"), gateway.OK)
	require(t, "the answer", string(again.Result), string(first.Result))
	require(t, "replayed", again.Meta.Replayed, true)
	require(t, "calls that reached the app", w.shelf.times(), 1)
	require(t, "used today", w.used(), 0)

	elsewhere := caller
	elsewhere.Site = "site_ffffffffffffffff"
	if reply, err := w.Call(t.Context(), elsewhere, take("k")); err != nil || reply.Meta.Replayed {
		t.Errorf("another site's key: %+v, %v", reply, err)
	}
	if m := w.expect(take(""), gateway.OK); m.Meta.Replayed {
		t.Error("a call without key is replayed")
	}
}

// R-BRIDGE-5: what was withdrawn since is not given by a repeat either.
func TestARepeatPassesTheChecksOfWhoMayCall(t *testing.T) {
	t.Parallel()
	for code, withdraw := range map[string]func(*world) error{
		"tenant_suspended":      func(w *world) error { _, err := w.catalog.Suspend(t.Context(), acme, operator); return err },
		"subscription_inactive": func(w *world) error { return w.catalog.EndSubscription(t.Context(), acme, operator) },
		"app_not_enabled":       func(w *world) error { return w.catalog.Disable(t.Context(), acme, operator, "shelf") },
	} {
		w := newWorld(t)
		w.expect(take("k"), gateway.OK)
		w.must(nil, withdraw(w))
		w.expect(take("k"), code)
	}
	w := newWorld(t)
	w.expect(take("k"), gateway.OK)
	_, err := w.Call(t.Context(), site.Caller{Tenant: acme, Site: caller.Site}, take("k"))
	require(t, "without the scope", made{err: err}.code(), "insufficient_scope")
}

// cellar is a second app whose operations are called as the shelf's are.
type cellar struct{ *shelf }

func (c cellar) Describe() catalog.App {
	a := c.shelf.Describe()
	a.ID = "cellar"
	return a
}

// R-BRIDGE-5: the answer of one app is never given for another's.
func TestAKeyOfOneAppIsNotAnothers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := cellar{newShelf()}
	both, err := catalog.New(w.db, []catalog.App{w.shelf.Describe(), second.Describe()}, catalog.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	w.must(both, err)
	w.must(nil, both.Enable(t.Context(), acme, operator, "cellar", catalog.Quota{Limit: 10, Window: catalog.Day}))
	s, err := gateway.New(w.db, both, w.creds, []gateway.App{w.shelf, second}, gateway.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	w.must(s, err)
	require(t, "at the shelf", on(t.Context(), s, count("k")).code(), gateway.OK)
	elsewhere := count("k")
	elsewhere.App = "cellar"
	_, err = s.Call(t.Context(), site.Caller{Tenant: acme, Site: caller.Site, Scopes: []string{"app:cellar:count_v1"}}, elsewhere)
	require(t, "at the cellar", made{err: err}.code(), "idempotency_conflict")
}

func TestACallThatAnotherProcessHasUnderWayIsToldFromOneThatEnded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		other := w.gateway(w.db)
		hold := make(held)
		w.shelf.meet(hold.trouble)
		first := w.begin(t.Context(), other, take("k"))
		inFlight := w.expect(take("k"), "call_in_flight")
		require(t, "retryable", fault.Of(inFlight.err).Retryable, true)
		require(t, "after", fault.Of(inFlight.err).RetryAfter, time.Second)
		different := take("k")
		different.Operation = "count_v1"
		w.expect(different, "idempotency_conflict")
		close(hold)
		a := <-first
		b := w.expect(take("k"), gateway.OK)
		require(t, "the answer", string(b.Result), string(a.Result))
		require(t, "replayed", b.Meta.Replayed, true)
		require(t, "used", w.used(), 1)
	})
}

// lastBefore is a store that sees the record of a key as it was, so that what
// another process did since shows only when the call is opened.
func (w *world) lastBefore(r gateway.Record, found bool) *gateway.Service {
	return w.gateway(&faulty{Store: w.db, keyed: func() (gateway.Record, bool, error) { return r, found, nil }})
}

func TestTwoProcessesThatOpenTheSameKeyMakeOneCall(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		blind := w.lastBefore(gateway.Record{}, false)
		hold := make(held)
		w.shelf.meet(hold.trouble)
		first := w.begin(t.Context(), w.Service, count("k"))
		require(t, "while the first is under way", on(t.Context(), blind, count("k")).code(), "call_in_flight")
		require(t, "with another body", on(t.Context(), blind, take("k")).code(), "idempotency_conflict")
		close(hold)
		<-first
		again := on(t.Context(), blind, count("k"))
		require(t, "once it has ended", again.code(), gateway.OK)
		require(t, "replayed", again.Meta.Replayed, true)
		require(t, "used", w.used(), 1)
		require(t, "calls that reached the app", w.shelf.times(), 1)
	})
}

// crash leaves a call open: its process is gone before the record is closed.
// The answer is given all the same, and the store is opened anew.
func (w *world) crash(r gateway.Request) {
	w.t.Helper()
	dying := w.gateway(&faulty{Store: w.db, close: errDisk})
	if m := on(w.t.Context(), dying, r); m.err != nil {
		w.t.Fatal(m.err)
	}
	if err := w.db.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
	w.Service = w.gateway(w.db)
}

// settle lets a new process close, forget and prune what has come to that.
func (w *world) settle() {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	w.must(nil, w.gateway(&once{w.db, stop}).Run(ctx))
}

// once is a store that ends Run behind the last step of its first look.
type once struct {
	gateway.Store
	stop func()
}

func (o *once) PruneCalls(ctx context.Context, at time.Time, limit int) (int, error) {
	n, err := o.Store.PruneCalls(ctx, at, limit)
	if n < limit {
		o.stop()
	}
	return n, err
}

// R-BRIDGE-5
func TestACallThatACrashCutIsMadeAgainOnlyIfItReads(t *testing.T) {
	for name, c := range map[string]struct {
		request  gateway.Request
		code     string
		reached  int
		verdict  string
		replayed bool // by the call after that
	}{
		"one that only reads":   {count("k"), gateway.OK, 2, gateway.OK, true},
		"one that takes things": {take("k"), "call_interrupted", 1, gateway.Interrupted, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.crash(c.request)
				w.clock.Advance(44 * time.Second) // a call that waits for everything may take nearly as long
				w.settle()
				w.expect(c.request, "call_in_flight") // for all that is known, it still is
				w.outlast()
				w.settle()
				if all := w.records(gateway.Interrupted); len(all) != 1 || !all[0].Charged || all[0].Key != "k" {
					t.Fatalf("interrupted: %+v", all)
				}
				other := c.request
				other.Arguments = []byte(`{"item": "rice"}`)
				w.expect(other, "idempotency_conflict")
				m := w.expect(c.request, c.code)
				if m.err != nil && fault.Of(m.err).Retryable {
					t.Errorf("what can't be made again is told as %v", m.err)
				}
				require(t, "used", w.used(), 1)
				require(t, "calls that reached the app", w.shelf.times(), c.reached)
				require(t, "records of the call", len(w.records(c.verdict)), 1)
				require(t, "replayed", w.call(c.request).Meta.Replayed, c.replayed)
			})
		})
	}
}

func TestAnInterruptedCallIsMadeAgainWithItsUnitAlsoBeyondTheQuota(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.quota(1)
		w.crash(count("k"))
		w.outlast()
		w.settle()
		w.expect(count(""), gateway.Exceeded)
		m := w.expect(count("k"), gateway.OK)
		if m.Meta.Meter == nil || m.Meta.Meter.Used != 1 {
			t.Errorf("the meter is %+v", m.Meta.Meter)
		}
	})
}

func TestAnInterruptedCallThatFailsAgainGivesItsUnitBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.crash(count("k"))
		w.outlast()
		w.settle()
		w.shelf.meet(func(context.Context) error {
			return fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed")
		})
		w.expect(count("k"), "upstream_unavailable")
		require(t, "used", w.used(), 0)
	})
}

func TestAnInterruptedCallIsRefusedByTodaysPolicyAndStaysAsItIs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.crash(count("k"))
		w.outlast()
		w.settle()
		b := &broken{world: w}
		b.forbid()
		w.expect(count("k"), "policy_denied")
		require(t, "refusals in the log", len(w.records("policy_denied")), 1)
		b.permit()
		w.expect(count("k"), gateway.OK)
	})
}

func TestTwoProcessesMakeAnInterruptedCallAgainOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.crash(count("k"))
		w.outlast()
		w.settle()
		late := w.lastBefore(w.records(gateway.Interrupted)[0], true)
		blind := w.lastBefore(gateway.Record{}, false)
		hold := make(held)
		w.shelf.meet(hold.trouble)
		first := w.begin(t.Context(), blind, count("k")) // it learns of the record as it opens its own
		require(t, "who comes second", on(t.Context(), late, count("k")).code(), "call_in_flight")
		close(hold)
		require(t, "who comes first", (<-first).code(), gateway.OK)
		require(t, "used", w.used(), 1)
		require(t, "calls that reached the app", w.shelf.times(), 2)
	})
}

// R-BRIDGE-5: no record, no call.
func TestACallThatCanNotBeRecordedIsNotMade(t *testing.T) {
	for name, spoil := range map[string]func(*world, *faulty){
		"the key can't be looked for": func(_ *world, f *faulty) {
			f.keyed = func() (gateway.Record, bool, error) { return gateway.Record{}, false, errDisk }
		},
		"the record can't be committed": func(_ *world, f *faulty) {
			f.open = func(context.Context, gateway.Record, catalog.Quota) (gateway.Opened, error) {
				return gateway.Opened{}, errDisk
			}
		},
		"nobody knows whether it is committed": func(w *world, f *faulty) {
			f.open = func(ctx context.Context, r gateway.Record, q catalog.Quota) (gateway.Opened, error) {
				if _, err := w.db.OpenCall(ctx, r, q); err != nil {
					return gateway.Opened{}, err
				}
				return gateway.Opened{}, context.DeadlineExceeded
			}
		},
		"nobody knows, and the store stays away": func(_ *world, f *faulty) {
			f.open = func(ctx context.Context, _ gateway.Record, _ catalog.Quota) (gateway.Opened, error) {
				<-ctx.Done()
				return gateway.Opened{}, ctx.Err()
			}
			f.close = errDisk
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				store := &faulty{Store: w.db}
				spoil(w, store)
				m := on(t.Context(), w.gateway(store), take("k"))
				require(t, "the refusal", m.code(), "log_unavailable")
				if f := fault.Of(m.err); !f.Retryable || f.RetryAfter != time.Second {
					t.Errorf("told as %+v", f)
				}
				require(t, "calls that reached the app", w.shelf.times(), 0)
				require(t, "used", w.used(), 0)
				w.expect(take("k"), gateway.OK) // the key is free
				require(t, "used", w.used(), 1)
			})
		})
	}
}

func TestAReplyIsForgottenInItsTimeAndItsRecordLater(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.expect(take("k"), gateway.OK)
		w.clock.Advance(24*time.Hour + time.Minute)
		w.settle()
		if m := w.expect(take("k"), gateway.OK); m.Meta.Replayed {
			t.Error("a forgotten reply is replayed")
		}
		require(t, "calls that reached the app", w.shelf.times(), 2)
		require(t, "records", len(w.records("")), 2)
		w.clock.Advance(29*24*time.Hour + time.Hour)
		w.settle()
		require(t, "records after 30 days", len(w.records("")), 1)
		w.clock.Advance(24 * time.Hour)
		w.settle()
		require(t, "records after 31 days", len(w.records("")), 0)
	})
}

var errLeft = errors.New("the caller left")

func TestACallerThatLeavesEndsNothing(t *testing.T) {
	for name, key := range map[string]string{"with a key": "k", "without": ""} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				hold := make(held)
				w.shelf.meet(hold.trouble)
				ctx, leave := context.WithCancelCause(t.Context())
				call := w.begin(ctx, w.Service, take(key))
				leave(errLeft)
				synctest.Wait()
				require(t, "records while it goes on", w.newest().Verdict, gateway.Open)
				close(hold)
				require(t, "what became of it", (<-call).code(), gateway.OK)
				require(t, "recorded as", w.newest().Verdict, gateway.OK)
				require(t, "used", w.used(), 1)
			})
		})
	}
}

func TestWhoSharesACallMayLeaveIt(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		hold := make(held)
		w.shelf.meet(hold.trouble)
		first := w.begin(t.Context(), w.Service, take("k"))
		ctx, leave := context.WithCancelCause(t.Context())
		second := w.begin(ctx, w.Service, take("k"))
		leave(errLeft)
		m := <-second
		require(t, "who left", m.code(), "call_in_flight")
		if !errors.Is(m.err, errLeft) {
			t.Errorf("the cause is lost: %v", m.err)
		}
		close(hold)
		require(t, "who stayed", (<-first).code(), gateway.OK)
	})
}

package gateway_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/fault"
)

func TestAnAppThatTakesTooLongIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.shelf.meet(make(held).trouble)
		began := time.Now()
		m := w.expect(take("k"), "upstream_unavailable")
		require(t, "it took", time.Since(began), 15*time.Second)
		require(t, "retryable", fault.Of(m.err).Retryable, true)
		require(t, "used", w.used(), 0)
		require(t, "recorded as", w.newest().Verdict, "upstream_unavailable")
	})
}

// R-BRIDGE-5
func TestAnAnswerIsGivenAlsoIfItsRecordCanNotBeClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		store := &faulty{Store: w.db, close: errDisk}
		w.Service = w.gateway(store)
		m := w.expect(count("k"), gateway.OK)
		require(t, "the answer", string(m.Result), `{"item":"tea","left":100000}`)
		require(t, "recorded as", w.newest().Verdict, gateway.Open)
		w.expect(count("k"), "call_in_flight") // its answer is not there to be repeated
		if !strings.Contains(w.log.String(), "call not closed") {
			t.Errorf("the operator is not told: %s", w.log.String())
		}
		store.set(func(f *faulty) { f.close = nil })
		w.outlast()
		w.settle()
		w.expect(count("k"), gateway.OK)
		require(t, "used", w.used(), 1)
	})
}

func TestAFailedCallWhoseRecordCanNotBeClosedKeepsItsUnit(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Service = w.gateway(&faulty{Store: w.db, close: errDisk})
		w.shelf.meet(func(context.Context) error {
			return fault.New(fault.Unavailable, "upstream_unavailable", "the shelf is closed")
		})
		w.expect(take("k"), "upstream_unavailable")
		require(t, "used", w.used(), 1)
		w.outlast()
		w.settle()
		require(t, "recorded as", w.newest().Verdict, gateway.Interrupted)
		require(t, "used", w.used(), 1)
	})
}

// brief is a store that recovers while a record is being closed.
type brief struct {
	gateway.Store
	failures int // left
}

func (b *brief) CloseCall(ctx context.Context, c gateway.Closing) error {
	if b.failures > 0 {
		b.failures--
		return errDisk
	}
	return b.Store.CloseCall(ctx, c)
}

func TestClosingIsTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.Service = w.gateway(&brief{w.db, 2})
		w.expect(take("k"), gateway.OK)
		require(t, "recorded as", w.newest().Verdict, gateway.OK)
	})
}

func TestRunClosesOpenCallsAsTimeGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.crash(take("k"))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		require(t, "at the start", w.newest().Verdict, gateway.Open)
		w.outlast()
		time.Sleep(11 * time.Second) // of the bubble: the next look
		synctest.Wait()
		require(t, "ten seconds on", w.newest().Verdict, gateway.Interrupted)
		stop()
		require(t, "Run", <-ended, nil)
	})
}

func TestAGatewayThatStopsWaitsForItsCallsAndTakesNoMore(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		hold := make(held)
		w.shelf.meet(hold.trouble)
		call := w.begin(t.Context(), w.Service, take("k"))
		stop()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("Run ended before its calls")
		default:
		}
		m := w.expect(take(""), "server_draining")
		require(t, "retryable", fault.Of(m.err).Retryable, true)
		close(hold)
		require(t, "the call under way", (<-call).code(), gateway.OK)
		require(t, "Run", <-ended, nil)
		require(t, "recorded as", w.newest().Verdict, gateway.OK)
	})
}

// owing is a store that can't give space back at first.
type owing struct {
	gateway.Store
	reclaims int
}

func (o *owing) Reclaim(ctx context.Context) error {
	o.reclaims++
	if o.reclaims == 1 {
		return errDisk
	}
	return o.Store.Reclaim(ctx)
}

func TestSpaceThatCouldNotBeGivenBackIsOwed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		store := &owing{Store: w.db}
		s := w.gateway(store)
		w.expect(take("k"), gateway.OK)
		w.clock.Advance(25 * time.Hour)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		time.Sleep(3*time.Minute + time.Second) // of the bubble: three more looks
		synctest.Wait()
		require(t, "tries", store.reclaims, 2)
		stop()
		require(t, "Run", <-ended, nil)
	})
}

func TestSettingsAndAppsThatCanNotBeAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		apps []gateway.App
		cfg  gateway.Config
		code string
	}{
		"an app of the catalog that is not there": {nil, gateway.Config{}, "invalid_app"},
		"a call that may take for ever":           {[]gateway.App{w.shelf}, gateway.Config{CallTimeout: time.Hour}, "invalid_settings"},
		"replies kept for longer than records":    {[]gateway.App{w.shelf}, gateway.Config{KeepReplies: 2 * time.Hour, Retention: time.Hour}, "invalid_settings"},
		"a negative time":                         {[]gateway.App{w.shelf}, gateway.Config{KeepReplies: -1}, "invalid_settings"},
	} {
		_, err := gateway.New(w.db, w.catalog, nil, c.apps, c.cfg)
		require(t, name, made{err: err}.code(), c.code)
	}
	empty, err := catalog.New(w.db, nil, catalog.Config{})
	w.must(nil, err)
	_, err = gateway.New(w.db, empty, nil, []gateway.App{w.shelf}, gateway.Config{})
	require(t, "an app that the catalog does not publish", made{err: err}.code(), "invalid_app")
	if _, err := gateway.New(w.db, w.catalog, nil, []gateway.App{w.shelf}, gateway.Config{Retention: time.Hour}); err != nil {
		t.Errorf("a retention shorter than a day, alone: %v", err)
	}
}

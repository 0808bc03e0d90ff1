package abn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/fault"
	"interlock/internal/logtest"
)

// someKey is the key of a look-up of the number with some GUID.
func someKey(number string) flightKey { return flightKey{number: Number{number}} }

// caller joins a flight in a goroutine of its own.
type caller struct {
	ended chan struct{}
	v     verdict
	err   error
}

func call(ctx context.Context, f *flights, key flightKey, ask func(context.Context) (verdict, error)) *caller {
	c := &caller{ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.v, c.err = f.join(ctx, key, ask)
	}()
	synctest.Wait()
	return c
}

// asker counts its requests and answers each when it is told to.
type asker struct {
	asked  int
	answer chan verdict
	cause  error // of the last request that was cancelled
}

func (a *asker) ask(ctx context.Context) (verdict, error) {
	a.asked++
	select {
	case v := <-a.answer:
		return v, nil
	case <-ctx.Done():
		a.cause = context.Cause(ctx)
		return verdict{}, ended(ctx)
	}
}

func newAsker() *asker { return &asker{answer: make(chan verdict)} }

func testFlights(change ...func(*WebConfig)) *flights {
	c := WebConfig{}
	for _, f := range change {
		f(&c)
	}
	return newFlights(c.withDefaults())
}

var said = verdict{record: Record{ABN: Number{"51824753556"}, Name: "NAME"}, found: true}

// R-BRIDGE-8
func TestCallersAtOneMomentShareOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, a := testFlights(), newAsker()
		var callers []*caller
		for range 100 {
			callers = append(callers, call(t.Context(), f, someKey("51824753556"), a.ask))
		}
		other := newAsker()
		apart := call(t.Context(), f, flightKey{owner: [32]byte{1}, number: Number{"51824753556"}}, other.ask)
		a.answer <- said
		synctest.Wait()
		for _, c := range callers {
			<-c.ended
			if c.err != nil || c.v.record.Name != "NAME" {
				t.Fatalf("got %+v, %v", c.v, c.err)
			}
		}
		if a.asked != 1 || other.asked != 1 {
			t.Errorf("%d requests, and %d with another GUID; want one each", a.asked, other.asked)
		}
		close(other.answer)
		<-apart.ended
	})
}

// R-BRIDGE-8
func TestACallerWhoLeavesDoesNotEndTheRequestOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, a := testFlights(), newAsker()
		gone := errors.New("gone")
		first, leave := context.WithCancelCause(t.Context())
		one := call(first, f, someKey("51824753556"), a.ask)
		two := call(t.Context(), f, someKey("51824753556"), a.ask)
		leave(gone)
		<-one.ended
		if !errors.Is(one.err, ErrUnavailable) || !errors.Is(one.err, gone) {
			t.Errorf("who left got %v", one.err)
		}
		a.answer <- said
		<-two.ended
		if two.err != nil || two.v.record.Name != "NAME" || a.asked != 1 {
			t.Errorf("who stayed got %+v, %v after %d requests", two.v, two.err, a.asked)
		}
	})
}

// R-BRIDGE-8
func TestARequestEndsWithItsLastCallerAndIsNotJoinedAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, a := testFlights(), newAsker()
		ctx, leave := context.WithCancel(t.Context())
		one, two := call(ctx, f, someKey("51824753556"), a.ask), call(ctx, f, someKey("51824753556"), a.ask)
		leave()
		<-one.ended
		<-two.ended
		synctest.Wait()
		if a.cause != errNobodyWaits {
			t.Errorf("the request ended with %v", a.cause)
		}
		later := call(t.Context(), f, someKey("51824753556"), a.ask)
		a.answer <- said
		<-later.ended
		if later.err != nil || a.asked != 2 {
			t.Errorf("a later caller got %v after %d requests", later.err, a.asked)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.join(over, someKey("53004085616"), a.ask); !errors.Is(err, context.Canceled) || a.asked != 2 {
			t.Errorf("a caller who had left before got %v after %d requests", err, a.asked)
		}
	})
}

// R-BRIDGE-8
func TestAFailureIsSharedAndNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, asked, joined := testFlights(), 0, make(chan struct{})
		fail := func(context.Context) (verdict, error) {
			asked++
			<-joined
			return verdict{}, odd("down")
		}
		one, two := call(t.Context(), f, someKey("51824753556"), fail), call(t.Context(), f, someKey("51824753556"), fail)
		close(joined)
		<-one.ended
		<-two.ended
		if !errors.Is(one.err, ErrUnavailable) || !errors.Is(two.err, ErrUnavailable) || asked != 1 {
			t.Errorf("got %v and %v after %d requests", one.err, two.err, asked)
		}
		if _, err := f.join(t.Context(), someKey("51824753556"), fail); err == nil || asked != 2 {
			t.Errorf("the next caller got %v after %d requests", err, asked)
		}
	})
}

// R-BRIDGE-8
func TestAPurgeStartsAfresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, before, after := testFlights(), newAsker(), newAsker()
		early := call(t.Context(), f, someKey("51824753556"), before.ask)
		f.purge(func(verdict) bool { return true })
		late := call(t.Context(), f, someKey("51824753556"), after.ask)
		before.answer <- said
		<-early.ended
		after.answer <- verdict{at: time.Now()}
		<-late.ended
		if early.v.record.Name != "NAME" || late.v.found || after.asked != 1 {
			t.Errorf("before %+v, after %+v", early.v, late.v)
		}
		if v, err := f.join(t.Context(), someKey("51824753556"), after.ask); err != nil || v.found || after.asked != 1 {
			t.Errorf("what was kept is %+v, %v after %d requests", v, err, after.asked)
		}
	})
}

// R-BRIDGE-8
func TestAPanicEndsTheRequestOnly(t *testing.T) {
	t.Parallel()
	var log logtest.Log
	f := testFlights(func(c *WebConfig) { c.Logger = log.Logger() })
	_, err := f.join(t.Context(), someKey("51824753556"), func(context.Context) (verdict, error) { panic("guid=secret") })
	if fault.KindOf(err) != fault.Internal || strings.Contains(err.Error(), "secret") || strings.Contains(log.String(), "guid=secret") || !strings.Contains(log.String(), "panic=string") {
		t.Errorf("got %v; log %s", err, log.String())
	}
}

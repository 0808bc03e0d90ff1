package host_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"interlock/internal/hostapi"
	"interlock/internal/hostapi/hostapitest"
	"interlock/internal/logtest"
)

// R-HOST-3: a machine that slept does not act on the lease that it had.
func TestAfterASleepALeaseIsRenewedBeforeTheNextAction(t *testing.T) {
	for name, c := range map[string]struct {
		reachable bool
		want      string
	}{"and the control plane is there": {true, "succeeded"}, "and the control plane is away": {false, ""}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, hostapitest.Options{}, func(t *testing.T, w *world) {
				var slept atomic.Int64
				w.cfg.Clock = func() time.Time {
					if d := time.Duration(slept.Load()); d > 0 {
						return time.Now().Round(0).Add(d)
					}
					return time.Now()
				}
				id := w.Submit(hostapi.Assignment{Goal: "count", Budgets: hostapi.Budgets{WallTimeMS: 3_600_000}})
				h := w.run(t, tapping(3, 3*time.Second))
				w.Wait(t, "the first touch", func() bool { return w.Task(id).Acting })
				renewals := w.Calls("renew")
				slept.Store(int64(15 * time.Minute))
				if !c.reachable {
					w.Break(hostapitest.DropCall)
				}
				before, _ := w.phone.touches()
				time.Sleep(50 * time.Second)
				after, _ := w.phone.touches()
				got := w.Task(id)
				if c.reachable && (got.Result == nil || got.Result.State != c.want || w.Calls("renew") == renewals) {
					t.Errorf("%+v with %d renewals, want %s after at least one", got.Result, w.Calls("renew")-renewals, c.want)
				}
				if !c.reachable && len(after) != len(before) {
					t.Errorf("the device was touched %d times after the sleep", len(after)-len(before))
				}
				h.end(t)
			})
		})
	}
}

// No credential, goal or summary reaches the log, at any level, whatever fails.
func TestTheLogHoldsNoSecret(t *testing.T) {
	d := &deciding{n: 1}
	inWorld(t, hostapitest.Options{Decide: d.decide, CredentialLife: 40 * time.Minute}, func(t *testing.T, w *world) {
		var out logtest.Log
		w.cfg.Logger = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		h := w.run(t, asking)
		for _, verb := range []string{"poll", "ack", "events", "decide", "result", "heartbeat", "rotate"} {
			w.Inject(verb, 2, hostapitest.CutAnswer)
			w.Inject(verb, 1, hostapitest.Page(500))
		}
		for range 4 {
			w.await(t, w.Submit(hostapi.Assignment{Goal: "canary-goal"}))
		}
		first := w.credentialFile(t).Current.Credential
		time.Sleep(40 * time.Minute)
		second := w.credentialFile(t).Current.Credential
		h.end(t)
		for _, canary := range []string{first, second, "ilk_host_", "ilk_enr_", "canary-goal", "counted", "Total "} {
			if strings.Contains(out.String(), canary) {
				t.Errorf("the log holds %q", canary)
			}
		}
		if first == second || !strings.Contains(out.String(), "result accepted") || !strings.Contains(out.String(), "credential rotated") {
			t.Error("the log holds less than happened, so it proves nothing")
		}
	})
}

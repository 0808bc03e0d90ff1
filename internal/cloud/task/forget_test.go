package task_test

import (
	"testing"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
)

// R-CLOUD-10
func TestAKeyIsRememberedForThirtyDays(t *testing.T) {
	// The clock walks through a month: the other loops have little to do.
	slow := task.Config{Lease: 24 * time.Hour, ReapEvery: 24 * time.Hour, Sweep: 24 * time.Hour}
	inBubbleAt(t, slow, nil, func(t *testing.T, w *world) {
		sub := task.Submission{Tenant: tenant.Default, By: operator, Key: "k", Spec: task.Spec{Goal: "g"}}
		first, _, err := w.Submit(t.Context(), sub)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			wait     time.Duration
			replayed bool
		}{{task.KeepKeys - time.Minute, true}, {2 * time.Hour, false}} {
			time.Sleep(c.wait)
			again, replayed, err := w.Submit(t.Context(), sub)
			if err != nil || replayed != c.replayed || (again.ID == first.ID) != c.replayed {
				t.Errorf("after another %v: replayed %v, %v; want %v", c.wait, replayed, err, c.replayed)
			}
		}
	})
}

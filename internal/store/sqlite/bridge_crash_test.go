package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/tenant"
)

// crashQuota is more than the process can use before it is killed.
var crashQuota = catalog.Quota{Limit: 1 << 40, Window: catalog.Month}

// crashAt is when its calls are made: in one window, whatever the date is.
var crashAt = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// crashReply is what its calls answer.
const crashReply = `{"found":true}`

// callUntilKilled spends a token, opens a call under the token's name and
// closes it, again and again, and prints how far each came.
func callUntilKilled(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Config{Path: path})
	if err != nil {
		return err
	}
	var out sync.Mutex
	var all sync.WaitGroup
	for range crashTasks {
		all.Go(func() {
			for {
				id := rand.Text()
				for _, step := range []struct {
					name string
					take func() error
				}{
					{"spent", func() error { _, err := s.SpendToken(ctx, "site_1", id, crashAt); return err }},
					{"opened", func() error {
						_, err := s.OpenCall(ctx, gateway.Record{ID: id, Tenant: tenant.Default, Site: "site_1", Key: id, OpenedAt: crashAt}, crashQuota)
						return err
					}},
					{"closed", func() error {
						return s.CloseCall(ctx, gateway.Closing{Tenant: tenant.Default, ID: id, Verdict: gateway.OK, Reply: []byte(crashReply)})
					}},
				} {
					err := step.take()
					out.Lock()
					if err == nil {
						fmt.Println(step.name, id)
					} else {
						fmt.Println("error", err)
					}
					out.Unlock()
				}
			}
		})
	}
	all.Wait()
	return nil
}

// R-BRIDGE-5, R-BRIDGE-10: whatever was answered before the process was killed
// is there: no token is fresh again, no call is lost, and the meter is what
// the log says.
func TestSpentTokensAndCallsSurviveAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "interlock.db")
	var lines []string
	for range 10 {
		lines = append(lines, runUntilKilled(t, "calls", path)...)
	}
	s := open(t, Config{Path: path})
	for _, line := range lines {
		var step, id string
		if _, err := fmt.Sscan(line, &step, &id); err != nil {
			t.Fatalf("the process says: %s", line)
		}
		switch step {
		case "spent":
			if fresh, err := s.SpendToken(t.Context(), "site_1", id, crashAt); err != nil || fresh {
				t.Errorf("token %s: fresh %v, %v", id, fresh, err)
			}
		case "opened", "closed":
			r, found, err := s.Keyed(t.Context(), tenant.Default, "site_1", id)
			if err != nil || !found || step == "closed" && (r.Verdict != gateway.OK || string(r.Reply) != crashReply) {
				t.Errorf("call %s was %s: found %v %+v, %v", id, step, found, r, err)
			}
		}
	}
	logged, err := s.Calls(t.Context(), gateway.Query{Tenant: tenant.Default, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Meter(t.Context(), tenant.Default, "", crashQuota, crashAt); err != nil || m.Used != int64(len(logged)) {
		t.Errorf("the meter says %d, %v; %d calls are logged", m.Used, err, len(logged))
	}
	t.Logf("%d answers over 10 kills, %d calls", len(lines), len(logged))
}

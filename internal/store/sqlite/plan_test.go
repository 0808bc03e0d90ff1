package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/access"
	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/site"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// scannable are the tables that a statement may walk through, and why.
var scannable = map[string]string{
	"task_key":        "children of a task that is being inserted, only while a foreign key is open, which none ever is",
	"device_lease":    "likewise; and once at Open",
	"host_credential": "old ones are deleted once in a while",
	"log_size":        "one row",
	"json_each":       "an argument",
	"s":               "the recursion itself; or the sites of a page",
	"l":               "an argument",
}

// The cost of each call must not grow with what other tenants, hosts and tasks
// have stored: every statement finds its rows by an index.
func TestEveryStatementFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	clock := newHand()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "db"), Now: clock.now})
	callEverything(t, s, clock)
	callTheBridge(t, s, clock)
	var queries []string
	err := s.exclusively(t.Context(), func(*sql.Conn) error {
		for query := range s.writer.tx.prepared {
			queries = append(queries, query)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range cap(s.readers.free) {
		r := <-s.readers.free
		for query := range r.prepared {
			queries = append(queries, query)
		}
		s.readers.free <- r
	}
	if len(queries) < 110 {
		t.Fatalf("only %d statements were looked at", len(queries))
	}
	for _, query := range queries {
		explain(t, s, query)
	}
}

func explain(t *testing.T, s *Store, query string) {
	t.Helper()
	switch strings.Fields(query)[0] {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
	default:
		return
	}
	err := s.exclusively(t.Context(), func(c *sql.Conn) error {
		rows, err := c.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, make([]any, parameters(query))...)
		return eachRow(rows, err, func(scan scan) error {
			var id, parent, unused int
			var detail string
			if err := scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			words := strings.Fields(detail)
			if words[0] == "SCAN" && words[1] != "CONSTANT" && scannable[words[1]] == "" {
				t.Errorf("%s\n\tin: %s", detail, query)
			}
			return nil
		})
	})
	if err != nil {
		t.Errorf("explain %s: %v", query, err)
	}
}

// parameters counts what a query binds: ?1 twice is one.
func parameters(query string) int {
	n, highest := 0, 0
	for i, c := range query {
		if c != '?' {
			continue
		}
		if i+1 < len(query) && query[i+1] >= '1' && query[i+1] <= '9' {
			highest = max(highest, int(query[i+1]-'0'))
		} else {
			n++
		}
	}
	return n + highest
}

// callEverything makes the store prepare what it ever prepares.
func callEverything(t *testing.T, s *Store, clock *hand) {
	t.Helper()
	ctx, f := t.Context(), audit.Fact{Action: "x", At: clock.now()}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(s.CreateEnrolToken(ctx, fleet.EnrolToken{ID: "e", Tenant: tenant.Default, ExpiresAt: clock.now().Add(time.Hour)}, f))
	enrol := fleet.Enrolment{TokenID: "e", Key: "k", Host: fleet.Host{ID: "h"}, Credential: fleet.Credential{ID: "c1"}, At: clock.now()}
	for range 2 {
		_, err := s.Enroll(ctx, enrol, f)
		ok(err)
	}
	ok(s.Rotate(ctx, fleet.Rotation{Host: "h", Old: "c1", New: fleet.Credential{ID: "c2"}}))
	ok(s.Rotate(ctx, fleet.Rotation{Host: "h", Old: "c1", New: fleet.Credential{ID: "c3"}}))
	ok(s.MarkUsed(ctx, "c3", clock.now(), clock.now()))
	_, err := s.DeleteCredentials(ctx, time.UnixMicro(1))
	ok(err)
	ok(s.RecordSeen(ctx, []fleet.Seen{{Host: "h", At: clock.now()}}))
	ok(s.SetPlanner(ctx, tenant.Default, "h", true, 0, f))
	ok(s.SetDrain(ctx, tenant.Default, "h", true, f))
	_, err = s.Hosts(ctx, tenant.Default)
	ok(err)
	_, err = s.EnrolTokens(ctx, tenant.Default)
	ok(err)
	_, _, err = s.Credential(ctx, "c1")
	ok(err)

	k := heldTask(t, s, "t1")
	fence := task.Fence{Tenant: k.Tenant, Host: "h", Task: k.ID, Attempt: 1}
	_, err = s.Ack(ctx, crashTiming, fence)
	ok(err)
	_, err = s.Renew(ctx, crashTiming, []task.Fence{fence})
	ok(err)
	_, _, err = s.AppendEvents(ctx, fence, []task.Event{{Kind: task.EventActing}})
	ok(err)
	_, err = s.Events(ctx, tenant.Default, k.ID, 1, -1, 9)
	ok(err)
	record(t, s, k, "a", "s", "p")
	_, err = s.Standing(ctx, fence, "a", crashRow(k, "a").BodyHash)
	ok(err)
	ok(s.MeterFailure(ctx, usage.Entry{Tenant: tenant.Default, Task: string(k.ID), Attempt: 1}))
	_, err = s.Decisions(ctx, decision.Query{Tenant: tenant.Default, Task: k.ID, AfterStep: -1, Limit: 9, Bodies: true})
	ok(err)
	finishTask(t, s, k)
	clock.advance(time.Minute)
	_, err = s.Prune(ctx, clock.now(), 5)
	ok(err)
	for _, n := range []time.Duration{0, time.Hour} {
		_, err = s.NextPrune(ctx)
		ok(err)
		clock.advance(n)
		_, err = s.Reap(ctx, crashTiming, 5)
		ok(err)
		_, err = s.NextRun(ctx)
		ok(err)
	}
	k = heldTask(t, s, "t2")
	fence.Task = k.ID
	_, err = s.Cancel(ctx, crashTiming, tenant.Default, k.ID, "", f)
	ok(err)
	_, err = s.FailHost(ctx, crashTiming, "h")
	ok(err)
	k = heldTask(t, s, "t3")
	fence.Task = k.ID
	_, err = s.Release(ctx, fence, false, "")
	ok(err)
	_, err = s.TakeBack(ctx, crashTiming, task.Fence{Tenant: tenant.Default, Host: "h", Task: heldTask(t, s, "t3b").ID, Attempt: 1})
	ok(err)
	ok(s.RevokeHost(ctx, tenant.Default, "h", clock.now(), f))
	_, _, err = s.Submit(ctx, task.Task{ID: "t4", Tenant: tenant.Default}, "key", [32]byte{}, f)
	ok(err)
	for _, filter := range []task.Filter{{}, {States: []task.State{task.Queued}, Before: "z"}, {Labels: map[string]string{"a": "b"}}} {
		filter.Tenant, filter.Limit = tenant.Default, 5
		_, err = s.Tasks(ctx, filter)
		ok(err)
	}
	_, _, err = s.Submitted(ctx, tenant.Default, "key", [32]byte{})
	ok(err)
	_, err = s.ForgetKeys(ctx, clock.now(), 5)
	ok(err)
	_, err = s.DeleteEnrolTokens(ctx, clock.now(), 5)
	ok(err)
	_, err = s.Count(ctx, tenant.Default)
	ok(err)
	_, err = s.Attempts(ctx, tenant.Default, k.ID)
	ok(err)
	for _, q := range []usage.Query{{}, {Task: "t1"}, {From: clock.now(), Groups: []usage.Group{usage.ByDay}}} {
		q.Tenant = tenant.Default
		_, err = s.Usage(ctx, q)
		ok(err)
	}
	ok(s.SetPrice(ctx, tenant.Default, usage.Price{Provider: "p"}, f))
	ok(s.DeletePrice(ctx, tenant.Default, "p", "", f))
	_, err = s.Prices(ctx, tenant.Default)
	ok(err)
	ok(s.SetStop(ctx, tenant.Default, usage.Stop{}, f))
	_, err = s.CreateFirst(ctx, access.Token{ID: "a", Tenant: tenant.Default}, f)
	ok(err)
	_, err = s.Tokens(ctx, tenant.Default)
	ok(err)
	_, err = s.Token(ctx, "a")
	ok(err)
	ok(s.CreateToken(ctx, access.Token{ID: "b", Tenant: tenant.Default}, f))
	ok(s.RevokeToken(ctx, tenant.Default, "a", clock.now(), f))
	_, err = s.Facts(ctx, tenant.Default, 0, 5)
	ok(err)
}

// callTheBridge makes the store prepare what the rooms of the Bridge need.
func callTheBridge(t *testing.T, s *Store, clock *hand) {
	t.Helper()
	ctx, f, of := t.Context(), audit.Fact{Action: "x", At: clock.now()}, tenant.Default
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(s.CreateTenant(ctx, catalog.Tenant{ID: "acme"}, catalog.Subscription{}, f))
	_, err := s.ChangeTenant(ctx, of, catalog.TenantChange{}, f)
	ok(err)
	ok(s.SetSubscription(ctx, of, catalog.Subscription{}, f))
	ok(s.Enable(ctx, of, catalog.Enablement{App: "a"}, f))
	ok(s.Disable(ctx, of, "a", f))
	_, err = s.Tenants(ctx, "", 5)
	ok(err)
	_, err = s.TenantStanding(ctx, of)
	ok(err)

	ok(s.CreateSite(ctx, site.Site{ID: "site_1", Tenant: of}, f))
	key := benchKey(t)
	ok(s.AddKey(ctx, of, "site_1", key, f))
	ok(s.DisableKey(ctx, of, "site_1", key.KID, clock.now(), f))
	_, err = s.ChangeSite(ctx, of, "site_1", site.Change{}, f)
	ok(err)
	_, err = s.Site(ctx, "site_1")
	ok(err)
	_, err = s.Sites(ctx, of, "", 5)
	ok(err)
	_, err = s.SpendToken(ctx, "site_1", "jti", clock.now())
	ok(err)
	_, err = s.ForgetTokens(ctx, clock.now(), 5)
	ok(err)

	c := credential.Sealed{Tenant: of, App: "a", Revision: 1, KeyID: "k", Nonce: []byte{1}, Ciphertext: []byte{1}}
	ok(s.PutCredential(ctx, c, f))
	c.Revision = 2
	ok(s.PutCredential(ctx, c, f))
	ok(s.ResealCredential(ctx, c, "k", f))
	_, err = s.SealedCredential(ctx, of, "a")
	ok(err)
	_, err = s.LatestRevision(ctx, of, "a")
	ok(err)
	_, err = s.SealedCredentials(ctx, "", "", 5)
	ok(err)
	ok(s.DeleteCredential(ctx, of, "a", f))

	_, err = s.ReserveSelection(ctx, of, clock.now(), 5)
	ok(err)
	ok(s.RecordResolution(ctx, resolve.Record{ID: "r", Tenant: of}))
	for _, q := range []resolve.Query{{}, {Site: "s", Before: "z"}} {
		q.Tenant, q.Limit = of, 5
		_, err = s.Resolutions(ctx, q)
		ok(err)
	}
	_, err = s.PruneResolutions(ctx, clock.now(), 5)
	ok(err)

	for _, key := range []string{"", "k", "k"} {
		_, err = s.OpenCall(ctx, gateway.Record{ID: "call" + key, Tenant: of, Key: key}, catalog.Quota{Limit: 5, Window: catalog.Day})
		ok(err)
	}
	_, err = s.OpenCall(ctx, gateway.Record{ID: "exceeded", Tenant: of}, catalog.Quota{Window: catalog.Day})
	ok(err)
	_, err = s.ReopenCall(ctx, of, "call", clock.now())
	ok(err)
	ok(s.CloseCall(ctx, gateway.Closing{Tenant: of, ID: "call", Refund: true}))
	_, _, err = s.Keyed(ctx, of, "s", "k")
	ok(err)
	_, err = s.Meter(ctx, of, "", catalog.Quota{}, clock.now())
	ok(err)
	for _, q := range []gateway.Query{{}, {Site: "s", App: "a", Verdict: gateway.OK, Before: "z"}} {
		q.Tenant, q.Limit = of, 5
		_, err = s.Calls(ctx, q)
		ok(err)
	}
	for _, sweep := range []func(context.Context, time.Time, int) (int, error){s.InterruptCalls, s.ForgetReplies, s.PruneCalls} {
		_, err = sweep(ctx, clock.now(), 5)
		ok(err)
	}
}

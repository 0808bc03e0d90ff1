package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"interlock/internal/access"
	"interlock/internal/audit"
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
	"s":               "the recursion itself",
	"l":               "an argument",
}

// The cost of each call must not grow with what other tenants, hosts and tasks
// have stored: every statement finds its rows by an index.
func TestEveryStatementFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	clock := newHand()
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "db"), Now: clock.now})
	callEverything(t, s, clock)
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
	if len(queries) < 60 {
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

package operators_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"interlock/internal/cloud/fleet"
	"interlock/internal/serve/operators"
	"interlock/internal/usage"
)

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
}

func TestARevokedHostShowsWhatItCanStillDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := string(w.host.ID)
	var before, after operators.Host
	w.must("PUT", operators.HostPath(host, "planner"), operators.PlannerGrant{Allowed: true, MaxConcurrentDecides: 3}, &before)
	if err := w.fleet.Seen(w.host, fleet.Seen{SlotsFree: 2}); err != nil {
		t.Fatal(err)
	}
	w.must("GET", operators.HostPath(host, ""), nil, &before)
	if before.SlotsFree != 2 || !before.Planner.Allowed {
		t.Fatalf("before: %+v", before)
	}
	w.must("POST", operators.HostPath(host, "revoke"), nil, &after)
	if after.Status != "revoked" || after.SlotsFree != 0 || after.Planner != (operators.PlannerGrant{}) {
		t.Errorf("a revoked host has %d free slots and the grant %+v, want none", after.SlotsFree, after.Planner)
	}
	for verb, body := range map[string]any{"drain": operators.DrainRequest{Drain: true}, "planner": operators.PlannerGrant{Allowed: true}} {
		if p := w.refused("PUT", operators.HostPath(host, verb), body); p.Status != 409 || p.Code != "host_gone" {
			t.Errorf("%s: got %d %s, want 409 host_gone", verb, p.Status, p.Code)
		}
	}
}

// R-GOV-0
func TestEveryChangeIsAFactOfTheTokenThatMadeIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := string(w.host.ID)
	queued := w.submit("x")
	var enrol operators.EnrolTokenReply
	w.must("POST", operators.PathEnrolTokens, operators.NewEnrolToken{}, &enrol)
	var token operators.TokenReply
	w.must("POST", operators.PathTokens, operators.NewToken{Name: "spare"}, &token)
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", operators.TaskPath(queued.ID, "cancel"), nil},
		{"POST", operators.TaskPath(queued.ID, "retry"), nil},
		{"DELETE", operators.TaskPath(queued.ID, "decisions"), nil},
		{"PUT", operators.HostPath(host, "planner"), operators.PlannerGrant{Allowed: false}},
		{"PUT", operators.HostPath(host, "drain"), operators.DrainRequest{Drain: true}},
		{"POST", operators.HostPath(host, "revoke"), nil},
		{"POST", operators.EnrolTokenPath(enrol.ID, "revoke"), nil},
		{"PUT", operators.PathPrices, usage.Price{Provider: "p", Model: "m", Currency: "EUR"}},
		{"DELETE", operators.PathPrices + "?provider=p&model=m", nil},
		{"PUT", operators.PathStop, operators.StopRequest{On: true}},
		{"PUT", operators.PathStop, operators.StopRequest{On: false}},
		{"POST", operators.TokenPath(token.ID, "revoke"), nil},
	} {
		w.must(c.method, c.path, c.body, nil)
	}
	want := []string{"task.submit", "enrol_token.create", "token.create", "task.cancel", "task.retry", "decisions.purge", "host.planner", "host.drain",
		"host.revoke", "enrol_token.revoke", "price.set", "price.delete", "decides.stop", "decides.resume", "token.revoke"}
	var got []string
	for cursor := ""; ; {
		var page operators.AuditPage
		w.must("GET", operators.PathAudit+"?limit=4&cursor="+cursor, nil, &page)
		for _, e := range page.Entries {
			if e.Actor == "token:"+w.tokenID {
				got = append(got, e.Action)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got the facts\n%v, want\n%v", got, want)
	}
	var verdict operators.AuditVerdict
	w.must("GET", operators.PathAuditVerify, nil, &verdict)
	if !verdict.Valid || verdict.Entries < int64(len(want)) || len(verdict.LastHash) != 64 {
		t.Errorf("got the verdict %+v", verdict)
	}
}

func TestASecretIsShownOnceAndWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var token operators.TokenReply
	w.must("POST", operators.PathTokens, operators.NewToken{Name: "ci"}, &token)
	var enrol operators.EnrolTokenReply
	w.must("POST", operators.PathEnrolTokens, operators.NewEnrolToken{HostName: "rack-9"}, &enrol)
	if res, _ := w.send("GET", operators.PathStatus, nil, map[string]string{"Authorization": "Bearer " + token.Value.Reveal()}); res.StatusCode != 200 {
		t.Errorf("the new token: got %d, want 200", res.StatusCode)
	}
	for _, path := range []string{operators.PathTokens, operators.PathEnrolTokens, operators.PathAudit} {
		_, out := w.send("GET", path, nil, nil)
		for _, value := range []string{token.Value.Reveal(), enrol.Token.Reveal(), w.token} {
			if strings.Contains(string(out), value) {
				t.Errorf("GET %s shows a secret again: %s", path, out)
			}
		}
	}
	for _, printed := range []string{fmt.Sprintf("%v %+v %#v %s", token, token, token, token.Value), fmt.Sprintf("%v %+v %#v", enrol, enrol, enrol)} {
		if strings.Contains(printed, token.Value.Reveal()) || strings.Contains(printed, enrol.Token.Reveal()) {
			t.Errorf("a printer shows a secret: %s", printed)
		}
	}
	for _, value := range []string{token.Value.Reveal(), enrol.Token.Reveal(), w.token} {
		if strings.Contains(w.log.String(), value) {
			t.Error("the log holds a secret")
		}
	}
	var list operators.EnrolTokenList
	w.must("GET", operators.PathEnrolTokens, nil, &list)
	if len(list.EnrolTokens) != 2 || list.EnrolTokens[0].State != "live" || list.EnrolTokens[1].State != "used" || list.EnrolTokens[1].UsedBy != string(w.host.ID) {
		t.Errorf("got the enrolment tokens %+v, want a live one and the used one", list.EnrolTokens)
	}
}

func TestTheLastTokenCannotBeRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if p := w.refused("POST", operators.TokenPath(w.tokenID, "revoke"), nil); p.Status != 409 || p.Code != "last_token" {
		t.Errorf("got %d %s, want 409 last_token", p.Status, p.Code)
	}
}

// R-HOST-5
func TestAHostIsShownAsItIsAfterEachChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := string(w.host.ID)
	var h operators.Host
	w.must("PUT", operators.HostPath(id, "planner"), operators.PlannerGrant{Allowed: false, MaxConcurrentDecides: 3}, &h)
	if h.Planner != (operators.PlannerGrant{MaxConcurrentDecides: 3}) || h.Name != "rack-1" || h.Status != "active" || len(h.Devices) != 1 {
		t.Errorf("got %+v, want the grant taken", h)
	}
	w.must("PUT", operators.HostPath(id, "drain"), operators.DrainRequest{Drain: true}, &h)
	if !h.Drain || h.Status != "draining" {
		t.Errorf("got drain %v, status %s", h.Drain, h.Status)
	}
	w.must("POST", operators.HostPath(id, "revoke"), nil, &h)
	if h.Status != "revoked" || h.RevokedAt.IsZero() {
		t.Errorf("got %+v, want it revoked", h)
	}
}

// R-CLOUD-9
func TestUsageIsAddedUpAndPricedWithTheUnknownKeptApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.finished(2)
	report := func(query string) []operators.UsageRow {
		var r operators.UsageReport
		w.must("GET", operators.PathUsage+query, nil, &r)
		return r.Rows
	}
	rows := report("?group=task")
	if len(rows) != 1 || rows[0].Task != made.ID || rows[0].Calls != 2 || rows[0].Input.Total != 2000 || rows[0].CachedInput.Unknown != 2 || rows[0].Costs != nil {
		t.Errorf("without prices: got %+v", rows)
	}
	w.must("PUT", operators.PathPrices, usage.Price{Provider: "oracle", Model: "m-*", Currency: "EUR", Input: 3_000_000, CachedInput: 300_000, Output: 15_000_000}, nil)
	for _, query := range []string{"?group=task", "?group=model&task_id=" + made.ID, "", "?group=host&group=day&host_id=" + string(w.host.ID)} {
		rows := report(query)
		// 2,000 tokens at 3 and 20 at 15 millionths of a millionth, a token.
		want := operators.Cost{Currency: "EUR", Micro: 6_300, Rough: true}
		if len(rows) != 1 || len(rows[0].Costs) != 1 || rows[0].Costs[0] != want {
			t.Errorf("%s: got %+v, want the cost %+v", query, rows, want)
		}
	}
	if rows := report("?task_id=nowhere"); len(rows) != 0 && rows[0].Calls != 0 {
		t.Errorf("of another task: got %+v", rows)
	}
}

func TestStatusCountsWhatThereIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.finished(2)
	w.submit("later")
	w.must("PUT", operators.PathStop, operators.StopRequest{On: true, Reason: "budget"}, nil)
	var s operators.Status
	w.must("GET", operators.PathStatus, nil, &s)
	if s.Version != "v-test" || s.Tasks["succeeded"] != 1 || s.Tasks["queued"] != 1 || s.Hosts["active"] != 1 {
		t.Errorf("got %+v, want one task ended, one queued and a host", s)
	}
	if s.Log.Decisions != 2 || s.Log.Bytes <= 0 || s.Log.NextPruneAt.Before(s.Now) || s.Log.RetentionSeconds != 30*24*3600 {
		t.Errorf("got the log %+v", s.Log)
	}
	if !s.Stop.On || s.Stop.Reason != "budget" || s.Stop.By != "token:"+w.tokenID {
		t.Errorf("got the switch %+v", s.Stop)
	}
	if s.Planner != (operators.PlannerStatus{Configured: true, Provider: "oracle", Model: "m-1", Decides: 2}) {
		t.Errorf("got the planner %+v", s.Planner)
	}
}

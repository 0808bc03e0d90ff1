package operators_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/usage"
)

// operation is one that the document describes.
type operation struct{ id, method, path string }

// described lists every operation of the document.
func described(t *testing.T) []operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(document(t), &doc); err != nil {
		t.Fatal(err)
	}
	var out []operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			out = append(out, operation{doc.Paths[path][method].OperationID, strings.ToUpper(method), path})
		}
	}
	return out
}

func TestEveryDescribedOperationCanBeReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended, queued := w.finished(2), w.submit("wait for me")
	host := string(w.host.ID)
	var token operators.TokenReply
	w.must("POST", operators.PathTokens, operators.NewToken{Name: "spare"}, &token)
	var enrol operators.EnrolTokenReply
	w.must("POST", operators.PathEnrolTokens, operators.NewEnrolToken{}, &enrol)
	price := usage.Price{Provider: "oracle", Model: "m-*", Currency: "EUR", Input: 1}
	registered := w.site("default")
	w.must("POST", operators.SitePath("default", registered.ID, "keys"), operators.NewSiteKey{PEM: publicPEM(t), KID: "first"}, nil)

	// In this order: later ones may use what earlier ones made.
	calls := []struct {
		id, path string
		body     any
		status   int
	}{
		{"get-status", operators.PathStatus, nil, 200},
		{"submit-task", operators.PathTasks, operators.TaskSpec{Goal: "x"}, 201},
		{"list-tasks", operators.PathTasks + "?state=queued&state=succeeded&limit=1", nil, 200},
		{"get-task", operators.TaskPath(ended.ID, ""), nil, 200},
		{"cancel-task", operators.TaskPath(queued.ID, "cancel"), operators.CancelRequest{Reason: "late"}, 200},
		{"retry-task", operators.TaskPath(ended.ID, "retry"), nil, 201},
		{"list-attempts", operators.TaskPath(ended.ID, "attempts"), nil, 200},
		{"list-events", operators.TaskPath(ended.ID, "events"), nil, 200},
		{"watch-task", operators.TaskPath(ended.ID, "watch"), nil, 200},
		{"list-decisions", operators.TaskPath(ended.ID, "decisions") + "?bodies=true", nil, 200},
		{"get-decision", operators.DecisionPath(ended.ID, 1, 1), nil, 200},
		{"purge-decisions", operators.TaskPath(ended.ID, "decisions"), nil, 200},
		{"list-hosts", operators.PathHosts, nil, 200},
		{"get-host", operators.HostPath(host, ""), nil, 200},
		{"set-host-planner", operators.HostPath(host, "planner"), operators.PlannerGrant{Allowed: true, MaxConcurrentDecides: 2}, 200},
		{"set-host-drain", operators.HostPath(host, "drain"), operators.DrainRequest{Drain: true}, 200},
		{"revoke-host", operators.HostPath(host, "revoke"), nil, 200},
		{"create-enrol-token", operators.PathEnrolTokens, operators.NewEnrolToken{HostName: "rack-2", LifetimeSeconds: 60}, 201},
		{"list-enrol-tokens", operators.PathEnrolTokens, nil, 200},
		{"revoke-enrol-token", operators.EnrolTokenPath(enrol.ID, "revoke"), nil, 204},
		{"set-price", operators.PathPrices, price, 200},
		{"list-prices", operators.PathPrices, nil, 200},
		{"query-usage", operators.PathUsage + "?group=day&group=task&from=2020-01-01", nil, 200},
		{"delete-price", operators.PathPrices + "?provider=oracle&model=m-*", nil, 204},
		{"set-stop", operators.PathStop, operators.StopRequest{On: true, Reason: "budget"}, 200},
		{"get-stop", operators.PathStop, nil, 200},
		{"create-token", operators.PathTokens, operators.NewToken{Name: "another"}, 201},
		{"list-tokens", operators.PathTokens, nil, 200},
		{"revoke-token", operators.TokenPath(token.ID, "revoke"), nil, 204},
		{"create-tenant", operators.PathTenants, operators.NewTenant{ID: "acme", Name: "Acme"}, 201},
		{"list-tenants", operators.PathTenants + "?limit=1", nil, 200},
		{"change-tenant", operators.TenantPath("acme", ""), operators.TenantChange{Name: ptr("Acme Pty Ltd")}, 200},
		{"set-subscription", operators.TenantPath("acme", "subscription"), operators.Subscription{Plan: "basic"}, 200},
		{"list-apps", operators.PathApps, nil, 200},
		{"enable-app", operators.TenantAppPath("acme", app), thousand, 200},
		{"get-tenant", operators.TenantPath("acme", ""), nil, 200},
		{"create-site", operators.TenantPath("acme", "sites"), operators.NewSite{Name: "acme.example"}, 201},
		{"list-sites", operators.TenantPath("default", "sites"), nil, 200},
		{"get-site", operators.SitePath("default", registered.ID, ""), nil, 200},
		{"change-site", operators.SitePath("default", registered.ID, ""), operators.SiteChange{Burst: ptr(5)}, 200},
		{"add-site-key", operators.SitePath("default", registered.ID, "keys"), operators.NewSiteKey{PEM: publicPEM(t)}, 201},
		{"disable-site-key", operators.SiteKeyPath("default", registered.ID, "first"), nil, 204},
		{"set-credential", operators.CredentialPath("acme", app), operators.SetCredential{Value: secret.Expose(secret.New("guid"))}, 204},
		{"list-credentials", operators.TenantPath("acme", "credentials"), nil, 200},
		{"rotate-credentials", operators.PathCredentialsRotate, nil, 200},
		{"delete-credential", operators.CredentialPath("acme", app), nil, 204},
		{"list-calls", operators.TenantPath("acme", "calls") + "?app=" + app + "&verdict=ok&site_id=" + registered.ID, nil, 200},
		{"list-resolutions", operators.TenantPath("acme", "resolutions") + "?site_id=" + registered.ID, nil, 200},
		{"disable-app", operators.TenantAppPath("acme", app), nil, 204},
		{"end-subscription", operators.TenantPath("acme", "subscription"), nil, 204},
		{"purge-abn", operators.PathABNPurge, operators.PurgeABN{ABN: "51824753556"}, 200},
		{"list-audit", operators.PathAudit + "?limit=3", nil, 200},
		{"verify-audit", operators.PathAuditVerify, nil, 200},
	}
	methods := map[string]string{}
	for _, o := range described(t) {
		methods[o.id] = o.method
	}
	for _, c := range calls {
		res, out := w.send(methods[c.id], c.path, encode(t, c.body), nil)
		if res.StatusCode != c.status {
			t.Errorf("%s %s: got %d %s, want %d", methods[c.id], c.path, res.StatusCode, out, c.status)
		}
		delete(methods, c.id)
	}
	if len(methods) != 0 {
		t.Errorf("operations that this test does not reach: %v", slices.Sorted(maps.Keys(methods)))
	}
}

// example is the path with something in each of its places.
func (o operation) example() string {
	return strings.NewReplacer("{id}", "x", "{attempt}", "1", "{step_index}", "0",
		"{tenant}", "default", "{app}", app, "{site}", "site_0123456789abcdef", "{kid}", "k").Replace(o.path)
}

func TestEveryOperationNeedsALiveToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var revoked operators.TokenReply
	w.must("POST", operators.PathTokens, operators.NewToken{Name: "spare"}, &revoked)
	w.must("POST", operators.TokenPath(revoked.ID, "revoke"), nil, nil)
	for name, header := range map[string]string{
		"nothing": "", "another scheme": "Basic eDp5", "a token that is none": "Bearer ilk_api_nonsense",
		"a revoked token": "Bearer " + revoked.Value.Reveal(), "a token with another secret": "Bearer " + w.token[:len(w.token)-4] + "AAAA",
		"a host's kind of credential": "Bearer " + strings.Replace(w.token, "ilk_api", "ilk_host", 1),
	} {
		for _, o := range described(t) {
			res, out := w.send(o.method, o.example(), nil, map[string]string{"Authorization": header, "Cookie": "session=" + w.token})
			if p := problemOf(t, res, out); p.Status != 401 || res.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with %s: got %d %s, want 401 with a challenge", o.method, o.path, name, p.Status, p.Code)
			}
		}
	}
	if res, _ := w.send("GET", operators.PathOpenAPI, nil, map[string]string{"Authorization": ""}); res.StatusCode != 200 {
		t.Errorf("the document: got %d, want 200 without a token", res.StatusCode)
	}
	for _, path := range []string{"/docs", operators.Prefix + "/docs", "/openapi.yaml", "/schemas/Task.json"} {
		if res, _ := w.send("GET", path, nil, nil); res.StatusCode != 404 {
			t.Errorf("%s: got %d, want nothing there", path, res.StatusCode)
		}
	}
}

func TestARequestThatCannotBeRightIsRefusedWithOneSentence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const tasks = operators.PathTasks
	for _, c := range []struct {
		name, method, path, body string
		headers                  map[string]string
		status                   int
		code, says               string
	}{
		{"a form", "POST", tasks, "goal=x", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", "application/json"},
		{"no media type", "POST", tasks, `{"goal":"x"}`, map[string]string{"Content-Type": ""}, 415, "unsupported_media_type", "application/json"},
		{"no body", "POST", tasks, "", nil, 400, "invalid_request", "body"},
		{"half an object", "POST", tasks, `{"goal":`, nil, 400, "invalid_request", "cut off"},
		{"a name twice", "POST", tasks, `{"goal":"x","goal":"y"}`, nil, 400, "invalid_request", "twice"},
		{"another case", "POST", tasks, `{"Goal":"x"}`, nil, 400, "invalid_request", "goal"},
		{"an unknown member", "POST", tasks, `{"goal":"x","gaol":"4711"}`, nil, 400, "invalid_request", "body.gaol is not known here"},
		{"a member with an endless name", "POST", tasks, `{"goal":"x","` + strings.Repeat("n", 4000) + `":1}`, nil, 400, "invalid_request", "body.nnn"},
		{"a member of the wrong kind", "POST", tasks, `{"goal":4711}`, nil, 400, "invalid_request", "body.goal"},
		{"an empty goal", "POST", tasks, `{"goal":""}`, nil, 400, "invalid_request", "body.goal"},
		{"a goal of spaces", "POST", tasks, `{"goal":"   "}`, nil, 400, "invalid_task", "goal"},
		{"a goal beyond all bounds", "POST", tasks, `{"goal":"` + strings.Repeat("x", 4001) + `"}`, nil, 400, "invalid_task", "4000"},
		{"a priority beyond 9", "POST", tasks, `{"goal":"x","priority":10}`, nil, 400, "invalid_request", "body.priority must be at most 9"},
		{"a time that is none", "POST", tasks, `{"goal":"x","not_before":"4711"}`, nil, 400, "invalid_request", "body.not_before must be a time such as 2026-12-24T18:00:00Z"},
		{"a negative budget", "POST", tasks, `{"goal":"x","budgets":{"steps":-1}}`, nil, 400, "invalid_request", "body.budgets.steps"},
		{"a wall time beyond all numbers", "POST", tasks, `{"goal":"x","budgets":{"wall_time_ms":9223372036854775807}}`, nil, 400, "invalid_task", "wall_time"},
		{"no key", "POST", tasks, `{"goal":"x"}`, map[string]string{operators.KeyHeader: ""}, 400, "invalid_request", "Idempotency-Key"},
		{"a key that is too long", "POST", tasks, `{"goal":"x"}`, map[string]string{operators.KeyHeader: strings.Repeat("k", 201)}, 400, "invalid_request", "Idempotency-Key"},
		{"a body over the limit", "POST", tasks, `{"goal":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, "body_too_large", "bytes"},
		{"an unknown query", "GET", tasks + "?stat=queued", "", nil, 400, "invalid_request", "query.stat"},
		{"an unknown state", "GET", tasks + "?state=asleep", "", nil, 400, "invalid_request", "query.state"},
		{"a filter that can't be read", "GET", tasks + "?state=;", "", nil, 400, "invalid_request", "query"},
		{"a filter with a broken escape", "GET", tasks + "?label=a%3Db%zz", "", nil, 400, "invalid_request", "query"},
		{"a limit of none", "GET", tasks + "?limit=0", "", nil, 400, "invalid_request", "query.limit"},
		{"a limit beyond the page", "GET", tasks + "?limit=201", "", nil, 400, "invalid_request", "query.limit"},
		{"a label without a value", "GET", tasks + "?label=x", "", nil, 400, "invalid_request", "name=value"},
		{"no such task", "GET", tasks + "/nowhere", "", nil, 404, "task_not_found", "interlock task list"},
		{"no such task to watch", "GET", tasks + "/nowhere/watch", "", nil, 404, "task_not_found", "interlock task list"},
		{"a place that is none", "GET", tasks + "/nowhere/watch", "", map[string]string{"Last-Event-ID": "x"}, 400, "invalid_cursor", "next_cursor"},
		{"decisions of no task", "GET", tasks + "/nowhere/decisions", "", nil, 404, "task_not_found", "interlock task list"},
		{"a cursor that is none", "GET", operators.PathAudit + "?cursor=x", "", nil, 400, "invalid_cursor", "next_cursor"},
		{"an unknown group", "GET", operators.PathUsage + "?group=colour", "", nil, 400, "invalid_request", "query.group"},
		{"a day that is none", "GET", operators.PathUsage + "?from=yesterday", "", nil, 400, "invalid_request", "query.from"},
		{"a period that ends before it starts", "GET", operators.PathUsage + "?from=2026-02-01&to=2026-01-01", "", nil, 400, "invalid_period", "ends before"},
		{"a price without a currency", "PUT", operators.PathPrices, `{"provider":"p","model":"m","currency":"","input_micro_per_million":1,"cached_input_micro_per_million":1,"cache_write_micro_per_million":1,"output_micro_per_million":1}`, nil, 400, "invalid_price", "currency"},
		{"a price that is not there", "DELETE", operators.PathPrices + "?provider=p&model=m", "", nil, 404, "price_not_found", ""},
		{"no such host", "POST", operators.PathHosts + "/nowhere/revoke", "", nil, 404, "host_not_found", "interlock host list"},
		{"a token that lives too long", "POST", operators.PathEnrolTokens, `{"lifetime_seconds":86401}`, nil, 400, "invalid_request", "body.lifetime_seconds"},
		{"no such token", "POST", operators.PathTokens + "/nowhere/revoke", "", nil, 404, "token_not_found", "interlock token list"},
		{"another method", "PATCH", tasks, "", nil, 405, "method_not_allowed", "Allow"},
		{"no such path", "GET", operators.Prefix + "/nowhere", "", nil, 404, "no_such_path", "openapi.json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var body []byte
			if c.body != "" {
				body = []byte(c.body)
			}
			res, out := w.send(c.method, c.path, body, c.headers)
			p := problemOf(t, res, out)
			if p.Status != c.status || p.Code != c.code || !strings.Contains(p.Detail, c.says) {
				t.Errorf("got %d %s %q, want %d %s with %q", p.Status, p.Code, p.Detail, c.status, c.code, c.says)
			}
			if strings.Contains(string(out), "4711") || len(out) > 2000 {
				t.Errorf("the refusal repeats what was sent: %s", out)
			}
		})
	}
}

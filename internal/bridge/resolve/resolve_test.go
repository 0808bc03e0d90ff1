package resolve_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/clocktest"
	"interlock/internal/fault"
	"interlock/internal/logtest"
	"interlock/internal/policy"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const (
	operator = "token:0011223344556677"
	acme     = tenant.ID("acme")
	example  = "Check whether ABN 51824753556 is registered."
)

// garden is an app of which each operation is special.
func garden() catalog.App {
	of := func(name string, o catalog.Operation) catalog.Operation {
		o.Name, o.Capability, o.Description = name, "test.garden."+name, "An operation of the garden."
		o.Arguments = json.RawMessage(`{"type": "object", "properties": {"plant": {"type": "string"}, "pot": {"type": "string"}}, "additionalProperties": false}`)
		o.Result = json.RawMessage(`{"type": "object"}`)
		o.Verbatim = []string{"plant"}
		return o
	}
	return catalog.App{ID: "garden", Title: "Garden", Operations: []catalog.Operation{
		of("look", catalog.Operation{Risk: policy.Low, AgentVisible: true}),
		of("water", catalog.Operation{Risk: policy.Medium, AgentVisible: true}),
		of("cut", catalog.Operation{Risk: policy.Low, Confirm: true, AgentVisible: true}),
		of("burn", catalog.Operation{Risk: policy.Low}),
	}}
}

// says is a selector that proposes what a test says.
type says func(context.Context, selector.Request) (selector.Proposal, error)

func (s says) Select(ctx context.Context, r selector.Request) (selector.Proposal, error) {
	return s(ctx, r)
}

type world struct {
	*resolve.Service
	t       testing.TB
	clock   *clocktest.Clock
	store   *sqlite.Store
	catalog *catalog.Service
	log     logtest.Log
}

// newWorld has acme, whose policy allows low risks and which has the ABN app
// and the garden enabled.
func newWorld(t testing.TB, s selector.ToolSelector) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New()}
	var err error
	w.store, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "resolve.db"), Now: w.clock.Now})
	w.must(err)
	t.Cleanup(func() { w.store.Close() })
	w.catalog, err = catalog.New(w.store, []catalog.App{abn.NewApp(abn.Sample()).Describe(), garden()}, catalog.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	w.must(err)
	_, err = w.catalog.CreateTenant(t.Context(), operator, catalog.NewTenant{ID: acme, Name: "Acme", Policy: policy.Document{MaxRisk: policy.Low}, Subscription: &catalog.Subscription{Plan: "basic"}})
	w.must(err)
	for _, app := range []catalog.AppID{abn.ID, "garden"} {
		w.must(w.catalog.Enable(t.Context(), acme, operator, app, catalog.Quota{Limit: 1, Window: catalog.Day}))
	}
	w.Service = w.over(w.store, s)
	return w
}

func (w *world) over(store resolve.Store, s selector.ToolSelector) *resolve.Service {
	w.t.Helper()
	r, err := resolve.New(store, w.catalog, s, resolve.Config{Now: w.clock.Now, Logger: w.log.Logger()})
	w.must(err)
	return r
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

var caller = site.Caller{Tenant: acme, Site: "site_0011223344556677", KID: "k1", Scopes: []string{resolve.Scope}}

func (w *world) resolve(instruction string) (resolve.Resolution, error) {
	return w.Resolve(w.t.Context(), caller, "req-1", instruction)
}

func (w *world) records() []resolve.Record {
	w.t.Helper()
	all, err := w.Resolutions(w.t.Context(), resolve.Query{Tenant: acme})
	w.must(err)
	return all
}

func (w *world) revision() string {
	w.t.Helper()
	st, err := w.catalog.Standing(w.t.Context(), acme)
	w.must(err)
	return st.Tenant.Policy.Revision
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return fault.Of(err).Code
}

// R-BRIDGE-1, R-BRIDGE-3, R-BRIDGE-4
func TestAnInstructionBecomesAProposalAndARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, selector.NewDeterministic())
	got, err := w.resolve(example)
	w.must(err)
	want := resolve.Resolution{Status: resolve.Resolved, Selector: "deterministic_v1", Capability: "business.au.abn.lookup", App: "abn_lookup",
		Operation: "lookup_v1", Arguments: json.RawMessage(`{"abn":"51824753556"}`), Risk: policy.Low}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	all := w.records()
	if len(all) != 1 || all[0].ID == "" {
		t.Fatalf("recorded %+v", all)
	}
	record := resolve.Record{ID: all[0].ID, Tenant: acme, Site: caller.Site, RequestID: "req-1", At: w.clock.Now(), Hash: sha256.Sum256([]byte(example)),
		Selector: "deterministic_v1", Capability: want.Capability, App: want.App, Operation: want.Operation, Effect: policy.Allow, Rule: "default", Revision: w.revision()}
	if !reflect.DeepEqual(all[0], record) {
		t.Errorf("recorded %+v, want %+v", all[0], record)
	}
}

// R-BRIDGE-1: each refusal stands before all that come later, and no selector
// sees what is refused.
func TestWhoMayNotAskIsRefusedInOrder(t *testing.T) {
	t.Parallel()
	type question struct {
		*world
		caller      site.Caller
		instruction string
	}
	checks := []struct {
		code   string
		breaks func(*question)
	}{
		{"tenant_suspended", func(q *question) { _, err := q.catalog.Suspend(t.Context(), acme, operator); q.must(err) }},
		{"subscription_inactive", func(q *question) { q.must(q.catalog.EndSubscription(t.Context(), acme, operator)) }},
		{"insufficient_scope", func(q *question) { q.caller.Scopes = []string{"platform:agent:invoke2", "app:abn_lookup:lookup_v1"} }},
		{"invalid_instruction", func(q *question) { q.instruction = "" }},
	}
	for i, first := range checks {
		t.Run(first.code, func(t *testing.T) {
			t.Parallel()
			asked := false
			q := &question{newWorld(t, says(func(context.Context, selector.Request) (selector.Proposal, error) {
				asked = true
				return selector.Proposal{}, nil
			})), caller, example}
			for later := len(checks) - 1; later >= i; later-- {
				checks[later].breaks(q)
			}
			got, err := q.Resolve(t.Context(), q.caller, "req-1", q.instruction)
			if code(err) != first.code || got.Status != "" || asked || len(q.records()) != 0 {
				t.Errorf("got %+v, %v; asked %v; recorded %+v", got, err, asked, q.records())
			}
		})
	}
}

func TestAnInstructionHasItsBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, selector.NewDeterministic())
	for name, c := range map[string]struct{ instruction, code string }{
		"one byte":                  {"a", ""},
		"as long as may be":         {strings.Repeat("a", selector.MaxInstruction), ""},
		"nothing":                   {"", "invalid_instruction"},
		"one byte too many":         {strings.Repeat("a", selector.MaxInstruction+1), "invalid_instruction"},
		"bytes that are no text":    {"ABN \xff 51824753556", "invalid_instruction"},
		"half of a character":       {"ABN 51824753556 \xe2\x80", "invalid_instruction"},
		"a surrogate made of bytes": {"\xed\xa0\x80", "invalid_instruction"},
	} {
		if _, err := w.resolve(c.instruction); code(err) != c.code {
			t.Errorf("%s: got %v, want %q", name, err, c.code)
		}
	}
}

// R-BRIDGE-2, R-BRIDGE-4, R-BRIDGE-7: whatever a selector says is checked.
func TestAProposalIsBelievedInNothing(t *testing.T) {
	t.Parallel()
	const instruction = "Water the rose, please"
	resolved := selector.Reason("")
	for name, c := range map[string]struct {
		proposal selector.Proposal
		want     selector.Reason
		found    bool // the record names the operation
		effect   policy.Effect
	}{
		"what it may be": {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"plant": "rose"}`)}, resolved, true, policy.Allow},
		"without the argument that must stand in the instruction": {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{}`)}, resolved, true, policy.Allow},
		"another argument may be invented":                        {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"pot": "tulip"}`)}, resolved, true, policy.Allow},
		"what a person must agree to":                             {selector.Proposal{Capability: "test.garden.cut", Arguments: json.RawMessage(`{}`)}, resolved, true, policy.Confirm},
		"nothing at all":                                          {selector.Proposal{}, selector.NoMatch, false, ""},
		"a reason":                                                {selector.Proposal{Reason: selector.ModelCapped}, selector.ModelCapped, false, ""},
		"a reason beside a call":                                  {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{}`), Reason: selector.Ambiguous}, selector.Ambiguous, false, ""},
		"a capability that there is not":                          {selector.Proposal{Capability: "test.garden.fly", Arguments: json.RawMessage(`{}`)}, selector.NotOffered, false, ""},
		"the name of a tool instead":                              {selector.Proposal{Capability: "garden__look", Arguments: json.RawMessage(`{}`)}, selector.NotOffered, false, ""},
		"an operation that selectors may not see":                 {selector.Proposal{Capability: "test.garden.burn", Arguments: json.RawMessage(`{}`)}, selector.NotOffered, false, ""},
		"an app that is not enabled":                              {selector.Proposal{Capability: abn.Capability, Arguments: json.RawMessage(`{"abn": "51824753556"}`)}, selector.NotOffered, false, ""},
		"an argument that is not declared":                        {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"soil": "dry"}`)}, selector.BadArguments, true, ""},
		"an argument twice":                                       {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"plant": "rose", "plant": "ivy"}`)}, selector.BadArguments, true, ""},
		"arguments that are no JSON":                              {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`rose`)}, selector.BadArguments, true, ""},
		"no arguments":                                            {selector.Proposal{Capability: "test.garden.look"}, selector.BadArguments, true, ""},
		"a value that the instruction does not hold":              {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"plant": "tulip"}`)}, selector.NotVerbatim, true, ""},
		"part of a word of the instruction":                       {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"plant": "ros"}`)}, selector.NotVerbatim, true, ""},
		"an empty value":                                          {selector.Proposal{Capability: "test.garden.look", Arguments: json.RawMessage(`{"plant": ""}`)}, selector.NotVerbatim, true, ""},
		"a risk beyond the policy's ceiling":                      {selector.Proposal{Capability: "test.garden.water", Arguments: json.RawMessage(`{"plant": "rose"}`)}, selector.PolicyDenied, true, policy.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.proposal.Selector = "test"
			w := newWorld(t, says(func(context.Context, selector.Request) (selector.Proposal, error) { return c.proposal, nil }))
			w.must(w.catalog.Disable(t.Context(), acme, operator, abn.ID))
			got, err := w.resolve(instruction)
			w.must(err)
			if c.want == resolved {
				if got.Status != resolve.Resolved || got.Reason != "" || got.Capability != c.proposal.Capability || got.Confirmation != (c.effect == policy.Confirm) {
					t.Errorf("got %+v", got)
				}
			} else if want := (resolve.Resolution{Status: resolve.NoMatchingTool, Reason: c.want, Selector: "test"}); !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			r := w.records()[0]
			if r.Reason != c.want || r.Effect != c.effect || (r.Capability != "") != c.found || (r.Operation != "") != c.found {
				t.Errorf("recorded %+v", r)
			}
		})
	}
}

// R-BRIDGE-2
func TestASelectorIsShownWhatItMayProposeAndNoMore(t *testing.T) {
	t.Parallel()
	var seen selector.Request
	w := newWorld(t, says(func(_ context.Context, r selector.Request) (selector.Proposal, error) {
		seen = r
		return selector.Proposal{}, nil
	}))
	w.must(w.catalog.Disable(t.Context(), acme, operator, abn.ID))
	_, err := w.resolve(example)
	w.must(err)
	var names []string
	for _, o := range seen.Offers {
		names = append(names, o.Tool().Name)
	}
	if strings.Join(names, " ") != "garden__cut garden__look garden__water" || seen.Tenant != acme || seen.Site != caller.Site || seen.Instruction != example {
		t.Errorf("it saw %v of %+v", names, seen)
	}
}

func TestAWithdrawnAppIsNotOfferedFromTheNextInstructionOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, selector.NewDeterministic())
	if got, err := w.resolve(example); err != nil || got.Status != resolve.Resolved {
		t.Fatalf("got %+v, %v", got, err)
	}
	w.must(w.catalog.Disable(t.Context(), acme, operator, abn.ID))
	if got, err := w.resolve(example); err != nil || got.Reason != selector.NotOffered {
		t.Errorf("got %+v, %v", got, err)
	}
}

var errDisk = errors.New("the disk is gone")

// deaf is a store that takes no record.
type deaf struct{ resolve.Store }

func (deaf) RecordResolution(context.Context, resolve.Record) error { return errDisk }

func TestThereIsNoAnswerWithoutARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, selector.NewDeterministic())
	w.Service = w.over(deaf{w.store}, selector.NewDeterministic())
	got, err := w.resolve(example)
	if code(err) != "log_unavailable" || !fault.Of(err).Retryable || !errors.Is(err, errDisk) || !reflect.DeepEqual(got, resolve.Resolution{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWhatFailsASelectorIsPassedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(func(context.Context, selector.Request) (selector.Proposal, error) {
		return selector.Proposal{}, errDisk
	}))
	if got, err := w.resolve(example); !errors.Is(err, errDisk) || !reflect.DeepEqual(got, resolve.Resolution{}) || len(w.records()) != 0 {
		t.Errorf("got %+v, %v; recorded %+v", got, err, w.records())
	}
}

func TestASelectorHasAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says(func(ctx context.Context, _ selector.Request) (selector.Proposal, error) {
			<-ctx.Done()
			return selector.Proposal{}, ctx.Err()
		}))
		began := time.Now()
		if _, err := w.resolve(example); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

func TestACallerThatLeavesLeavesARecord(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	w := newWorld(t, says(func(ctx context.Context, r selector.Request) (selector.Proposal, error) {
		leave()
		return selector.NewDeterministic().Select(ctx, r)
	}))
	if _, err := w.Resolve(ctx, caller, "req-1", example); err != nil || len(w.records()) != 1 {
		t.Errorf("got %v; recorded %+v", err, w.records())
	}
}

func TestWordsAreKeptOnlyForATenantThatAskedForIt(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		w := newWorld(t, selector.NewDeterministic())
		_, err := w.catalog.ChangeTenant(t.Context(), acme, operator, catalog.TenantChange{KeepInstructions: &keep})
		w.must(err)
		_, err = w.resolve(example)
		w.must(err)
		want := map[bool]string{false: "", true: example}[keep]
		if r := w.records()[0]; r.Instruction != want || r.Hash != sha256.Sum256([]byte(example)) {
			t.Errorf("kept %v: recorded %+v", keep, r)
		}
		if log := w.log.String(); strings.Contains(log, "registered") || strings.Contains(log, "51824753556") {
			t.Errorf("the log has the instruction: %s", log)
		}
	}
}

// owing is a store that can't give space back at first.
type owing struct {
	resolve.Store
	reclaims int
}

func (o *owing) Reclaim(ctx context.Context) error {
	o.reclaims++
	if o.reclaims == 1 {
		return errDisk
	}
	return o.Store.Reclaim(ctx)
}

func TestRecordsGoAfterTheirRetentionAndTheirSpaceIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, selector.NewDeterministic())
		_, err := w.resolve(example)
		w.must(err)
		w.clock.Advance(time.Hour)
		_, err = w.resolve("another one")
		w.must(err)
		store := &owing{Store: w.store}
		w.Service = w.over(store, selector.NewDeterministic())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		synctest.Wait()
		if n := len(w.records()); n != 2 || store.reclaims != 0 {
			t.Errorf("at first there are %d, and space was given back %d times", n, store.reclaims)
		}
		w.clock.Advance(30*24*time.Hour - 30*time.Minute) // the first is 30 days and half an hour old
		time.Sleep(3*time.Minute + time.Second)           // of the bubble: three more looks
		synctest.Wait()
		if all := w.records(); len(all) != 1 || all[0].Reason != selector.NoMatch || store.reclaims != 2 {
			t.Errorf("then there is %+v, and space was given back %d times", all, store.reclaims)
		}
		stop()
		w.must(<-ended)
	})
}

func TestAnythingThatPeopleWriteHasAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, selector.NewDeterministic())
	reasons := []selector.Reason{selector.NoMatch, selector.Ambiguous, selector.InvalidChecksum}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"51824753556", "51 824 753 556", "83914571673", "51824753557", " ", "-", "ABN", "\xff"})), 0, 8)
		instruction := strings.Join(parts.Draw(t, "parts"), "")
		got, err := w.resolve(instruction)
		switch {
		case err != nil:
			if code(err) != "invalid_instruction" {
				t.Fatalf("%q: %v", instruction, err)
			}
		case got.Status == resolve.Resolved:
			var arguments struct{ ABN string }
			if err := json.Unmarshal(got.Arguments, &arguments); err != nil || !selector.Stands(instruction, arguments.ABN) {
				t.Fatalf("%q: %s, %v", instruction, got.Arguments, err)
			}
		case got.Status != resolve.NoMatchingTool || !slices.Contains(reasons, got.Reason):
			t.Fatalf("%q: %+v", instruction, got)
		}
	})
}

func TestSettingsThatCanNotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]resolve.Config{
		"a negative retention": {Retention: -time.Hour},
		"a rare look":          {PruneEvery: 2 * time.Hour},
	} {
		if _, err := resolve.New(nil, nil, nil, cfg); code(err) != "invalid_settings" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

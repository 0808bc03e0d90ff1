package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"interlock/internal/audit"
	"interlock/internal/clocktest"
	"interlock/internal/cloud/fleet"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/store/sqlite"
	"interlock/internal/tenant"
)

const operator = "token:0011223344556677"

// told notes what a change of a host was passed on as.
type told struct {
	mu      sync.Mutex
	revoked []fleet.HostID
	drained []bool
}

func (w *told) HostRevoked(_ context.Context, h fleet.Host) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revoked = append(w.revoked, h.ID)
	return nil
}

func (w *told) HostDrained(_ fleet.HostID, drain bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drained = append(w.drained, drain)
}

type world struct {
	*fleet.Service
	t     *testing.T
	clock *clocktest.Clock
	store *sqlite.Store
	work  told
	log   bytes.Buffer
}

func open(t *testing.T, now func() time.Time) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleet.db"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktest.New()}
	w.store = open(t, w.clock.Now)
	var err error
	w.Service, err = fleet.New(w.store, &w.work, fleet.Config{Now: w.clock.Now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) token(n fleet.NewEnrolToken) secret.String {
	w.t.Helper()
	n.Tenant, n.By = tenant.Default, operator
	_, value, err := w.CreateEnrolToken(w.t.Context(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	return value
}

func (w *world) enroll() fleet.Issued {
	w.t.Helper()
	issued, err := w.Enroll(w.t.Context(), fleet.EnrolRequest{Token: w.token(fleet.NewEnrolToken{}), Key: "k", Name: "host-1",
		Devices: []fleet.Device{{ID: "sim", Kind: "sim"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return issued
}

func (w *world) wantRefused(what string, bearer secret.String, want error) {
	w.t.Helper()
	if h, err := w.Authenticate(w.t.Context(), bearer); !errors.Is(err, want) {
		w.t.Errorf("%s: got %q, %v; want %v", what, h.ID, err, want)
	}
}

func (w *world) wantGood(what string, bearer secret.String, want fleet.HostID) {
	w.t.Helper()
	if h, err := w.Authenticate(w.t.Context(), bearer); err != nil || h.ID != want {
		w.t.Errorf("%s: got %q, %v; want host %q", what, h.ID, err, want)
	}
}

func (w *world) facts(action string) []audit.Fact {
	w.t.Helper()
	entries, err := w.store.Facts(w.t.Context(), tenant.Default, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []audit.Fact
	for _, e := range entries {
		if e.Fact.Action == action {
			out = append(out, e.Fact)
		}
	}
	return out
}

// R-HOST-1
func TestAnEnrolmentTokenMakesOneHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(fleet.NewEnrolToken{HostName: "lab-7", Labels: map[string]string{"site": "north"}})
	r := fleet.EnrolRequest{Token: token, Key: "k1", Name: "mine", Labels: map[string]string{"site": "south", "rack": "2"}}
	first, err := w.Enroll(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if h := first.Host; h.Name != "lab-7" || h.Labels["site"] != "north" || h.Labels["rack"] != "2" || h.Tenant != tenant.Default || !h.PlannerAllowed {
		t.Errorf("the token's word does not win: %+v", h)
	}

	again, err := w.Enroll(t.Context(), r)
	if err != nil || again.Host.ID != first.Host.ID {
		t.Fatalf("a repeat whose answer was lost: %+v, %v; want host %s", again.Host, err, first.Host.ID)
	}
	w.wantRefused("the credential of the lost answer", first.Credential, fleet.ErrCredential)
	w.wantGood("the credential of the repeat", again.Credential, first.Host.ID)

	if _, err := w.Enroll(t.Context(), r); !errors.Is(err, fleet.ErrEnrolToken) {
		t.Errorf("a repeat after the credential was used: %v", err)
	}
	r.Key = "k2"
	if _, err := w.Enroll(t.Context(), r); !errors.Is(err, fleet.ErrEnrolToken) {
		t.Errorf("a second use of the token: %v", err)
	}
	if f := w.facts("enrol_token.create"); len(f) != 1 || f[0].Actor != operator {
		t.Errorf("facts of the token: %+v", f)
	}
	if f := w.facts("host.enroll"); len(f) == 0 {
		t.Error("no fact of the enrolment")
	}
}

// R-HOST-1
func TestAnEnrolmentTokenEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	enroll := func(token secret.String) error {
		_, err := w.Enroll(t.Context(), fleet.EnrolRequest{Token: token, Key: "k", Name: "h"})
		return err
	}
	late := w.token(fleet.NewEnrolToken{})
	revoked := w.token(fleet.NewEnrolToken{Life: time.Hour})
	p, err := secret.Parse(secret.EnrolToken, revoked.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.RevokeEnrolToken(t.Context(), tenant.Default, operator, p.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(15 * time.Minute)
	for name, token := range map[string]secret.String{
		"past its life":              late,
		"revoked":                    revoked,
		"never made":                 secret.Mint(secret.EnrolToken).Value,
		"of another family":          secret.Mint(secret.APIToken).Value,
		"with the id of a real one":  secret.New("ilk_enr_" + p.ID + "_" + strings.Repeat("A", 43)),
		"empty":                      {},
		"a megabyte of a stranger's": secret.New(strings.Repeat("x", 1<<20)),
	} {
		if err := enroll(token); !errors.Is(err, fleet.ErrEnrolToken) {
			t.Errorf("a token %s: got %v, want ErrEnrolToken", name, err)
		}
	}
	for name, n := range map[string]fleet.NewEnrolToken{
		"a day and a second": {Life: 24*time.Hour + time.Second},
		"negative":           {Life: -time.Second},
		"a host name":        {HostName: "a b"},
	} {
		if _, _, err := w.CreateEnrolToken(t.Context(), n); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: got %v, want Invalid", name, err)
		}
	}
}

// R-CLOUD-1
func TestOnlyTheWholeCredentialIsGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issued := w.enroll()
	w.wantGood("the credential", issued.Credential, issued.Host.ID)
	w.wantGood("the credential from memory", issued.Credential, issued.Host.ID)
	p, err := secret.Parse(secret.HostCredential, issued.Credential.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	w.wantRefused("its id with another secret", secret.New("ilk_host_"+p.ID+"_"+strings.Repeat("A", 43)), fleet.ErrCredential)
	w.wantRefused("an unknown one", secret.Mint(secret.HostCredential).Value, fleet.ErrCredential)
	w.wantRefused("none", secret.String{}, fleet.ErrCredential)
	w.clock.Advance(issued.Life)
	w.wantRefused("the credential past its life", issued.Credential, fleet.ErrCredential)
}

// R-HOST-1
func TestARevokedHostIsRefusedAtItsNextCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issued := w.enroll()
	w.wantGood("the credential, which is now remembered", issued.Credential, issued.Host.ID)
	if err := w.Revoke(t.Context(), tenant.Default, operator, issued.Host.ID); err != nil {
		t.Fatal(err)
	}
	w.wantRefused("the credential of a revoked host", issued.Credential, fleet.ErrHostRevoked)
	if !slices.Equal(w.work.revoked, []fleet.HostID{issued.Host.ID}) {
		t.Errorf("its work was told %v", w.work.revoked)
	}
	h, err := w.Host(t.Context(), tenant.Default, issued.Host.ID)
	if err != nil || w.Status(h) != fleet.Revoked {
		t.Errorf("status %v, %v", w.Status(h), err)
	}
	if err := w.Revoke(t.Context(), "other", operator, issued.Host.ID); !errors.Is(err, fleet.ErrHostNotFound) {
		t.Errorf("revoked by another tenant: %v", err)
	}
}

func (w *world) rotate(bearer secret.String, key string) fleet.Issued {
	w.t.Helper()
	issued, err := w.Rotate(w.t.Context(), bearer, key)
	if err != nil {
		w.t.Fatalf("rotate: %v", err)
	}
	return issued
}

// R-HOST-1: a held poll may still come back with the old credential.
func TestARotatedCredentialWorksOnForAMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.enroll()
	w.clock.Advance(22 * 24 * time.Hour)
	fresh := w.rotate(old.Credential, "r1")
	if fresh.Host.ID != old.Host.ID || fresh.OldValid != 10*time.Minute {
		t.Errorf("rotation gave %+v", fresh)
	}
	w.clock.Advance(5 * time.Minute)
	w.wantGood("the old one before the new one's first use", old.Credential, old.Host.ID)
	w.wantGood("the new one", fresh.Credential, old.Host.ID)
	w.clock.Advance(59 * time.Second)
	w.wantGood("the old one within a minute of that", old.Credential, old.Host.ID)
	if _, err := w.Rotate(t.Context(), old.Credential, "r2"); !errors.Is(err, fleet.ErrSuperseded) {
		t.Errorf("rotating the old one again: %v", err)
	}
	w.clock.Advance(8 * 24 * time.Hour)
	w.wantGood("the new one past the old one's life", fresh.Credential, old.Host.ID)
}

// R-HOST-1
func TestARetiredCredentialPresentedAgainRevokesTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.enroll()
	fresh := w.rotate(old.Credential, "r1")
	w.wantGood("the new one", fresh.Credential, old.Host.ID)
	w.clock.Advance(time.Minute)
	w.wantRefused("the retired one", old.Credential, fleet.ErrHostRevoked)
	w.wantRefused("the new one, whoever holds it", fresh.Credential, fleet.ErrHostRevoked)
	if f := w.facts("host.revoke"); len(f) != 1 || f[0].Actor != audit.System || f[0].Subject != string(old.Host.ID) {
		t.Errorf("facts: %+v", f)
	}
	if len(w.work.revoked) != 1 || !strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("told %v, logged %q", w.work.revoked, w.log.String())
	}
	for _, value := range []secret.String{old.Credential, fresh.Credential} {
		if strings.Contains(w.log.String(), value.Reveal()) {
			t.Error("a credential is in the log")
		}
	}
}

// R-HOST-1: a host that never got its new credential is no copy.
func TestALostRotationRetiresNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.enroll()
	lost := w.rotate(old.Credential, "r1")
	w.clock.Advance(time.Hour)
	w.wantGood("the old one, long after the overlap", old.Credential, old.Host.ID)
	fresh := w.rotate(old.Credential, "r1")
	w.wantGood("the new one", fresh.Credential, old.Host.ID)
	w.wantRefused("the one whose answer was lost", lost.Credential, fleet.ErrCredential)
}

// R-HOST-5
func TestThePlannerPermissionIsTakenAtOnceAndAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issued := w.enroll()
	w.wantGood("before", issued.Credential, issued.Host.ID)
	if err := w.SetPlanner(t.Context(), tenant.Default, operator, issued.Host.ID, false, 3); err != nil {
		t.Fatal(err)
	}
	h, err := w.Authenticate(t.Context(), issued.Credential)
	if err != nil || h.PlannerAllowed || h.DecideLimit != 3 {
		t.Errorf("got %+v, %v", h, err)
	}
	if err := w.SetPlanner(t.Context(), tenant.Default, operator, issued.Host.ID, true, fleet.MaxDecideLimit+1); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a limit beyond the bound: %v", err)
	}
	if err := w.SetDrain(t.Context(), tenant.Default, operator, issued.Host.ID, true); err != nil {
		t.Fatal(err)
	}
	if h, err := w.Authenticate(t.Context(), issued.Credential); err != nil || !h.Drain || w.Status(h) != fleet.Draining {
		t.Errorf("got %+v, %v", h, err)
	}
	if !slices.Equal(w.work.drained, []bool{true}) {
		t.Errorf("told %v", w.work.drained)
	}
	if len(w.facts("host.planner")) != 1 || len(w.facts("host.drain")) != 1 {
		t.Error("a change without its fact")
	}
}

func TestStatusFollowsWhenAHostWasSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issued := w.enroll()
	for _, c := range []struct {
		later time.Duration
		want  fleet.Status
	}{{44 * time.Second, fleet.Active}, {time.Second, fleet.Suspect}, {44 * time.Second, fleet.Suspect}, {time.Second, fleet.Lost}, {time.Hour, fleet.Lost}} {
		w.clock.Advance(c.later)
		h, err := w.Host(t.Context(), tenant.Default, issued.Host.ID)
		if err != nil || w.Status(h) != c.want {
			t.Errorf("unseen for %v: got %v, %v; want %v", w.clock.Now().Sub(h.LastSeen), w.Status(h), err, c.want)
		}
	}
	h, _ := w.Host(t.Context(), tenant.Default, issued.Host.ID)
	if err := w.Seen(h, fleet.Seen{SlotsFree: -1}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("news that can't be: %v", err)
	}
	if h, _ = w.Host(t.Context(), tenant.Default, issued.Host.ID); w.Status(h) != fleet.Active || len(h.Devices) != 1 {
		t.Errorf("a host whose news is refused is %v with %v, want it alive and as it was", w.Status(h), h.Devices)
	}
}

// writes counts the batches of heartbeats that reach a store.
type writes struct {
	fleet.Store
	mu sync.Mutex
	n  int
	of int // hosts in them
}

func (s *writes) RecordSeen(ctx context.Context, batch []fleet.Seen) error {
	s.mu.Lock()
	s.n++
	s.of += len(batch)
	s.mu.Unlock()
	return s.Store.RecordSeen(ctx, batch)
}

func TestAStopWritesEveryHeartbeatThatCame(t *testing.T) {
	t.Parallel()
	const hosts = 6_000 // more than one write holds
	counted := &writes{Store: open(t, time.Now)}
	s, err := fleet.New(counted, &told{}, fleet.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range hosts {
		if err := s.Seen(fleet.Host{ID: fleet.HostID(fmt.Sprint("h", i))}, fleet.Seen{}); err != nil {
			t.Fatal(err)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(stopped); err != nil || counted.of != hosts {
		t.Errorf("%d hosts written, %v; want %d", counted.of, err, hosts)
	}
}

// R-HOST-2
func TestHeartbeatsReachTheStoreOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := open(t, time.Now)
		counted := &writes{Store: db}
		s, err := fleet.New(counted, &told{}, fleet.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, Service: s}
		issued := w.enroll()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Run(ctx) }()
		for i := range 100 {
			if err := s.Seen(issued.Host, fleet.Seen{Devices: issued.Host.Devices, SlotsFree: i, Version: "v"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // the bubble's clock, not a wait for anything
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if counted.n < 9 || counted.n > 11 {
			t.Errorf("100 heartbeats in 10 s became %d writes, want one a second", counted.n)
		}
		h, err := db.Host(t.Context(), tenant.Default, issued.Host.ID)
		if err != nil || h.SlotsFree != 99 || h.Version != "v" {
			t.Errorf("the store has %+v, %v; want the last heartbeat", h, err)
		}
	})
}

func TestSettingsReportEveryProblem(t *testing.T) {
	t.Parallel()
	if err := (fleet.Config{}).Validate(); err != nil {
		t.Errorf("zero settings: %v", err)
	}
	bad := fleet.Config{EnrolTokenLife: 25 * time.Hour, CredentialLife: time.Minute, Overlap: time.Hour, RetireAfterUse: 2 * time.Hour,
		SuspectAfter: time.Hour, CacheFor: time.Minute}
	err := bad.Validate()
	if err == nil || strings.Count(err.Error(), "; ") != 5 {
		t.Errorf("got %v, want six problems", err)
	}
	if _, err := fleet.New(nil, nil, bad); fault.KindOf(err) != fault.Invalid {
		t.Errorf("New: %v", err)
	}
}

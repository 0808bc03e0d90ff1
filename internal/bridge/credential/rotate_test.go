package credential_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"interlock/internal/audit"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/tenant"
)

func apps(n int) (out []catalog.AppID) {
	for i := range n {
		out = append(out, catalog.AppID(fmt.Sprintf("app_%03d", i)))
	}
	return out
}

// R-BRIDGE-5
func TestARotationSealsEverythingWithTheNewKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	before, err := credential.OpenKeyset(w.keyset)
	if err != nil {
		t.Fatal(err)
	}
	const n = 120 // more than one page, over two tenants
	for _, app := range apps(n) {
		w.set(w.Service, acme, app, "acme "+string(app))
	}
	w.set(w.Service, tenant.Default, abn, "mine")
	if n, err := w.Rotate(ctx, operator); n != 0 || err != nil {
		t.Errorf("with nothing to do: %d, %v", n, err)
	}
	primary := w.addKey()
	s := w.over(w.store)
	w.wantValue(s, tenant.Default, abn, "mine")
	if done, err := s.Rotate(ctx, operator); done != n+1 || err != nil {
		t.Errorf("rotated %d, %v", done, err)
	}
	if again, err := s.Rotate(ctx, operator); again != 0 || err != nil {
		t.Errorf("again: %d, %v", again, err)
	}
	for _, app := range apps(n) {
		w.wantValue(s, acme, app, "acme "+string(app))
	}
	w.wantValue(s, tenant.Default, abn, "mine")
	list, err := s.List(ctx, acme)
	if err != nil || len(list) != n {
		t.Fatalf("%d credentials, %v", len(list), err)
	}
	for _, c := range list {
		if c.KeyID != primary || c.Revision != 1 || c.SetBy != operator {
			t.Errorf("after the rotation: %+v", c)
		}
	}
	if _, err := w.with(w.store, before).Reveal(ctx, acme, "app_007"); !errors.Is(err, credential.ErrUnreadable) || !strings.Contains(err.Error(), primary) {
		t.Errorf("with the keyset before: %v", err)
	}
	facts := w.facts(acme, "credential.rotate")
	if len(facts) != n || facts[0].Actor != operator || facts[0].Subject != "app_000" || facts[0].Detail["revision"] != "1" || facts[0].Detail["key"] != primary {
		t.Errorf("%d facts, the first %+v", len(facts), facts[0])
	}
}

// reached is a store that does something before each reseal.
type reached struct {
	credential.Store
	before func(c credential.Sealed)
}

func (r reached) ResealCredential(ctx context.Context, c credential.Sealed, keyBefore string, f audit.Fact) error {
	r.before(c)
	return r.Store.ResealCredential(ctx, c, keyBefore, f)
}

// R-BRIDGE-5: a rotation may stop anywhere and go on another day.
func TestARotationGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n, until = 30, 11
	for _, app := range apps(n) {
		w.set(w.Service, acme, app, string(app))
	}
	w.addKey()
	ctx, stop := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	tried := 0
	done, err := w.over(reached{w.store, func(credential.Sealed) {
		if tried++; tried > until {
			stop(stopped)
		}
	}}).Rotate(ctx, operator)
	if done < until || done >= n || !errors.Is(err, stopped) {
		t.Errorf("stopped after %d: %v", done, err)
	}
	rest, err := w.over(w.store).Rotate(t.Context(), operator)
	if done+rest != n || err != nil {
		t.Errorf("%d and then %d of %d, %v", done, rest, n, err)
	}
	for _, app := range apps(n) {
		w.wantValue(w.over(w.store), acme, app, string(app))
	}
}

// R-BRIDGE-5: what is set while a rotation runs stays, also by a server that
// knows the older key alone; what is deleted stays away.
func TestARotationOverwritesNoNewerCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for _, app := range apps(3) {
		w.set(w.Service, acme, app, "before")
	}
	older := w.Service
	primary := w.addKey()
	newer := w.over(w.store)
	met := map[catalog.AppID]int{}
	rotating := w.over(reached{w.store, func(c credential.Sealed) {
		met[c.App]++
		switch {
		case met[c.App] > 1:
		case c.App == "app_000":
			w.set(newer, acme, c.App, "set under the new key")
		case c.App == "app_001":
			w.set(older, acme, c.App, "set under the old key")
		default:
			if err := older.Delete(ctx, acme, operator, c.App); err != nil {
				t.Error(err)
			}
		}
	}})
	if done, err := rotating.Rotate(ctx, operator); done != 1 || err != nil {
		t.Errorf("rotated %d, %v; want the one that was set under the old key", done, err)
	}
	w.wantValue(newer, acme, "app_000", "set under the new key")
	w.wantValue(newer, acme, "app_001", "set under the old key")
	list, err := newer.List(ctx, acme)
	if err != nil || len(list) != 2 || list[0].KeyID != primary || list[1].KeyID != primary || list[0].Revision != 2 || list[1].Revision != 2 {
		t.Errorf("after the rotation: %+v, %v", list, err)
	}
}

// R-BRIDGE-5: the same without any order, many times.
func TestRotationsAndChangesAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for _, app := range apps(4) {
		w.set(w.Service, acme, app, "0")
	}
	w.addKey()
	services := []*credential.Service{w.Service, w.over(w.store)} // one keyset without the new key, one with it
	var all sync.WaitGroup
	for i, app := range apps(4) {
		all.Go(func() {
			for n := range 10 {
				w.set(services[(i+n)%2], acme, app, fmt.Sprint(n+1))
			}
		})
	}
	for range 3 {
		all.Go(func() {
			if _, err := services[1].Rotate(ctx, operator); err != nil && !errors.Is(err, credential.ErrMoved) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := services[1].Rotate(ctx, operator); err != nil {
		t.Error(err)
	}
	for _, app := range apps(4) {
		w.wantValue(services[1], acme, app, "10")
	}
}

// R-BRIDGE-5: one that can't be opened keeps no other back.
func TestARotationNamesWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	list := apps(3)
	w.set(w.Service, acme, list[0], "a")
	w.set(w.with(w.store, credential.NewKeyset(w.clock.Now())), acme, list[1], "sealed with a key that is lost")
	w.set(w.Service, acme, list[2], "c")
	w.addKey()
	s := w.over(w.store)
	done, err := s.Rotate(ctx, operator)
	if done != 2 || !errors.Is(err, credential.ErrUnreadable) || !strings.Contains(err.Error(), string(list[1])) || strings.Contains(err.Error(), string(list[2])) {
		t.Errorf("rotated %d, %v", done, err)
	}
	w.wantValue(s, acme, list[0], "a")
	w.wantValue(s, acme, list[2], "c")
}

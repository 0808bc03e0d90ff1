package storetest

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/bridge/site"
	"interlock/internal/tenant"
)

// publicKey has the form of a real one; nothing is ever verified with it.
func publicKey() *rsa.PublicKey {
	n := make([]byte, 256)
	rand.Read(n)
	n[0], n[len(n)-1] = n[0]|0x80, n[len(n)-1]|1
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537}
}

// siteKey is a key that never ends.
func (w *world) siteKey(kid string) site.Key {
	return site.Key{KID: kid, Public: publicKey(), NotBefore: w.Now(), CreatedAt: w.Now()}
}

// installed makes a site of the default tenant.
func (w *world) installed(id site.ID, keys ...site.Key) site.Site {
	w.Helper()
	c := site.Site{ID: id, Tenant: tenant.Default, Name: "shop", PerMinute: 60, Burst: 10, CreatedAt: w.Now(), Keys: keys}
	w.ok(w.CreateSite(w.ctx, c, w.fact("site.create")))
	return c
}

// siteIs wants the site to be read so.
func (w *world) siteIs(want site.Site) {
	w.Helper()
	got, err := w.Site(w.ctx, want.ID)
	w.ok(err)
	w.equal(got, want)
}

var siteCases = []testcase{
	{"a site comes back with its keys by creation, disabled ones included, also after a restart", func(w *world) {
		_, err := w.Site(w.ctx, "site_1")
		w.fails(err, site.ErrNotFound)
		bare := w.installed("site_0")
		w.siteIs(bare)
		c := w.installed("site_1", w.siteKey("z"))
		w.Advance(time.Second)
		k := w.siteKey("a")
		k.NotAfter = w.Now().Add(time.Hour)
		w.ok(w.AddKey(w.ctx, tenant.Default, c.ID, k, w.fact("site.key.add")))
		w.ok(w.DisableKey(w.ctx, tenant.Default, c.ID, "z", w.Now(), w.fact("site.key.disable")))
		c.Keys[0].DisabledAt = w.Now()
		c.Keys = append(c.Keys, k)
		w.siteIs(c)
		w.Store = w.Reopen()
		w.siteIs(c)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a site has at most two keys in use", func(w *world) {
		ended := w.siteKey("ended")
		ended.NotAfter = w.Now().Add(time.Minute)
		c := w.installed("site_1", w.siteKey("present"), ended)
		next := w.siteKey("next")
		next.NotBefore = w.Now().Add(time.Hour) // not valid yet, and in use all the same
		w.fails(w.AddKey(w.ctx, tenant.Default, c.ID, next, w.unkept("x")), site.ErrTooManyKeys)
		w.Advance(time.Minute - time.Microsecond)
		next.CreatedAt = w.Now()
		w.fails(w.AddKey(w.ctx, tenant.Default, c.ID, next, w.unkept("x")), site.ErrTooManyKeys)
		w.Advance(time.Microsecond) // the end is exclusive
		next.CreatedAt = w.Now()
		w.ok(w.AddKey(w.ctx, tenant.Default, c.ID, next, w.fact("site.key.add")))
		third := w.siteKey("third")
		w.fails(w.AddKey(w.ctx, tenant.Default, c.ID, third, w.unkept("x")), site.ErrTooManyKeys)
		w.ok(w.DisableKey(w.ctx, tenant.Default, c.ID, "present", w.Now(), w.fact("site.key.disable")))
		w.ok(w.AddKey(w.ctx, tenant.Default, c.ID, third, w.fact("site.key.add")))
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"of many keys that are added at once to a site that has one, one stays", func(w *world) {
		c := w.installed("site_1", w.siteKey("present"))
		outcomes := make(chan error, 8)
		for i := range cap(outcomes) {
			go func() {
				outcomes <- w.AddKey(w.ctx, tenant.Default, c.ID, w.siteKey(fmt.Sprint("k", i)), w.unkept("site.key.add"))
			}()
		}
		for range cap(outcomes) {
			if err := <-outcomes; err == nil {
				w.facts++
			} else {
				w.fails(err, site.ErrTooManyKeys)
			}
		}
		got, err := w.Site(w.ctx, c.ID)
		w.ok(err)
		w.is("keys", len(got.Keys), 2)
		w.is("facts", len(w.chain()), w.facts)
		w.is("added", w.facts, 2)
	}},
	{"a kid names one key of its site for good", func(w *world) {
		c := w.installed("site_1", w.siteKey("k"))
		w.installed("site_2", w.siteKey("k"))
		w.fails(w.AddKey(w.ctx, tenant.Default, c.ID, w.siteKey("k"), w.unkept("x")), site.ErrKeyExists)
		w.ok(w.DisableKey(w.ctx, tenant.Default, c.ID, "k", w.Now(), w.fact("site.key.disable")))
		w.fails(w.AddKey(w.ctx, tenant.Default, c.ID, w.siteKey("k"), w.unkept("x")), site.ErrKeyExists)
		c.Keys[0].DisabledAt = w.Now()
		w.Advance(time.Second)
		w.ok(w.DisableKey(w.ctx, tenant.Default, c.ID, "k", w.Now(), w.unkept("it is withdrawn already")))
		w.siteIs(c)
		w.fails(w.DisableKey(w.ctx, tenant.Default, c.ID, "another", w.Now(), w.unkept("x")), site.ErrKeyNotFound)
		w.fails(w.DisableKey(w.ctx, tenant.Default, "site_3", "k", w.Now(), w.unkept("x")), site.ErrKeyNotFound)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a site is remembered with its last keys, and never forgets one in use", func(w *world) {
		c := w.installed("site_1", w.siteKey("present"))
		for i := range site.MaxKeys + 5 {
			w.Advance(time.Second)
			k := w.siteKey(fmt.Sprint("k", i))
			w.ok(w.AddKey(w.ctx, tenant.Default, c.ID, k, w.fact("site.key.add")))
			w.ok(w.DisableKey(w.ctx, tenant.Default, c.ID, k.KID, w.Now(), w.fact("site.key.disable")))
			k.DisabledAt = w.Now()
			c.Keys = append(c.Keys, k)
		}
		c.Keys = append(c.Keys[:1], c.Keys[len(c.Keys)-site.MaxKeys+1:]...)
		w.siteIs(c)
		w.ok(w.AddKey(w.ctx, tenant.Default, c.ID, w.siteKey("k0"), w.fact("site.key.add"))) // forgotten, so its id is free
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a change sets what it names and leaves the rest", func(w *world) {
		c := w.installed("site_1", w.siteKey("k"))
		name, perMinute, burst, at, none := "renamed", 7, 3, w.Now(), time.Time{}
		for _, change := range []struct {
			site.Change
			want func(*site.Site)
		}{
			{site.Change{Name: &name}, func(c *site.Site) { c.Name = name }},
			{site.Change{PerMinute: &perMinute, Burst: &burst}, func(c *site.Site) { c.PerMinute, c.Burst = 7, 3 }},
			{site.Change{DisabledAt: &at}, func(c *site.Site) { c.DisabledAt = at }},
			{site.Change{}, func(*site.Site) {}},
			{site.Change{DisabledAt: &none}, func(c *site.Site) { c.DisabledAt = none }},
		} {
			change.want(&c)
			got, err := w.ChangeSite(w.ctx, tenant.Default, c.ID, change.Change, w.fact("site.change"))
			w.ok(err)
			w.equal(got, c)
			w.siteIs(c)
		}
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"to another tenant a site is not there", func(w *world) { // R-BRIDGE-5
		other := w.another()
		c := w.installed("site_1", w.siteKey("k"))
		name := "theirs"
		_, err := w.ChangeSite(w.ctx, other, c.ID, site.Change{Name: &name}, w.unkept("x"))
		w.fails(err, site.ErrNotFound)
		w.fails(w.AddKey(w.ctx, other, c.ID, w.siteKey("theirs"), w.unkept("x")), site.ErrNotFound)
		w.fails(w.DisableKey(w.ctx, other, c.ID, "k", w.Now(), w.unkept("x")), site.ErrKeyNotFound)
		all, err := w.Sites(w.ctx, other, "", 10)
		w.ok(err)
		w.is("their sites", len(all), 0)
		w.siteIs(c)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"sites are listed by id with their keys, page by page", func(w *world) {
		var want []site.Site
		for i := range 5 {
			want = append(want, w.installed(site.ID(fmt.Sprint("site_", i)), w.siteKey("a"), w.siteKey("b"))) // two rows a site
		}
		want = append(want, w.installed("site_9"))
		var got []site.Site
		for after := site.ID(""); ; after = got[len(got)-1].ID {
			page, err := w.Sites(w.ctx, tenant.Default, after, 4)
			w.ok(err)
			got = append(got, page...)
			if len(page) < 4 {
				break
			}
		}
		w.equal(got, want)
	}},
}

// spent presents a token and reports whether it was the first time.
func (w *world) spent(of site.ID, jti string, expires time.Time) bool {
	w.Helper()
	fresh, err := w.SpendToken(w.ctx, of, jti, expires)
	w.ok(err)
	return fresh
}

var tokenCases = []testcase{
	{"a token is spent once, however many present it at the same time", func(w *world) { // R-BRIDGE-1
		var fresh atomic.Int64
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				first, err := w.SpendToken(w.ctx, "site_1", "jti", w.Now().Add(time.Minute))
				if err != nil {
					w.Errorf("spend: %v", err)
				}
				if first {
					fresh.Add(1)
				}
			})
		}
		all.Wait()
		w.is("times that it was fresh", fresh.Load(), int64(1))
		w.is("the same id of another site", w.spent("site_2", "jti", w.Now()), true)
		w.is("another id of the site", w.spent("site_1", "JTI", w.Now()), true)
	}},
	{"a spent token stays spent after a restart", func(w *world) { // R-BRIDGE-1
		w.spent("site_1", "jti", w.Now().Add(time.Minute))
		w.Store = w.Reopen()
		w.is("fresh", w.spent("site_1", "jti", w.Now().Add(time.Minute)), false)
	}},
	{"a spent token is forgotten once it has expired, and not before", func(w *world) {
		for i := range 5 {
			w.spent("site_1", fmt.Sprint(i), w.Now().Add(time.Duration(i)*time.Second))
		}
		at := w.Now().Add(3 * time.Second)
		for _, want := range []int{2, 1, 0} { // those of 0, 1 and 2 seconds
			n, err := w.ForgetTokens(w.ctx, at, 2)
			w.ok(err)
			w.is("forgotten", n, want)
		}
		for i := range 5 {
			w.is(fmt.Sprint("fresh again: ", i), w.spent("site_1", fmt.Sprint(i), at), i < 3)
		}
	}},
}

package storetest

import (
	"fmt"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/tenant"
)

// sealed is the given revision of a secret of the tenant, as it lies at rest.
func (w *world) sealed(of tenant.ID, app catalog.AppID, revision int64) credential.Sealed {
	return credential.Sealed{Tenant: of, App: app, Revision: revision, KeyID: "key-1", Nonce: []byte("twelve bytes"),
		Ciphertext: fmt.Appendf(nil, "\x00\xffsealed %d of %s", revision, app), SetBy: "token:x", SetAt: w.Now()}
}

func (w *world) put(c credential.Sealed) credential.Sealed {
	w.Helper()
	f := w.unkeptFor(c.Tenant)
	if c.Tenant == tenant.Default {
		w.facts++
	}
	w.ok(w.PutCredential(w.ctx, c, f))
	return c
}

// sealedIs wants the credential to be read so.
func (w *world) sealedIs(want credential.Sealed) {
	w.Helper()
	got, err := w.SealedCredential(w.ctx, want.Tenant, want.App)
	w.ok(err)
	w.equal(got, want)
}

func (w *world) latestIs(app catalog.AppID, want int64) {
	w.Helper()
	got, err := w.LatestRevision(w.ctx, tenant.Default, app)
	w.ok(err)
	w.is("latest revision", got, want)
}

var sealedCases = []testcase{
	{"a credential comes back byte for byte, and each that replaces it has the next revision", func(w *world) {
		_, err := w.SealedCredential(w.ctx, tenant.Default, "a")
		w.fails(err, credential.ErrNotFound)
		w.latestIs("a", 0)
		w.fails(w.PutCredential(w.ctx, w.sealed(tenant.Default, "a", 2), w.unkept("x")), credential.ErrMoved)
		for revision := int64(1); revision <= 3; revision++ {
			c := w.put(w.sealed(tenant.Default, "a", revision))
			w.sealedIs(c)
			w.latestIs("a", revision)
			w.fails(w.PutCredential(w.ctx, c, w.unkept("x")), credential.ErrMoved)
			w.Advance(time.Second)
		}
		w.fails(w.PutCredential(w.ctx, w.sealed(tenant.Default, "a", 1), w.unkept("x")), credential.ErrMoved)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"of two that replace a credential at once one does", func(w *world) {
		w.put(w.sealed(tenant.Default, "a", 1))
		outcomes := make(chan error, 8)
		for range cap(outcomes) {
			go func() {
				outcomes <- w.PutCredential(w.ctx, w.sealed(tenant.Default, "a", 2), w.unkept("credential.set"))
			}()
		}
		for range cap(outcomes) {
			if err := <-outcomes; err == nil {
				w.facts++
			} else {
				w.fails(err, credential.ErrMoved)
			}
		}
		w.is("facts", len(w.chain()), w.facts)
		w.is("stored", w.facts, 2)
	}},
	{"a deleted credential is gone and its revision is never used again", func(w *world) {
		w.fails(w.DeleteCredential(w.ctx, tenant.Default, "a", w.unkept("x")), credential.ErrNotFound)
		w.put(w.sealed(tenant.Default, "a", 1))
		w.ok(w.DeleteCredential(w.ctx, tenant.Default, "a", w.fact("credential.delete")))
		_, err := w.SealedCredential(w.ctx, tenant.Default, "a")
		w.fails(err, credential.ErrNotFound)
		w.fails(w.DeleteCredential(w.ctx, tenant.Default, "a", w.unkept("x")), credential.ErrNotFound)
		w.fails(w.PutCredential(w.ctx, w.sealed(tenant.Default, "a", 1), w.unkept("x")), credential.ErrMoved)
		w.fails(w.ResealCredential(w.ctx, w.sealed(tenant.Default, "a", 1), "key-1", w.unkept("x")), credential.ErrMoved)
		w.Store = w.Reopen()
		w.latestIs("a", 1)
		w.sealedIs(w.put(w.sealed(tenant.Default, "a", 2)))
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a credential is sealed anew only if it is still the one that was read", func(w *world) {
		c := w.put(w.sealed(tenant.Default, "a", 1))
		anew := c
		anew.KeyID, anew.Nonce, anew.Ciphertext = "key-2", []byte("another once"), []byte("sealed anew")
		w.fails(w.ResealCredential(w.ctx, anew, "key-0", w.unkept("x")), credential.ErrMoved)
		later := anew
		later.Revision = 2
		w.fails(w.ResealCredential(w.ctx, later, "key-1", w.unkept("x")), credential.ErrMoved)
		w.Advance(time.Second)
		w.ok(w.ResealCredential(w.ctx, anew, "key-1", w.fact("credential.reseal")))
		w.sealedIs(anew) // set by whom and when it was
		w.fails(w.ResealCredential(w.ctx, anew, "key-1", w.unkept("x")), credential.ErrMoved)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"credentials are of one tenant and app, and are listed over all, page by page", func(w *world) { // R-BRIDGE-5
		other := w.another()
		var want []credential.Sealed
		for _, of := range []tenant.ID{other, tenant.Default} {
			for _, app := range []catalog.AppID{"a", "b", "c"} {
				want = append(want, w.put(w.sealed(of, app, 1)))
			}
		}
		w.fails(w.DeleteCredential(w.ctx, other, "d", w.unkept("x")), credential.ErrNotFound)
		w.ok(w.DeleteCredential(w.ctx, other, "b", w.unkeptFor(other)))
		w.sealedIs(want[4]) // b of the default tenant
		want = append(want[:1], want[2:]...)
		var got []credential.Sealed
		for last := (credential.Sealed{}); ; last = got[len(got)-1] {
			page, err := w.SealedCredentials(w.ctx, last.Tenant, last.App, 2)
			w.ok(err)
			got = append(got, page...)
			if len(page) < 2 {
				break
			}
		}
		w.equal(got, want)
	}},
}

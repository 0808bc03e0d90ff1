package storetest

import (
	"slices"
	"sync"
	"time"

	"interlock/internal/access"
	"interlock/internal/audit"
	"interlock/internal/cloud/task"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

func (w *world) unkeptFor(t tenant.ID) audit.Fact {
	f := w.unkept("it")
	f.Tenant = t
	return f
}

func (w *world) apiToken(name string) access.Token {
	m := secret.Mint(secret.APIToken)
	return access.Token{ID: m.ID, Tenant: tenant.Default, Name: name, Hash: m.Hash, CreatedAt: w.Now()}
}

var auditCases = []testcase{
	{"the first token is made once, also when it was revoked since", func(w *world) {
		first := w.apiToken("first")
		made, err := w.CreateFirst(w.ctx, first, w.fact("token.create"))
		w.ok(err)
		w.is("made", made, true)
		w.ok(w.CreateToken(w.ctx, w.apiToken("next"), w.fact("token.create")))
		w.ok(w.RevokeToken(w.ctx, tenant.Default, first.ID, w.Now(), w.fact("token.revoke")))
		made, err = w.CreateFirst(w.ctx, w.apiToken("second"), w.unkept("token.create"))
		w.ok(err)
		w.is("made again", made, false)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a token comes back as it was made, until it is revoked", func(w *world) {
		a := w.apiToken("a")
		w.ok(w.CreateToken(w.ctx, a, w.fact("token.create")))
		got, err := w.Token(w.ctx, a.ID)
		w.ok(err)
		w.equal(got, a)
		w.Advance(time.Second)
		b := w.apiToken("b")
		w.ok(w.CreateToken(w.ctx, b, w.fact("token.create")))
		w.fails(w.RevokeToken(w.ctx, "another", a.ID, w.Now(), w.unkept("token.revoke")), access.ErrNotFound)
		w.ok(w.RevokeToken(w.ctx, tenant.Default, a.ID, w.Now(), w.fact("token.revoke")))
		w.fails(w.RevokeToken(w.ctx, tenant.Default, a.ID, w.Now(), w.unkept("token.revoke")), access.ErrNotFound)
		a.RevokedAt = w.Now()
		all, err := w.Tokens(w.ctx, tenant.Default)
		w.ok(err)
		w.equal(all, []access.Token{b, a})
		_, err = w.Token(w.ctx, "0123456789abcdef")
		w.fails(err, access.ErrNotFound)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"the last live token of whoever runs the installation stays, however many are revoked at once, and no other tenant's does", func(w *world) { // R-GOV-4
		foreign := w.apiToken("another tenant's")
		foreign.Tenant = "another"
		w.ok(w.CreateToken(w.ctx, foreign, w.unkeptFor("another")))
		var tokens []access.Token
		for range 8 {
			tokens = append(tokens, w.apiToken("one of many"))
			w.ok(w.CreateToken(w.ctx, tokens[len(tokens)-1], w.fact("token.create")))
		}
		outcomes := make(chan error, len(tokens))
		for _, k := range tokens {
			go func() {
				outcomes <- w.RevokeToken(w.ctx, tenant.Default, k.ID, w.Now(), w.unkept("token.revoke"))
			}()
		}
		kept := 0
		for range tokens {
			if err := <-outcomes; err == nil {
				w.facts++
			} else {
				w.fails(err, access.ErrLast)
				kept++
			}
		}
		w.is("refused as the last", kept, 1)
		all, err := w.Tokens(w.ctx, tenant.Default)
		w.ok(err)
		live := slices.DeleteFunc(all, func(k access.Token) bool { return !k.RevokedAt.IsZero() })
		w.is("live", len(live), 1)
		w.fails(w.RevokeToken(w.ctx, tenant.Default, live[0].ID, w.Now(), w.unkept("token.revoke")), access.ErrLast)
		w.ok(w.RevokeToken(w.ctx, "another", foreign.ID, w.Now(), w.unkeptFor("another")))
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"facts committed at the same time form one chain a tenant", func(w *world) { // R-GOV-0, R-GOV-4
		var wg sync.WaitGroup
		for i := range 40 {
			t := []tenant.ID{tenant.Default, "another"}[i%2]
			wg.Go(func() {
				a := w.apiToken("x")
				a.Tenant = t
				f := audit.Fact{At: w.Now(), Actor: audit.System, Action: "token.create", Subject: a.ID, Detail: map[string]string{"name": "x\xff", "empty": ""}}
				if err := w.CreateToken(w.ctx, a, f); err != nil {
					w.Errorf("create: %v", err)
				}
			})
		}
		wg.Wait()
		for _, t := range []tenant.ID{tenant.Default, "another"} {
			all, err := w.Facts(w.ctx, t, 0, 100)
			w.ok(err)
			w.is("facts", len(all), 20)
			w.ok(audit.Verify(0, [32]byte{}, all))
			rest, err := w.Facts(w.ctx, t, 7, 5)
			w.ok(err)
			w.equal(rest, all[7:12])
			w.ok(audit.Verify(7, all[6].Hash, rest))
		}
	}},
	{"a refused change leaves no fact and breaks no chain", func(w *world) {
		w.ok(w.CreateToken(w.ctx, w.apiToken("a"), w.fact("token.create")))
		var wg sync.WaitGroup
		for i := range 30 {
			refused := i%3 == 0
			var f audit.Fact
			if refused {
				f = w.unkept("task.cancel")
			} else {
				f = w.fact("token.create")
			}
			wg.Go(func() {
				if refused {
					if _, err := w.Cancel(w.ctx, timing, tenant.Default, newID(), "", f); err == nil {
						w.Error("cancelled what is not there")
					}
					return
				}
				if err := w.CreateToken(w.ctx, w.apiToken("b"), f); err != nil {
					w.Errorf("create: %v", err)
				}
			})
		}
		wg.Wait()
		// A row that is there already fails after the batch has begun to write.
		twice := w.apiToken("twice")
		w.ok(w.CreateToken(w.ctx, twice, w.fact("token.create")))
		w.is("the same id again fails", w.CreateToken(w.ctx, twice, w.unkept("token.create")) != nil, true)
		w.is("facts", len(w.chain()), w.facts)
	}},
}

var restartCases = []testcase{
	{"everything is there after a restart, and held tasks are still held", func(w *world) { // kill and resume with the same attempt
		k, f := w.running("h", "p")
		w.decide(f, "a")
		queued := w.submit()
		w.ok(w.CreateToken(w.ctx, w.apiToken("a"), w.fact("token.create")))
		before := w.log(k.ID)
		w.Store = w.Reopen()
		w.equal(w.log(k.ID), before)
		w.equal(w.read(queued.ID), queued)
		got, err := w.Renew(w.ctx, timing, []task.Fence{f})
		w.ok(err)
		w.equal(got, []task.Renewal{{Fence: f}})
		w.is("replayed step", w.decide(f, "a"), 0)
		w.is("next step", w.decide(f, "b"), 1)
		w.gapless(w.log(k.ID))
		w.ok(w.CreateToken(w.ctx, w.apiToken("b"), w.fact("token.create")))
		w.is("facts", len(w.chain()), w.facts)
		w.finish(f, task.Succeeded, "succeeded")
	}},
	{"a device that was in its grace is not given early after a restart", func(w *world) {
		w.running("h", "p", func(s *task.Spec) { s.MaxAttempts = 1 })
		w.Advance(timing.Lease + time.Second)
		w.reap()
		w.submit()
		w.Store = w.Reopen()
		_, ok := w.claim("h", "p")
		w.is("claimed in the grace", ok, false)
		w.Advance(timing.DeviceGrace)
		_, ok = w.claim("h", "p")
		w.is("claimed after it", ok, true)
	}},
}

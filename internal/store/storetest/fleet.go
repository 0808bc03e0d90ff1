package storetest

import (
	"sync"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/fleet"
	"interlock/internal/secret"
	"interlock/internal/tenant"
)

// token makes an enrolment token that is good for 15 minutes.
func (w *world) token() fleet.EnrolToken {
	w.Helper()
	m := secret.Mint(secret.EnrolToken)
	e := fleet.EnrolToken{ID: m.ID, Tenant: tenant.Default, Hash: m.Hash, HostName: "till-3", Labels: map[string]string{"site": "north"},
		CreatedAt: w.Now(), ExpiresAt: w.Now().Add(15 * time.Minute)}
	w.ok(w.CreateEnrolToken(w.ctx, e, w.fact("enrol_token.create")))
	return e
}

func (w *world) credential(host fleet.HostID, key string) fleet.Credential {
	m := secret.Mint(secret.HostCredential)
	return fleet.Credential{ID: m.ID, Host: host, Hash: m.Hash, CreatedAt: w.Now(), ExpiresAt: w.Now().Add(30 * 24 * time.Hour), RotationKey: key}
}

// enrolment uses e with a fresh host and credential.
func (w *world) enrolment(e fleet.EnrolToken, key string) fleet.Enrolment {
	h := fleet.Host{ID: fleet.HostID(newID()), Name: "its own name", Labels: map[string]string{"site": "south", "os": "linux"},
		Devices: []fleet.Device{phone("p1")}, Version: "1", SlotsFree: 1, EnrolledAt: w.Now(), LastSeen: w.Now(), PlannerAllowed: true}
	return fleet.Enrolment{TokenID: e.ID, TokenHash: e.Hash, Key: key, Host: h, Credential: w.credential(h.ID, key), At: w.Now()}
}

// enrolled is a host with its first credential.
func (w *world) enrolled() (fleet.Host, fleet.Credential) {
	w.Helper()
	e := w.enrolment(w.token(), "first")
	h, err := w.Enroll(w.ctx, e, w.fact("host.enroll"))
	w.ok(err)
	return h, e.Credential
}

var fleetCases = []testcase{
	{"an enrolment token makes one host, with its name and labels winning", func(w *world) { // R-HOST-1
		token := w.token()
		e := w.enrolment(token, "k")
		fact := w.fact("host.enroll")
		fact.Tenant = "" // the token says whose it is
		h, err := w.Enroll(w.ctx, e, fact)
		w.ok(err)
		want := e.Host
		want.Tenant, want.Name, want.Labels = tenant.Default, "till-3", map[string]string{"site": "north", "os": "linux"}
		w.equal(h, want)
		c, again, err := w.Credential(w.ctx, e.Credential.ID)
		w.ok(err)
		w.equal(c, e.Credential)
		w.equal(again, want)
		_, err = w.Enroll(w.ctx, w.enrolment(token, "other key"), w.unkept("host.enroll"))
		w.fails(err, fleet.ErrEnrolToken)
		used, err := w.EnrolTokens(w.ctx, tenant.Default)
		w.ok(err)
		w.is("used by", used[0].UsedBy, h.ID)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"of many callers with one enrolment token one becomes a host", func(w *world) { // R-HOST-1
		token := w.token()
		w.fact("host.enroll")
		var won, lost sync.Map
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				key := string(newID())
				if h, err := w.Enroll(w.ctx, w.enrolment(token, key), w.unkept("host.enroll")); err == nil {
					won.Store(h.ID, true)
				} else {
					lost.Store(key, err)
				}
			})
		}
		wg.Wait()
		hosts, err := w.Hosts(w.ctx, tenant.Default)
		w.ok(err)
		w.is("hosts", len(hosts), 1)
		lost.Range(func(_, err any) bool { w.fails(err.(error), fleet.ErrEnrolToken); return true })
		_, ok := won.Load(hosts[0].ID)
		w.is("the host that is there is the one that was answered", ok, true)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a host whose enrolment was answered into the void enrolls again with the same key", func(w *world) {
		token := w.token()
		first := w.enrolment(token, "k")
		h, err := w.Enroll(w.ctx, first, w.fact("host.enroll"))
		w.ok(err)
		second := w.enrolment(token, "k")
		again, err := w.Enroll(w.ctx, second, w.unkept("host.enroll"))
		w.ok(err)
		w.is("host", again.ID, h.ID)
		_, _, err = w.Credential(w.ctx, first.Credential.ID)
		w.fails(err, fleet.ErrCredential)
		c, _, err := w.Credential(w.ctx, second.Credential.ID)
		w.ok(err)
		w.is("its host", c.Host, h.ID)
		w.ok(w.MarkUsed(w.ctx, c.ID, w.Now(), w.Now()))
		_, err = w.Enroll(w.ctx, w.enrolment(token, "k"), w.unkept("host.enroll"))
		w.fails(err, fleet.ErrEnrolToken) // it was presented, so the answer had come
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a token that is unknown, wrong, revoked or past its time is refused", func(w *world) {
		good := w.token()
		unknown, wrong := good, good
		unknown.ID = "0123456789abcdef"
		wrong.Hash[0] ^= 1
		revoked := w.token()
		w.ok(w.RevokeEnrolToken(w.ctx, tenant.Default, revoked.ID, w.Now(), w.fact("enrol_token.revoke")))
		w.fails(w.RevokeEnrolToken(w.ctx, tenant.Default, revoked.ID, w.Now(), w.unkept("again")), fleet.ErrNoEnrolToken)
		w.fails(w.RevokeEnrolToken(w.ctx, "another", good.ID, w.Now(), w.unkept("not theirs")), fleet.ErrNoEnrolToken)
		for _, e := range []fleet.EnrolToken{unknown, wrong, revoked} {
			_, err := w.Enroll(w.ctx, w.enrolment(e, "k"), w.unkept("host.enroll"))
			w.fails(err, fleet.ErrEnrolToken)
		}
		late := w.enrolment(good, "k")
		late.At = good.ExpiresAt
		_, err := w.Enroll(w.ctx, late, w.unkept("host.enroll"))
		w.fails(err, fleet.ErrEnrolToken)
		late.At = good.ExpiresAt.Add(-time.Microsecond)
		_, err = w.Enroll(w.ctx, late, w.fact("host.enroll"))
		w.ok(err)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"tokens that nobody can use are deleted when they are old, a few at a time", func(w *world) {
		used, revoked, expired := w.token(), w.token(), w.token()
		h, err := w.Enroll(w.ctx, w.enrolment(used, "k"), w.fact("host.enroll"))
		w.ok(err)
		w.ok(w.RevokeEnrolToken(w.ctx, tenant.Default, revoked.ID, w.Now(), w.fact("enrol_token.revoke")))
		w.Advance(time.Minute)
		live := w.token()
		for _, step := range []struct {
			before time.Time
			gone   int
		}{{expired.ExpiresAt, 0}, {expired.ExpiresAt.Add(time.Microsecond), 2}, {live.ExpiresAt, 1}, {live.ExpiresAt, 0}} {
			n, err := w.DeleteEnrolTokens(w.ctx, step.before, 2)
			w.ok(err)
			w.is("deleted", n, step.gone)
		}
		left, err := w.EnrolTokens(w.ctx, tenant.Default)
		w.ok(err)
		w.is("left", len(left) == 1 && left[0].ID == live.ID, true)
		_, err = w.Host(w.ctx, tenant.Default, h.ID)
		w.ok(err)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a rotation whose answer was lost can be repeated until the successor is used", func(w *world) { // R-HOST-1
		h, old := w.enrolled()
		retire := w.Now().Add(10 * time.Minute)
		lost := w.credential(h.ID, "r1")
		w.ok(w.Rotate(w.ctx, fleet.Rotation{Host: h.ID, Old: old.ID, New: lost, RetireAt: retire}))
		next := w.credential(h.ID, "r2")
		w.ok(w.Rotate(w.ctx, fleet.Rotation{Host: h.ID, Old: old.ID, New: next, RetireAt: retire}))
		_, _, err := w.Credential(w.ctx, lost.ID)
		w.fails(err, fleet.ErrCredential)
		c, _, err := w.Credential(w.ctx, old.ID)
		w.ok(err)
		w.is("successor", c.Successor, next.ID)
		w.equal(c.RetiresAt, retire)
		w.ok(w.MarkUsed(w.ctx, next.ID, w.Now(), w.Now().Add(time.Minute)))
		w.fails(w.Rotate(w.ctx, fleet.Rotation{Host: h.ID, Old: old.ID, New: w.credential(h.ID, "r3"), RetireAt: retire}), fleet.ErrSuperseded)
	}},
	{"the first use of a successor brings the old one's end forward and never back", func(w *world) {
		h, old := w.enrolled()
		next := w.credential(h.ID, "r")
		w.ok(w.Rotate(w.ctx, fleet.Rotation{Host: h.ID, Old: old.ID, New: next, RetireAt: w.Now().Add(10 * time.Minute)}))
		used := w.Now()
		w.ok(w.MarkUsed(w.ctx, next.ID, used, used.Add(time.Minute)))
		w.ok(w.MarkUsed(w.ctx, next.ID, used.Add(time.Hour), used.Add(time.Hour)))
		c, _, err := w.Credential(w.ctx, old.ID)
		w.ok(err)
		w.equal(c.RetiresAt, used.Add(time.Minute))
		n, _, err := w.Credential(w.ctx, next.ID)
		w.ok(err)
		w.equal(n.FirstUsed, used)
		w.fails(w.MarkUsed(w.ctx, "0123456789abcdef", used, used), fleet.ErrCredential)
	}},
	{"only the host that holds a credential rotates it", func(w *world) {
		_, old := w.enrolled()
		other, _ := w.enrolled()
		w.fails(w.Rotate(w.ctx, fleet.Rotation{Host: other.ID, Old: old.ID, New: w.credential(other.ID, "r"), RetireAt: w.Now()}), fleet.ErrCredential)
		w.fails(w.Rotate(w.ctx, fleet.Rotation{Host: other.ID, Old: "0123456789abcdef", New: w.credential(other.ID, "r"), RetireAt: w.Now()}), fleet.ErrCredential)
	}},
	{"a retired credential can be told from an unknown one until it is deleted", func(w *world) { // clone detection
		h, old := w.enrolled()
		next := w.credential(h.ID, "r")
		retire := w.Now().Add(time.Minute)
		w.ok(w.Rotate(w.ctx, fleet.Rotation{Host: h.ID, Old: old.ID, New: next, RetireAt: retire}))
		for _, step := range []struct {
			before time.Time
			gone   int
		}{{retire, 0}, {retire.Add(time.Microsecond), 1}, {retire.Add(time.Hour), 0}, {next.ExpiresAt.Add(time.Microsecond), 1}} {
			n, err := w.DeleteCredentials(w.ctx, step.before)
			w.ok(err)
			w.is("deleted", n, step.gone)
		}
		_, _, err := w.Credential(w.ctx, old.ID)
		w.fails(err, fleet.ErrCredential)
	}},
	{"heartbeats are taken in any order and the latest news stays", func(w *world) { // R-HOST-2
		h, _ := w.enrolled()
		other, _ := w.enrolled()
		news := fleet.Seen{Host: h.ID, At: w.Now().Add(2 * time.Second), Devices: []fleet.Device{phone("p1"), phone("p2")}, SlotsFree: 4, Draining: true, Version: "2"}
		w.ok(w.RecordSeen(w.ctx, []fleet.Seen{news, {Host: h.ID, At: w.Now().Add(time.Second)}, {Host: "nobody", At: w.Now()}}))
		got, err := w.Host(w.ctx, tenant.Default, h.ID)
		w.ok(err)
		h.Devices, h.SlotsFree, h.Draining, h.Version, h.LastSeen = news.Devices, 4, true, "2", news.At
		w.equal(got, h)
		got, err = w.Host(w.ctx, tenant.Default, other.ID)
		w.ok(err)
		w.equal(got, other)
	}},
	{"an operator's change of a host is kept with its fact, and only for a host of the tenant", func(w *world) { // R-HOST-5, R-GOV-0
		h, _ := w.enrolled()
		at := w.Now().Add(time.Minute)
		w.ok(w.SetPlanner(w.ctx, tenant.Default, h.ID, false, 3, w.fact("host.planner")))
		w.ok(w.SetDrain(w.ctx, tenant.Default, h.ID, true, w.fact("host.drain")))
		w.ok(w.RevokeHost(w.ctx, tenant.Default, h.ID, at, w.fact("host.revoke")))
		w.ok(w.RevokeHost(w.ctx, tenant.Default, h.ID, at.Add(time.Hour), w.unkept("again")))
		w.fails(w.SetPlanner(w.ctx, tenant.Default, h.ID, true, 0, w.unkept("host.planner")), fleet.ErrHostGone)
		w.fails(w.SetDrain(w.ctx, tenant.Default, h.ID, false, w.unkept("host.drain")), fleet.ErrHostGone)
		got, err := w.Host(w.ctx, tenant.Default, h.ID)
		w.ok(err)
		h.PlannerAllowed, h.DecideLimit, h.Drain, h.RevokedAt = false, 3, true, at
		w.equal(got, h)
		f := audit.Fact{Tenant: "another", At: at, Action: "x"}
		w.fails(w.SetPlanner(w.ctx, "another", h.ID, true, 0, f), fleet.ErrHostNotFound)
		w.fails(w.SetDrain(w.ctx, "another", h.ID, true, f), fleet.ErrHostNotFound)
		w.fails(w.RevokeHost(w.ctx, "another", h.ID, at, f), fleet.ErrHostNotFound)
		_, err = w.Host(w.ctx, "another", h.ID)
		w.fails(err, fleet.ErrHostNotFound)
		w.is("facts", len(w.chain()), w.facts)
		others, err := w.Facts(w.ctx, "another", 0, 10)
		w.ok(err)
		w.is("facts of a refused change", len(others), 0)
	}},
}

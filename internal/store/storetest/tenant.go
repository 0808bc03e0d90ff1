package storetest

import (
	"fmt"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/site"
	"interlock/internal/policy"
	"interlock/internal/tenant"
)

// customer is a tenant with every field set.
func (w *world) customer(id tenant.ID) catalog.Tenant {
	return catalog.Tenant{ID: id, Name: "Customer " + string(id), KeepInstructions: true, CreatedAt: w.Now(), SuspendedAt: w.Now().Add(time.Second),
		Policy: policy.Document{Revision: "r1", MaxRisk: policy.Medium, AllowedTools: []string{"a__b"}, AllowedPackages: []string{"p"}}}
}

// another makes the tenant that others are kept apart from.
func (w *world) another() tenant.ID {
	w.Helper()
	w.ok(w.CreateTenant(w.ctx, catalog.Tenant{ID: "another", CreatedAt: w.Now()}, catalog.Subscription{}, w.unkeptFor("another")))
	return "another"
}

func (w *world) standing(id tenant.ID) catalog.Standing {
	w.Helper()
	st, err := w.TenantStanding(w.ctx, id)
	w.ok(err)
	return st
}

var tenantCases = []testcase{
	{"the default tenant is there from the start, held to low risk and without a subscription", func(w *world) { // R-BRIDGE-5
		want := catalog.Tenant{ID: tenant.Default, Name: "default", Policy: policy.Document{MaxRisk: policy.Low}}
		w.equal(w.standing(tenant.Default), catalog.Standing{Tenant: want})
		all, err := w.Tenants(w.ctx, "", 10)
		w.ok(err)
		w.equal(all, []catalog.Tenant{want})
	}},
	{"a tenant comes back as it was made, also after a restart", func(w *world) {
		c := w.customer("acme")
		sub := catalog.Subscription{Plan: "trial", StartsAt: w.Now(), EndsAt: w.Now().Add(time.Hour)}
		fact := w.unkept("tenant.create")
		fact.Tenant = "" // it goes into the tenant's own chain
		w.ok(w.CreateTenant(w.ctx, c, sub, fact))
		want := catalog.Standing{Tenant: c, Subscription: sub}
		w.equal(w.standing("acme"), want)
		w.Store = w.Reopen()
		w.equal(w.standing("acme"), want)
		chain, err := w.Facts(w.ctx, "acme", 0, 10)
		w.ok(err)
		w.is("facts of its own", len(chain), 1)
		w.fails(w.CreateTenant(w.ctx, w.customer("acme"), catalog.Subscription{}, w.unkept("tenant.create")), catalog.ErrTenantExists)
		w.equal(w.standing("acme"), want)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a change sets what it names and leaves the rest", func(w *world) {
		want := w.customer(tenant.Default)
		want.CreatedAt = w.standing(tenant.Default).Tenant.CreatedAt
		keep, none := false, time.Time{}
		for _, c := range []catalog.TenantChange{
			{Name: &want.Name, Policy: &want.Policy, KeepInstructions: &want.KeepInstructions, SuspendedAt: &want.SuspendedAt},
			{}, {KeepInstructions: &keep}, {SuspendedAt: &none}, {Policy: &policy.Document{}},
		} {
			if c.KeepInstructions != nil {
				want.KeepInstructions = *c.KeepInstructions
			}
			if c.SuspendedAt != nil {
				want.SuspendedAt = *c.SuspendedAt
			}
			if c.Policy != nil {
				want.Policy = *c.Policy
			}
			got, err := w.ChangeTenant(w.ctx, tenant.Default, c, w.fact("tenant.change"))
			w.ok(err)
			w.equal(got, want)
			w.equal(w.standing(tenant.Default).Tenant, want)
		}
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"what a tenant that is not there would need is refused, and no fact is kept", func(w *world) {
		_, err := w.TenantStanding(w.ctx, "nobody")
		w.fails(err, catalog.ErrTenantNotFound)
		_, err = w.ChangeTenant(w.ctx, "nobody", catalog.TenantChange{}, w.unkept("x"))
		w.fails(err, catalog.ErrTenantNotFound)
		w.fails(w.SetSubscription(w.ctx, "nobody", catalog.Subscription{}, w.unkept("x")), catalog.ErrTenantNotFound)
		w.fails(w.Enable(w.ctx, "nobody", catalog.Enablement{App: "a"}, w.unkept("x")), catalog.ErrTenantNotFound)
		w.fails(w.Disable(w.ctx, "nobody", "a", w.unkept("x")), catalog.ErrTenantNotFound)
		w.fails(w.CreateSite(w.ctx, site.Site{ID: "site_0", Tenant: "nobody"}, w.unkept("x")), catalog.ErrTenantNotFound)
		w.fails(w.PutCredential(w.ctx, credential.Sealed{Tenant: "nobody", App: "a", Revision: 1}, w.unkept("x")), catalog.ErrTenantNotFound)
		_, err = w.Site(w.ctx, "site_0")
		w.fails(err, site.ErrNotFound)
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"tenants are listed by id, page by page", func(w *world) {
		for i := range 5 {
			w.ok(w.CreateTenant(w.ctx, catalog.Tenant{ID: tenant.ID(fmt.Sprint("t", i)), CreatedAt: w.Now()}, catalog.Subscription{}, w.fact("tenant.create")))
		}
		var ids []tenant.ID
		for after := tenant.ID(""); ; after = ids[len(ids)-1] {
			page, err := w.Tenants(w.ctx, after, 2)
			w.ok(err)
			for _, c := range page {
				ids = append(ids, c.ID)
			}
			if len(page) < 2 {
				break
			}
		}
		w.equal(ids, []tenant.ID{"default", "t0", "t1", "t2", "t3", "t4"})
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"a subscription is replaced as a whole", func(w *world) {
		for _, sub := range []catalog.Subscription{
			{Plan: "year", StartsAt: w.Now(), EndsAt: w.Now().Add(time.Hour)},
			{Plan: "open", StartsAt: w.Now().Add(time.Minute)},
			{},
		} {
			w.ok(w.SetSubscription(w.ctx, tenant.Default, sub, w.fact("subscription.set")))
			w.equal(w.standing(tenant.Default).Subscription, sub)
		}
		w.is("facts", len(w.chain()), w.facts)
	}},
	{"an app is enabled with its quota since the first time, for one tenant", func(w *world) { // R-BRIDGE-2
		other := w.another()
		first := catalog.Enablement{App: "b", Quota: catalog.Quota{Limit: 5, Window: catalog.Hour}, EnabledAt: w.Now()}
		w.ok(w.Enable(w.ctx, tenant.Default, first, w.fact("app.enable")))
		w.Advance(time.Second)
		again := catalog.Enablement{App: "b", Quota: catalog.Quota{Limit: 7, Window: catalog.Month}, EnabledAt: w.Now()}
		w.ok(w.Enable(w.ctx, tenant.Default, again, w.fact("app.enable")))
		next := catalog.Enablement{App: "a", EnabledAt: w.Now()}
		w.ok(w.Enable(w.ctx, tenant.Default, next, w.fact("app.enable")))
		again.EnabledAt = first.EnabledAt
		w.equal(w.standing(tenant.Default).Enabled, []catalog.Enablement{next, again})
		w.is("enabled for another", len(w.standing(other).Enabled), 0)
		w.fails(w.Disable(w.ctx, other, "b", w.unkept("app.disable")), catalog.ErrNotEnabled)
		w.ok(w.Disable(w.ctx, tenant.Default, "b", w.fact("app.disable")))
		w.fails(w.Disable(w.ctx, tenant.Default, "b", w.unkept("app.disable")), catalog.ErrNotEnabled)
		w.equal(w.standing(tenant.Default).Enabled, []catalog.Enablement{next})
		w.is("facts", len(w.chain()), w.facts)
	}},
}

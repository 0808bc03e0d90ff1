package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"interlock/internal/baresite"
	"interlock/internal/bridge/site"
	"interlock/internal/serve/operators"
)

// sites measures requests of sites, each with a token of its own, against a
// server in a process of its own, so that its share of the processor is known
// apart from the load generator's. A site signs each token, which costs ten
// times what checking it does: the tokens are made beforehand.
func sites(ctx context.Context, b *bench) error {
	w, child, err := startChild(ctx, "")
	if err != nil {
		return err
	}
	defer child.stop()
	const conns = 32
	s, err := w.siteFor(ctx, client(conns))
	if err != nil {
		return err
	}
	span := b.load / 2
	for _, one := range []struct {
		name, path, scope string
		body              string
	}{
		{"gateway", "/api/v1/abn_lookup/lookup_v1", "app:abn_lookup:lookup_v1", `{"abn":"51824753556"}`},
		{"resolve", "/api/v1/bridge_platform/agent/resolve", "platform:agent:invoke", `{"instruction":"Check whether ABN 51824753556 is registered."}`},
	} {
		bare := load(ctx, conns, span/2, func(ctx context.Context, _ int) error { return healthy(ctx, s.Client, w.url) })
		tokens, err := sign(s.Signer, one.scope, int(span.Seconds()*6000)+conns)
		if err != nil {
			return err
		}
		var next atomic.Int64
		before := cpuSeconds(child.pid)
		got := load(ctx, conns, span, func(ctx context.Context, _ int) error {
			n := next.Add(1) - 1
			if n >= int64(len(tokens)) {
				return errors.New("the bench made too few tokens")
			}
			a, err := s.Send(ctx, baresite.Request{Path: one.path, Token: tokens[n], Body: []byte(one.body)})
			if err == nil && !a.OK {
				err = fmt.Errorf("%d: %s", a.Status, a.Body)
			}
			return err
		})
		cpu := cpuSeconds(child.pid) - before
		if got.errors > 0 {
			return got.firstError
		}
		speedRow(one.name+": 32 connections", got)
		perCore := got.perSecond * span.Seconds() / cpu
		row(one.name+": requests a second of one core of the server", fmt.Sprintf("%.0f (%.2f cores used)", perCore, cpu/span.Seconds()), "at least 3000", perCore >= 3000)
		added := got.p99 - bare.p99
		row(one.name+": p99 added to that of /healthz", added.Round(10*time.Microsecond).String(), "at most 5 ms", added <= 5*time.Millisecond)
	}
	return nil
}

// siteFor makes a site of the default tenant, with leave for a great many calls.
func (w *world) siteFor(ctx context.Context, c *http.Client) (*baresite.Site, error) {
	const tenant = "/operator/v1/tenants/default/"
	if err := errors.Join(
		w.operate(ctx, http.MethodPut, tenant+"subscription", operators.Subscription{Plan: "bench"}, nil),
		w.operate(ctx, http.MethodPut, tenant+"apps/abn_lookup", operators.EnableApp{Quota: operators.Quota{Limit: 1_000_000_000, Window: "month"}}, nil),
	); err != nil {
		return nil, err
	}
	var made operators.Site
	if err := w.operate(ctx, http.MethodPost, tenant+"sites", operators.NewSite{Name: "bench", PerMinute: 1_000_000, Burst: 100_000}, &made); err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	signer := site.Signer{Key: key, KID: "bench", Issuer: site.ID(made.ID), Subject: "default", Audience: "interlock"}
	pem, err := signer.PublicPEM()
	if err != nil {
		return nil, err
	}
	err = w.operate(ctx, http.MethodPost, tenant+"sites/"+made.ID+"/keys", operators.NewSiteKey{PEM: pem, KID: signer.KID}, nil)
	return &baresite.Site{URL: w.url, Client: c, Signer: signer}, err
}

// sign makes n tokens on all cores.
func sign(s site.Signer, scope string, n int) ([]string, error) {
	tokens := make([]string, n)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	now := time.Now()
	for part := range errs {
		wg.Go(func() {
			for i := part; i < n && errs[part] == nil; i += len(errs) {
				tokens[i], errs[part] = s.Token(scope, now)
			}
		})
	}
	wg.Wait()
	return tokens, errors.Join(errs...)
}

func healthy(ctx context.Context, c *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// cpuSeconds is what a process has used of the processor, by /proc; 0 where
// the system does not say.
func cpuSeconds(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), ") ") // the name may hold anything
	var state string
	var skip, user, system int64
	fields := []any{&state}
	for range 10 {
		fields = append(fields, &skip)
	}
	if _, err := fmt.Sscan(after, append(fields, &user, &system)...); err != nil {
		return 0
	}
	const ticks = 100 // a second, on every Linux that Go runs on
	return float64(user+system) / ticks
}

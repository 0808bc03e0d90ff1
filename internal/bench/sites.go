package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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
	fsync, err := measureFsync(filepath.Join(os.TempDir(), "interlock-bench"))
	if err != nil {
		return err
	}
	row("one fsync beside the database", fsync.String()+" (median of 200)", "", true)
	for _, k := range []kindOfCall{
		{"gateway", "/api/v1/abn_lookup/lookup_v1", "app:abn_lookup:lookup_v1", `{"abn":"51824753556"}`},
		{"resolve", "/api/v1/bridge_platform/agent/resolve", "platform:agent:invoke", `{"instruction":"Check whether ABN 51824753556 is registered."}`},
	} {
		// All connections, for the rate. Both cores are busy then, so a time is
		// mostly the queue's; a quarter of them tells what a request takes.
		cpu := cpuSeconds(child.pid)
		full, err := b.siteLoad(ctx, s, k, conns)
		if err != nil {
			return err
		}
		cpu = cpuSeconds(child.pid) - cpu
		perCore := full.perSecond * b.siteSpan().Seconds() / cpu
		speedRow(k.name+": 32 connections", full)
		row(k.name+": requests a second of one core of the server", fmt.Sprintf("%.0f (%.2f cores used)", perCore, cpu/b.siteSpan().Seconds()), "at least 3000", perCore >= 3000)
		bare := load(ctx, conns/4, b.siteSpan()/2, func(ctx context.Context, _ int) error { return healthy(ctx, s.Client, w.url) })
		quarter, err := b.siteLoad(ctx, s, k, conns/4)
		if err != nil {
			return err
		}
		speedRow(k.name+": 8 connections", quarter)
		added := quarter.p99 - bare.p99
		row(k.name+": 8 connections: p99 added to that of /healthz", added.Round(10*time.Microsecond).String(), "at most 5 ms", added <= 5*time.Millisecond)
	}
	return nil
}

// kindOfCall is one kind of request of a site.
type kindOfCall struct{ name, path, scope, body string }

// siteSpan is how long each load of sites lasts: no longer than the tokens
// live that are made for it beforehand.
func (b *bench) siteSpan() time.Duration { return b.load / 2 }

// siteLoad sends requests of one kind from so many connections.
func (b *bench) siteLoad(ctx context.Context, s *baresite.Site, k kindOfCall, conns int) (speed, error) {
	tokens, err := sign(s.Signer, k.scope, int(b.siteSpan().Seconds()*8000)+conns)
	if err != nil {
		return speed{}, err
	}
	var next atomic.Int64
	got := load(ctx, conns, b.siteSpan(), func(ctx context.Context, _ int) error {
		n := next.Add(1) - 1
		if n >= int64(len(tokens)) {
			return errors.New("the bench made too few tokens")
		}
		a, err := s.Send(ctx, baresite.Request{Path: k.path, Token: tokens[n], Body: []byte(k.body)})
		if err == nil && !a.OK {
			err = fmt.Errorf("%d: %s", a.Status, a.Body)
		}
		return err
	})
	return got, got.firstError
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

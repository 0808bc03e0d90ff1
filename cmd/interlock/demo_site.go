package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"interlock/internal/app"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/serve/operators"
	"interlock/internal/serve/sites"
	"interlock/internal/tenant"
)

// demoInstruction is what the demo's site asks.
const demoInstruction = "Check whether ABN 51824753556 is registered."

// demoBridge is what "interlock demo --json" prints of it.
type demoBridge struct {
	Status    string          `json:"status"`
	Selector  string          `json:"selector"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
}

// demoSite is a site as the server sees one: it signs each request.
type demoSite struct {
	url    string
	signer site.Signer
	client http.Client
}

// askBridge lets a site in and sends its instruction through resolve, then what
// came of it through the gateway.
func (d *demo) askBridge(ctx context.Context) (b demoBridge, err error) {
	s, err := d.letSiteIn(ctx)
	if err != nil {
		return b, err
	}
	d.printf("\n%s %s\n\n", d.paint(strong, "A site's instruction:"), demoInstruction)
	proposal, err := askSite[sites.Resolution](ctx, s, sites.PathResolve, resolve.Scope, sites.ResolveRequest{Instruction: demoInstruction})
	if err != nil {
		return b, err
	}
	b.Status, b.Selector, b.Arguments = proposal.Status, proposal.Selector, proposal.Arguments
	if b.Status != resolve.Resolved {
		return b, fault.New(fault.Internal, "internal", "the demo's instruction was not resolved: %s", proposal.Reason)
	}
	d.fields("resolved by", b.Selector+", to "+proposal.Capability, "proposal", proposal.App+"/"+proposal.Operation+" "+string(b.Arguments))
	called := catalog.AppID(proposal.App)
	b.Result, err = askSite[json.RawMessage](ctx, s, sites.CallPath(called, proposal.Operation), catalog.Scope(called, proposal.Operation), b.Arguments)
	if err == nil {
		err = d.printAnswer(b.Result)
	}
	return b, err
}

// letSiteIn does what an operator does for a new site, and keeps its key.
func (d *demo) letSiteIn(ctx context.Context) (*demoSite, error) {
	const of = string(tenant.Default)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	s := &demoSite{url: d.sites, client: http.Client{Timeout: time.Minute},
		signer: site.Signer{Key: key, KID: "demo", Subject: tenant.Default, Audience: app.DefaultAudience}}
	public, err := s.signer.PublicPEM()
	if err != nil {
		return nil, err
	}
	if err := d.client.put(ctx, operators.TenantPath(of, "subscription"), operators.Subscription{Plan: "demo"}, nil); err != nil {
		return nil, err
	}
	if err := d.client.put(ctx, operators.TenantAppPath(of, "abn_lookup"), operators.EnableApp{Quota: operators.Quota{Limit: 10, Window: string(catalog.Day)}}, nil); err != nil {
		return nil, err
	}
	var made operators.Site
	if err := d.client.post(ctx, operators.TenantPath(of, "sites"), operators.NewSite{Name: "demo-site"}, &made); err != nil {
		return nil, err
	}
	s.signer.Issuer = site.ID(made.ID)
	return s, d.client.post(ctx, operators.SitePath(of, made.ID, "keys"), operators.NewSiteKey{PEM: public, KID: s.signer.KID}, nil)
}

// askSite sends one request of the site, with a token of its own.
func askSite[T any](ctx context.Context, s *demoSite, path, scope string, body any) (data T, err error) {
	token, err := s.signer.Token(scope, time.Now())
	if err != nil {
		return data, err
	}
	b, err := json.Marshal(body)
	if err != nil {
		return data, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(b))
	if err != nil {
		return data, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(operators.KeyHeader, secret.Mint(secret.APIToken).ID)
	reply, err := s.client.Do(request)
	if err != nil {
		return data, err
	}
	defer reply.Body.Close()
	var e struct {
		Data  T            `json:"data"`
		Error *sites.Error `json:"error"`
	}
	if err := json.NewDecoder(reply.Body).Decode(&e); err != nil {
		return data, fmt.Errorf("read the answer of %s: %w", path, err)
	}
	if e.Error != nil {
		return data, fault.New(fault.Unavailable, e.Error.Code, "%s", e.Error.Detail)
	}
	return e.Data, nil
}

// printAnswer says what the register says, in a person's words.
func (d *demo) printAnswer(result json.RawMessage) error {
	var r struct {
		ABN        string `json:"abn_formatted"`
		Registered bool   `json:"registered"`
		Entity     struct {
			Name       string `json:"name"`
			Status     string `json:"status"`
			StatusFrom string `json:"status_from"`
			State      string `json:"state"`
			Postcode   string `json:"postcode"`
		} `json:"entity"`
		Source string `json:"source"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("read the register's answer: %w", err)
	}
	verdict := "not registered"
	if r.Registered {
		verdict = "registered"
	}
	d.fields("answer", "ABN "+printable(r.ABN)+" is "+verdict,
		"entity", fmt.Sprintf("%s, %s since %s, %s %s", printable(r.Entity.Name), printable(r.Entity.Status), printable(r.Entity.StatusFrom), printable(r.Entity.State), printable(r.Entity.Postcode)))
	if r.Source == app.ABNSample {
		d.printf("\n%s\n", d.paint(faint, "Out of a few built-in records: a rehearsal without the network. See docs/BRIDGE.md."))
	}
	return nil
}

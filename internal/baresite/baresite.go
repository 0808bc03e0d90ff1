// Package baresite speaks the site protocol call by call, as a site's server
// does: it signs a token for each request and reads the envelope. Nothing is
// retried or checked, so that a test sees what came.
package baresite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"interlock/internal/bridge/site"
)

// Site is one site with its key.
type Site struct {
	URL    string
	Client *http.Client // nil: http.DefaultClient
	Signer site.Signer
	Now    func() time.Time // nil: time.Now
}

// Answer is what came.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	OK     bool            `json:"ok"`
	Data   json.RawMessage `json:"data"`
	Error  *struct {
		Code         string `json:"code"`
		Detail       string `json:"detail"`
		Retryable    bool   `json:"retryable"`
		RetryAfterMS int64  `json:"retry_after_ms"`
	} `json:"error"`
	Meta struct {
		RequestID string `json:"request_id"`
		Tenant    string `json:"tenant"`
		Quota     *struct {
			Limit     int64     `json:"limit"`
			Remaining int64     `json:"remaining"`
			ResetsAt  time.Time `json:"resets_at"`
		} `json:"quota"`
		Replayed bool `json:"replayed"`
	} `json:"meta"`
}

// Code is the refusal's code, "" for an answer that went well.
func (a Answer) Code() string {
	if a.Error == nil {
		return ""
	}
	return a.Error.Code
}

// Request is one request; the zero fields are left out of it.
type Request struct {
	Path  string
	Scope string // signed into a new token, unless Token is set
	Token string
	Key   string // idempotency
	Body  []byte
}

// Send signs and sends r. An error means that no envelope came.
func (s *Site) Send(ctx context.Context, r Request) (Answer, error) {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	token := r.Token
	if token == "" {
		var err error
		if token, err = s.Signer.Token(r.Scope, now()); err != nil {
			return Answer{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if r.Key != "" {
		req.Header.Set("Idempotency-Key", r.Key)
	}
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	if err := json.Unmarshal(a.Body, &a); err != nil {
		return a, fmt.Errorf("%s answered %d without an envelope: %.200s", r.Path, a.Status, a.Body)
	}
	return a, nil
}

// Resolve asks what an instruction means.
func (s *Site) Resolve(ctx context.Context, instruction string) (Answer, error) {
	body, err := json.Marshal(map[string]string{"instruction": instruction})
	if err != nil {
		return Answer{}, err
	}
	return s.Send(ctx, Request{Path: "/api/v1/bridge_platform/agent/resolve", Scope: "platform:agent:invoke", Body: body})
}

// Lookup calls the ABN app.
func (s *Site) Lookup(ctx context.Context, abn, key string) (Answer, error) {
	body, err := json.Marshal(map[string]string{"abn": abn})
	if err != nil {
		return Answer{}, err
	}
	return s.Send(ctx, Request{Path: "/api/v1/abn_lookup/lookup_v1", Scope: "app:abn_lookup:lookup_v1", Key: key, Body: body})
}

// Package barehost speaks the host protocol with no device, lease loop or
// retry behind it: each call is one exchange whose answer or problem comes
// back as it is. Load generators and fault tests drive a server with it.
package barehost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"interlock/internal/hostapi"
	"interlock/internal/problem"
	"interlock/internal/secret"
)

// Host is one enrolled host. Its methods are safe for concurrent use; the
// fields are set once.
type Host struct {
	URL        string // of the server, without a trailing slash
	ID         string
	Credential string
	HTTP       *http.Client // nil: http.DefaultClient
}

// Enroll makes a host with the given devices out of an enrolment token.
func Enroll(ctx context.Context, client *http.Client, url, token, name string, devices ...hostapi.Device) (*Host, hostapi.CredentialReply, error) {
	h := &Host{URL: url, HTTP: client}
	var reply hostapi.CredentialReply
	err := h.Do(ctx, hostapi.PathEnroll, "enroll-"+name, hostapi.EnrollRequest{Token: secret.Expose(secret.New(token)), Name: name, Devices: devices, Version: "bare"}, &reply)
	h.ID, h.Credential = reply.HostID, reply.Credential.Reveal()
	return h, reply, err
}

// Do posts body to path under an idempotency key ("" sends none) and decodes
// the answer into reply, which a 204 leaves alone. A problem comes back as its
// Err, anything else that is not a success as a plain error.
func (h *Host) Do(ctx context.Context, path, key string, body, reply any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return h.DoRaw(ctx, path, key, b, reply)
}

// DoRaw is Do with an encoded body.
func (h *Host) DoRaw(ctx context.Context, path, key string, body []byte, reply any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(hostapi.VersionHeader, hostapi.Version)
	if key != "" {
		req.Header.Set(hostapi.KeyHeader, key)
	}
	if h.Credential != "" {
		req.Header.Set("Authorization", "Bearer "+h.Credential)
	}
	client := h.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, hostapi.MaxReply))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNoContent:
		return nil
	case resp.StatusCode == http.StatusOK:
		return json.Unmarshal(answer, reply)
	case resp.Header.Get("Content-Type") == problem.MediaType:
		var p problem.Problem
		if err := json.Unmarshal(answer, &p); err != nil {
			return fmt.Errorf("status %d with a problem that does not decode: %w", resp.StatusCode, err)
		}
		return p.Err()
	default:
		return fmt.Errorf("status %d is no problem+json", resp.StatusCode)
	}
}

// Claim polls once for at most max tasks on the given idle devices and
// acknowledges what it gets.
func (h *Host) Claim(ctx context.Context, key string, max int, waitMS int64, idle ...string) ([]hostapi.Assignment, error) {
	var got hostapi.PollReply
	if err := h.Do(ctx, hostapi.PathPoll, key, hostapi.PollRequest{Max: max, WaitMS: waitMS, Idle: idle}, &got); err != nil {
		return nil, err
	}
	for _, a := range got.Assignments {
		if err := h.Do(ctx, hostapi.TaskPath(a.TaskID, a.Attempt, "ack"), fmt.Sprintf("ack-%s-%d", a.TaskID, a.Attempt), struct{}{}, &hostapi.LeaseReply{}); err != nil {
			return nil, fmt.Errorf("ack %s: %w", a.TaskID, err)
		}
	}
	return got.Assignments, nil
}

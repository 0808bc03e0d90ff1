package host

import (
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
)

// ErrNotEnrolled is what Open says where there is no credential yet.
var ErrNotEnrolled = fault.New(fault.Unauthenticated, "host_not_enrolled", "this host is not enrolled; ask an operator for an enrolment token and enroll it")

// credentialFile is the name in the state folder.
const credentialFile = "credential.json"

// rotateAt is the share of a credential's lifetime after which it is rotated.
const rotateAt = 0.75

// maxLifetimeMS keeps a lifetime from overflowing; a longer one is ten years.
const maxLifetimeMS = int64(10 * 365 * 24 * time.Hour / time.Millisecond)

// identity is the credential file: who this host is, to whom, and with what.
type identity struct {
	Server  string      `json:"server"`
	HostID  string      `json:"host_id"`
	Current credential  `json:"current"`
	Next    *credential `json:"next,omitzero"` // rotated in, not accepted yet
}

// credential is one bearer credential. Its times are this machine's wall
// clock: they must outlive the process.
type credential struct {
	Bearer    secret.Exposed `json:"credential"`
	IssuedAt  time.Time      `json:"issued_at"`
	ExpiresAt time.Time      `json:"expires_at"`
}

func newCredential(r hostapi.CredentialReply, now time.Time) credential {
	life := time.Duration(min(r.LifetimeMS, maxLifetimeMS)) * time.Millisecond
	return credential{Bearer: r.Credential, IssuedAt: now.UTC().Round(0), ExpiresAt: now.UTC().Round(0).Add(life)}
}

// rotateOn is when the credential wants to be replaced.
func (c credential) rotateOn() time.Time {
	return c.IssuedAt.Add(time.Duration(float64(c.ExpiresAt.Sub(c.IssuedAt)) * rotateAt))
}

// checkReply refuses a credential that can't be one.
func checkReply(r hostapi.CredentialReply) error {
	if r.Credential.Secret().Empty() || r.LifetimeMS <= 0 || (r.HostID == "" || len(r.HostID) > 200) {
		return errNotInterlock.Because(errors.New("the answer holds no credential"))
	}
	return nil
}

// credentials is the credential file and which of its credentials is in use.
// It is safe for concurrent use. The file always holds one that works: a new
// one is written beside the old one before it is used, and the old one leaves
// the file only after the control plane has accepted the new one.
type credentials struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	id     identity // guarded by mu; equal to the file
	spoilt bool     // guarded by mu; Next was refused, Current is in use again
}

// openCredentials reads the file in dir and checks that it is for server.
func openCredentials(dir, server string, log *slog.Logger) (*credentials, error) {
	c := &credentials{path: filepath.Join(dir, credentialFile), log: log}
	err := readPrivate(c.path, &c.id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotEnrolled
	case err != nil:
		return nil, err
	case c.id.Current.Bearer.Secret().Empty() || c.id.HostID == "":
		return nil, fault.New(fault.Invalid, "state_file", "%s is damaged; move it away and enroll this host again", c.path)
	case c.id.Server != server:
		return nil, fault.New(fault.Invalid, "wrong_server", "this host is enrolled at %s, not at %s; use that address, or another state folder for this server", c.id.Server, server)
	}
	return c, nil
}

// hostID returns who this host is.
func (c *credentials) hostID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id.HostID
}

// inUse returns the credential for the next call.
func (c *credentials) inUse() secret.String {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active().Bearer.Secret()
}

// active is the newest one that was not refused; the caller holds mu.
func (c *credentials) active() credential {
	if c.id.Next != nil && !c.spoilt {
		return *c.id.Next
	}
	return c.id.Current
}

// rotateOn returns when the credential in use wants to be replaced.
func (c *credentials) rotateOn() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active().rotateOn()
}

// propose writes next beside the current credential and puts it to use.
func (c *credentials) propose(next credential) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.id
	id.Current, id.Next = c.active(), &next
	if err := writeState(c.path, id); err != nil {
		return err
	}
	c.id, c.spoilt = id, false
	return nil
}

// accepted notes that the control plane took used. Where the file holds two,
// the other one leaves it: the old one, or a new one that was refused.
func (c *credentials) accepted(used secret.String) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id.Next == nil || !c.active().Bearer.Secret().Equal(used) {
		return
	}
	id := c.id
	id.Current, id.Next = c.active(), nil
	if err := writeState(c.path, id); err != nil {
		c.log.Warn("the credential file could not be tidied; the next call tries again", "error", err)
		return
	}
	c.id, c.spoilt = id, false
}

// refused notes that the control plane did not take used, and reports whether
// another one may be tried: the current one where used was new and never
// accepted, or the new one where used was replaced meanwhile.
func (c *credentials) refused(used secret.String) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id.Next != nil && !c.spoilt && c.id.Next.Bearer.Secret().Equal(used) {
		c.spoilt = true
		c.log.Warn("the new credential was refused; the one before is used again")
		return true
	}
	return !c.active().Bearer.Secret().Equal(used)
}

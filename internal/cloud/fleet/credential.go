package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/secret"
)

// maxCached bounds the remembered credentials; beyond it they are read again.
const maxCached = 50_000

// cachedCredential is what Authenticate read, and when.
type cachedCredential struct {
	Credential
	host Host
	read time.Time
}

// credentialCache remembers valid credentials for moments: every host call
// needs one. A change in this process drops the host's entries before it is
// answered, and an entry that was read before such a change is not kept.
type credentialCache struct {
	mu      sync.Mutex
	entries map[string]cachedCredential // by credential id; guarded by mu
	ofHost  map[HostID][]string         // the ids of entries; guarded by mu
	changes uint64                      // guarded by mu
}

func (c *credentialCache) get(id string, now time.Time, maxAge time.Duration) (cachedCredential, uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[id]
	return e, c.changes, ok && now.Sub(e.read) < maxAge && !now.Before(e.read)
}

// put keeps e unless a host changed since `changes` was read.
func (c *credentialCache) put(e cachedCredential, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if len(c.entries) >= maxCached {
		clear(c.entries)
		clear(c.ofHost)
	}
	if _, known := c.entries[e.ID]; !known {
		c.ofHost[e.host.ID] = append(c.ofHost[e.host.ID], e.ID)
	}
	c.entries[e.ID] = e
}

func (c *credentialCache) dropHost(h HostID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for _, id := range c.ofHost[h] {
		delete(c.entries, id)
	}
	delete(c.ofHost, h)
}

// Authenticate returns the host that holds the presented bearer credential. It
// is one indexed read and a comparison in constant time; a valid credential is
// then remembered for Config.CacheFor. ErrCredential; ErrHostRevoked, also
// when the credential turns out to be a copy.
func (s *Service) Authenticate(ctx context.Context, bearer secret.String) (Host, error) {
	h, _, err := s.authenticate(ctx, bearer)
	return h, err
}

func (s *Service) authenticate(ctx context.Context, bearer secret.String) (Host, Credential, error) {
	presented, err := secret.Parse(secret.HostCredential, bearer.Reveal())
	if err != nil {
		return Host{}, Credential{}, ErrCredential.Because(err)
	}
	now := s.now()
	e, changes, ok := s.known.get(presented.ID, now, s.cfg.CacheFor)
	if !ok {
		e.read = now
		if e.Credential, e.host, err = s.store.Credential(ctx, presented.ID); err != nil {
			return Host{}, Credential{}, fmt.Errorf("read host credential: %w", err)
		}
	}
	if err := s.judge(ctx, e, presented, now); err != nil {
		return Host{}, Credential{}, err
	}
	if e.FirstUsed.IsZero() {
		switch err := s.store.MarkUsed(ctx, e.ID, now, now.Add(s.cfg.RetireAfterUse)); {
		case err == nil:
		case fault.Of(err).Retryable:
			// The store is busy, as when a whole fleet comes at once. The next
			// call notes the use; until then the credential is not remembered.
			return s.seen.overlay(e.host), e.Credential, nil
		default:
			return Host{}, Credential{}, fmt.Errorf("note first use of a credential: %w", err)
		}
		e.FirstUsed = now
		s.known.dropHost(e.host.ID) // the one before may be retiring now
		_, changes, _ = s.known.get(e.ID, now, 0)
		ok = false
	}
	if !ok {
		s.known.put(e, changes)
	}
	return s.seen.overlay(e.host), e.Credential, nil
}

// judge says whether a credential is good now.
func (s *Service) judge(ctx context.Context, e cachedCredential, presented secret.Token, now time.Time) error {
	switch {
	case !secret.SameHash(e.Hash, presented.Hash):
		return ErrCredential
	case !e.host.RevokedAt.IsZero():
		return ErrHostRevoked
	case !now.Before(e.ExpiresAt):
		return ErrCredential
	case e.RetiresAt.IsZero() || now.Before(e.RetiresAt):
		return nil
	}
	return s.judgeRetired(ctx, e)
}

// judgeRetired answers a credential past its RetiresAt. If its successor was
// ever presented, two parties hold credentials of one host, so one of them is
// a copy: the host is revoked. If it never was, the answer to the rotation got
// lost and the presenter is the host itself, which may rotate again.
func (s *Service) judgeRetired(ctx context.Context, e cachedCredential) error {
	next, _, err := s.store.Credential(ctx, e.Successor)
	if err != nil {
		return fmt.Errorf("read the successor of a retired credential: %w", err)
	}
	if next.FirstUsed.IsZero() {
		return nil
	}
	s.cfg.Logger.ErrorContext(ctx, "retired host credential presented: it was copied, so the host is revoked; find out who holds the copy, then enroll the host again", "host", e.host.ID, "credential", e.ID)
	detail := map[string]string{"because": "a retired credential was presented", "credential": e.ID}
	if err := s.revoke(ctx, e.host, audit.System, detail); err != nil {
		return fmt.Errorf("revoke a host whose credential was copied: %w", err)
	}
	return ErrHostRevoked
}

// Rotate gives the host a new credential in place of the presented one, which
// works on until Config.RetireAfterUse after the new one's first use, and at
// most for Config.Overlap. A repeat before the new one was used replaces it.
// Errors as Authenticate's, and ErrSuperseded.
func (s *Service) Rotate(ctx context.Context, bearer secret.String, key string) (Issued, error) {
	if err := checkKey(key); err != nil {
		return Issued{}, err
	}
	h, old, err := s.authenticate(ctx, bearer)
	if err != nil {
		return Issued{}, err
	}
	minted, now := secret.Mint(secret.HostCredential), s.now()
	r := Rotation{Host: h.ID, Old: old.ID, RetireAt: now.Add(s.cfg.Overlap),
		New: Credential{ID: minted.ID, Host: h.ID, Hash: minted.Hash, CreatedAt: now, ExpiresAt: now.Add(s.cfg.CredentialLife), RotationKey: key}}
	if err := s.store.Rotate(ctx, r); err != nil {
		return Issued{}, fmt.Errorf("rotate credential of host %s: %w", h.ID, err)
	}
	s.known.dropHost(h.ID)
	s.cfg.Logger.InfoContext(ctx, "host credential rotated", "host", h.ID)
	return Issued{Host: h, Credential: minted.Value, Life: s.cfg.CredentialLife, OldValid: s.cfg.Overlap}, nil
}

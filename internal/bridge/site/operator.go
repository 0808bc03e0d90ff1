package site

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// NewSite describes a site to create. A zero rate means its default.
type NewSite struct {
	Name      string // 1 to 100 printable characters
	PerMinute int    // default 600
	Burst     int    // default 60
}

// Bounds of a site.
const (
	MaxPerMinute     = 1_000_000
	MaxBurst         = 100_000
	MaxPage          = 500 // sites in one list
	defaultPerMinute = 600
	defaultBurst     = 60
	maxName          = 100 // characters
)

const idPrefix = "site_"

func newID() ID {
	var b [8]byte
	rand.Read(b[:])
	return ID(idPrefix + hex.EncodeToString(b[:]))
}

func (id ID) wellFormed() bool {
	digits, ok := strings.CutPrefix(string(id), idPrefix)
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// legible reports whether s is at most limit bytes of UTF-8 that a terminal
// and a page can show as they are.
func legible(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}

// problems says what is wrong with the fields that are not nil.
func (c Change) problems() (wrong fault.Problems) {
	if c.Name != nil {
		wrong.Require(*c.Name != "" && utf8.RuneCountInString(*c.Name) <= maxName && legible(*c.Name, maxName*utf8.UTFMax), "its name is not 1 to %d printable characters", maxName)
	}
	if c.PerMinute != nil {
		wrong.Require(*c.PerMinute >= 1 && *c.PerMinute <= MaxPerMinute, "its calls a minute are not 1 to %d", MaxPerMinute)
	}
	if c.Burst != nil {
		wrong.Require(*c.Burst >= 1 && *c.Burst <= MaxBurst, "its burst is not 1 to %d", MaxBurst)
	}
	return wrong
}

// detail tells the audit chain what c sets.
func (c Change) detail() map[string]string {
	d := map[string]string{}
	if c.Name != nil {
		d["name"] = *c.Name
	}
	if c.PerMinute != nil {
		d["per_minute"] = strconv.Itoa(*c.PerMinute)
	}
	if c.Burst != nil {
		d["burst"] = strconv.Itoa(*c.Burst)
	}
	return d
}

// Create makes a site of a tenant; it can call once it has a key. By is the
// actor. Faults invalid_site and tenant_not_found.
func (s *Service) Create(ctx context.Context, t tenant.ID, by string, n NewSite) (Site, error) {
	if n.PerMinute == 0 {
		n.PerMinute = defaultPerMinute
	}
	if n.Burst == 0 {
		n.Burst = defaultBurst
	}
	set := Change{Name: &n.Name, PerMinute: &n.PerMinute, Burst: &n.Burst}
	if err := set.problems().Refuse("invalid_site", "the site"); err != nil {
		return Site{}, err
	}
	made := Site{ID: newID(), Tenant: t, Name: n.Name, PerMinute: n.PerMinute, Burst: n.Burst, CreatedAt: s.now()}
	if err := s.store.CreateSite(ctx, made, s.fact(t, by, "site.create", string(made.ID), set.detail())); err != nil {
		return Site{}, fmt.Errorf("create site: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "site created", "site", made.ID, "tenant", t, "by", by)
	return made, nil
}

// Site returns one site of the tenant with all its keys. ErrNotFound.
func (s *Service) Site(ctx context.Context, t tenant.ID, id ID) (Site, error) {
	found, err := s.store.Site(ctx, id)
	if err != nil {
		return Site{}, fmt.Errorf("read site: %w", err)
	}
	if found.Tenant != t {
		return Site{}, ErrNotFound
	}
	return found, nil
}

// Sites lists up to limit of the tenant's sites with ids behind after, by id,
// disabled ones too. A limit of zero or beyond MaxPage means MaxPage.
func (s *Service) Sites(ctx context.Context, t tenant.ID, after ID, limit int) ([]Site, error) {
	if limit <= 0 || limit > MaxPage {
		limit = MaxPage
	}
	return s.store.Sites(ctx, t, after, limit)
}

// Change sets name and rate; the new rate holds from the next call on.
// Faults invalid_site and ErrNotFound.
func (s *Service) Change(ctx context.Context, t tenant.ID, by string, id ID, c Change) (Site, error) {
	wrong := c.problems()
	wrong.Require(c.Name != nil || c.PerMinute != nil || c.Burst != nil, "nothing of it is changed")
	wrong.Require(c.DisabledAt == nil, "to disable or enable it is a change of its own")
	if err := wrong.Refuse("invalid_site", "the site"); err != nil {
		return Site{}, err
	}
	changed, err := s.store.ChangeSite(ctx, t, id, c, s.fact(t, by, "site.change", string(id), c.detail()))
	if err != nil {
		return Site{}, fmt.Errorf("change site: %w", err)
	}
	return changed, nil
}

// DisableSite refuses every token of the site from the next call on, over all
// processes. One that is disabled already stays as it is. ErrNotFound.
func (s *Service) DisableSite(ctx context.Context, t tenant.ID, by string, id ID) (Site, error) {
	return s.switchSite(ctx, t, by, id, "site.disable", s.now())
}

// EnableSite lets the site call again, with the keys that it has. ErrNotFound.
func (s *Service) EnableSite(ctx context.Context, t tenant.ID, by string, id ID) (Site, error) {
	return s.switchSite(ctx, t, by, id, "site.enable", time.Time{})
}

func (s *Service) switchSite(ctx context.Context, t tenant.ID, by string, id ID, action string, disabledAt time.Time) (Site, error) {
	before, err := s.Site(ctx, t, id)
	if err != nil || before.DisabledAt.IsZero() == disabledAt.IsZero() {
		return before, err
	}
	f := s.fact(t, by, action, string(id), map[string]string{"name": before.Name})
	after, err := s.store.ChangeSite(ctx, t, id, Change{DisabledAt: &disabledAt}, f)
	if err != nil {
		return Site{}, fmt.Errorf("%s: %w", action, err)
	}
	s.cfg.Logger.InfoContext(ctx, action, "site", id, "tenant", t, "by", by)
	return after, nil
}

// AddKey registers a public key. Faults private_key, invalid_site_key,
// ErrNotFound, ErrKeyExists and ErrTooManyKeys.
func (s *Service) AddKey(ctx context.Context, t tenant.ID, by string, id ID, in KeyInput) (Key, error) {
	k, err := in.read(s.now())
	if err != nil {
		return Key{}, err
	}
	detail := map[string]string{"kid": k.KID, "thumbprint": Thumbprint(k.Public), "bits": strconv.Itoa(k.Public.N.BitLen())}
	if !k.NotBefore.IsZero() {
		detail["not_before"] = k.NotBefore.Format(time.RFC3339)
	}
	if !k.NotAfter.IsZero() {
		detail["not_after"] = k.NotAfter.Format(time.RFC3339)
	}
	if err := s.store.AddKey(ctx, t, id, k, s.fact(t, by, "site_key.add", string(id), detail)); err != nil {
		return Key{}, fmt.Errorf("add key to site: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "key added to site", "site", id, "kid", k.KID, "by", by)
	return k, nil
}

// DisableKey refuses the key from the next call on, over all processes, for
// good. One that is disabled already stays as it is. ErrKeyNotFound.
func (s *Service) DisableKey(ctx context.Context, t tenant.ID, by string, id ID, kid string) error {
	f := s.fact(t, by, "site_key.disable", string(id), map[string]string{"kid": kid})
	if err := s.store.DisableKey(ctx, t, id, kid, s.now(), f); err != nil {
		return fmt.Errorf("disable key of site: %w", err)
	}
	s.cfg.Logger.InfoContext(ctx, "key of site disabled", "site", id, "kid", kid, "by", by)
	return nil
}

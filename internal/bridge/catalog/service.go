package catalog

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"interlock/internal/audit"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Config has a useful zero value.
type Config struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// Service is the catalog. It is safe for concurrent use, starts no goroutine
// and remembers nothing of tenants.
type Service struct {
	cfg    Config
	store  Store
	apps   []App
	offers []Offer // by app and name
	at     map[AppID]map[string]int
}

// New publishes the apps. It returns a fault invalid_app that lists what is
// malformed.
func New(store Store, apps []App, cfg Config) (*Service, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	apps = slices.SortedStableFunc(slices.Values(apps), func(a, b App) int { return cmp.Compare(a.ID, b.ID) })
	offers, err := publish(apps)
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, store: store, apps: apps, offers: offers, at: map[AppID]map[string]int{}}
	for _, a := range apps {
		s.at[a.ID] = map[string]int{}
	}
	for i, o := range offers {
		s.at[o.App.ID][o.Operation.Name] = i
	}
	return s, nil
}

func byName(a, b Operation) int { return cmp.Compare(a.Name, b.Name) }

func (s *Service) now() time.Time { return s.cfg.Now().UTC() }

func (s *Service) fact(t tenant.ID, by, action, subject string, detail map[string]string) audit.Fact {
	return audit.Fact{Tenant: t, At: s.now(), Actor: by, Action: action, Subject: subject, Detail: detail}
}

// Apps returns what is published, by id. The caller must not change it.
func (s *Service) Apps() []App { return s.apps }

// Published reports whether this server has the app.
func (s *Service) Published(app AppID) bool { return s.at[app] != nil }

// Offer returns one published operation.
func (s *Service) Offer(app AppID, operation string) (Offer, bool) {
	i, ok := s.at[app][operation]
	if !ok {
		return Offer{}, false
	}
	return s.offers[i], true
}

// Offers returns the operations that selectors may propose to the tenant: those
// that agents may see, of apps that it has enabled, by app and name. Whether
// the tenant may use anything at all is for Standing.Admits to say.
func (s *Service) Offers(st Standing) []Offer {
	var out []Offer
	for _, o := range s.offers {
		if _, enabled := st.Enablement(o.App.ID); enabled && o.Operation.AgentVisible {
			out = append(out, o)
		}
	}
	return out
}

// Standing reads everything that decides what the tenant may do now.
// ErrTenantNotFound.
func (s *Service) Standing(ctx context.Context, id tenant.ID) (Standing, error) {
	st, err := s.store.TenantStanding(ctx, id)
	if err != nil {
		return Standing{}, fmt.Errorf("read where tenant %s stands: %w", id, err)
	}
	st.Tenant = revised(st.Tenant)
	return st, nil
}

// The refusals of a tenant that may use nothing.
var (
	ErrSuspended = fault.New(fault.Forbidden, "tenant_suspended", "this tenant is suspended; ask the operator of the platform")
	ErrInactive  = fault.New(fault.Forbidden, "subscription_inactive", "this tenant has no subscription that is active now; ask the operator of the platform")
)

// Admits returns why the tenant may use nothing at that time: ErrSuspended,
// else ErrInactive, else nil.
func (st Standing) Admits(at time.Time) error {
	switch {
	case !st.Tenant.SuspendedAt.IsZero():
		return ErrSuspended
	case !st.Subscription.Active(at):
		return ErrInactive
	}
	return nil
}

// Enablement returns the tenant's enablement of the app, if it has one.
func (st Standing) Enablement(app AppID) (Enablement, bool) {
	i := slices.IndexFunc(st.Enabled, func(e Enablement) bool { return e.App == app })
	if i < 0 {
		return Enablement{}, false
	}
	return st.Enabled[i], true
}

package selector

import (
	"context"
	"log/slog"
	"time"

	"interlock/internal/llm"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// ModelConfig says how a model is asked.
type ModelConfig struct {
	// Provider is the caller's name, and the selector's in proposals: "openai"
	// or "anthropic".
	Provider string
	// PerDay is how many calls a tenant may cause in a day (UTC), failed ones
	// included. Zero: DefaultPerDay. Negative: none.
	PerDay int64
	// Timeout bounds one call with its retries. Zero: DefaultTimeout.
	Timeout time.Duration
	// MaxOutput bounds a reply in tokens, thinking included. Zero: the caller's
	// default.
	MaxOutput int
	Now       func() time.Time // nil: time.Now
	Logger    *slog.Logger     // nil: nothing is logged
}

// The defaults of a ModelConfig.
const (
	DefaultPerDay  = 1000
	DefaultTimeout = 20 * time.Second
)

// meterWithin is how long the store may take to note a call that ended.
const meterWithin = 5 * time.Second

// Model asks a model to match an instruction with one of the offers. Instruction,
// reply and arguments reach neither a log nor an error.
//
// The model is told nothing of the tenant, offered nothing but the offers, and
// believed nothing: a name that was not offered, arguments that the offer's
// schema refuses and a value that is not in the instruction are reasons, not
// proposals. A call is taken off the tenant's day before it is made, so that
// the cap holds over all processes; what it used is metered when it ends, also
// if it failed and nobody waits any more. A crash in between leaves a call
// taken and not metered.
type Model struct {
	store  Store
	caller llm.StructuredCaller
	cfg    ModelConfig
}

// NewModel returns the selector and asks nothing.
func NewModel(store Store, caller llm.StructuredCaller, cfg ModelConfig) *Model {
	if cfg.PerDay == 0 {
		cfg.PerDay = DefaultPerDay
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Model{store: store, caller: caller, cfg: cfg}
}

// Select implements ToolSelector. It blocks for up to the timeout. Its errors
// are those of the store; a model that could not be asked is selector_unavailable.
func (m *Model) Select(ctx context.Context, r Request) (Proposal, error) {
	refuse := func(reason Reason) Proposal { return Proposal{Selector: m.cfg.Provider, Reason: reason} }
	if len(r.Offers) == 0 {
		return refuse(NoMatch), nil
	}
	may, err := m.mayAsk(ctx, r.Tenant)
	switch {
	case err != nil:
		return Proposal{}, err
	case !may:
		return refuse(ModelCapped), nil
	}
	asked := ask(r)
	reply, err := m.caller.Structured(ctx, asked.structured(m.cfg))
	m.meter(ctx, r, reply, err)
	if err != nil {
		return refuse(ModelFailed), nil
	}
	capability, arguments, reason := asked.judge(reply.JSON)
	if reason != "" {
		return refuse(reason), nil
	}
	return Proposal{Selector: m.cfg.Provider, Capability: capability, Arguments: arguments}, nil
}

// mayAsk looks at the switches that stop all calls, the tenant's and the whole
// installation's, and takes one of the tenant's calls of the day.
func (m *Model) mayAsk(ctx context.Context, t tenant.ID) (bool, error) {
	stops := []tenant.ID{tenant.Default}
	if t != tenant.Default {
		stops = append(stops, t)
	}
	for _, of := range stops {
		if stop, err := m.store.Stopped(ctx, of); err != nil || stop.On {
			return false, err
		}
	}
	return m.store.ReserveSelection(ctx, t, m.cfg.Now().UTC(), m.cfg.PerDay)
}

// meter notes what a call used, whether or not it brought an answer and whether
// or not its caller still waits. What can't be noted is logged and changes
// nothing: the money is spent, and the cap holds without it.
func (m *Model) meter(ctx context.Context, r Request, reply llm.StructuredReply, failure error) {
	e := usage.Entry{Tenant: r.Tenant, Host: "site:" + string(r.Site), Provider: reply.Provider, Model: reply.Model, At: m.cfg.Now().UTC(), Usage: reply.Usage}
	log := m.cfg.Logger.With("tenant", r.Tenant, "site", r.Site)
	if u := llm.AsUnavailable(failure); u != nil {
		e.Provider, e.Model, e.Usage, e.Reason = u.Provider, u.Model, u.Usage, u.Reason
		log.WarnContext(ctx, "the selector's model gave no answer", "reason", u.Reason, "provider", u.Provider, "model", u.Model,
			"provider_request", u.ProviderRequestID, "error", failure, "cause", u.Err)
	}
	if e.Provider == "" {
		e.Provider = m.cfg.Provider
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), meterWithin)
	defer cancel()
	if err := m.store.MeterSelection(ctx, e); err != nil {
		log.ErrorContext(ctx, "usage of the selector's model not recorded", "error", err)
	}
}

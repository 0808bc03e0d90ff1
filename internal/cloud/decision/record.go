package decision

import (
	"context"
	"errors"
	"time"

	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/sleep"
	"interlock/internal/usage"
)

// recordWithin bounds the commit of an answer that is paid for already, past
// the decide's own deadline.
const recordWithin = 10 * time.Second

// unrecordedPause is how long no provider is asked after a decision could not
// be recorded: each answer is paid for, and the next would be lost as well.
const unrecordedPause = 5 * time.Second

// record commits the decision with its usage. A store that is busy is asked
// again, which is safe: the key has one row at most. A full disk is not: it
// stays so for longer than the host waits.
func (s *Service) record(ctx context.Context, f *flight, d llm.Decision, latency time.Duration) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	row, entry := f.row(d, s.now(), latency), f.entry(d.Usage, d.Provider, d.Model, "", s.now())
	for {
		step, err := s.store.Record(ctx, row, entry)
		switch {
		case err == nil:
			return step, nil
		case errors.Is(err, ErrKeyReused):
			return 0, err
		case errors.Is(err, task.ErrStaleAttempt), errors.Is(err, task.ErrLeaseLost), errors.Is(err, task.ErrCancelled):
			u := llm.AsUnavailable(fenced(ctx, err))
			u.Usage, u.Provider, u.Model, u.ProviderRequestID = d.Usage, d.Provider, d.Model, d.ProviderRequestID
			return 0, u
		case fault.Of(err).Retryable && fault.Of(err).Code != string(llm.StorageFull) && sleep.For(ctx, 20*time.Millisecond) == nil:
			continue
		}
		s.unrecorded.Store(s.now().UnixNano())
		s.cfg.Logger.ErrorContext(ctx, "decision not recorded, so it is not answered; look at the database and its disk", f.ids("error", err)...)
		return 0, &llm.Unavailable{Reason: llm.StorageFull, Detail: "the decision could not be recorded, so it is not answered; see the control plane's log and its disk", Err: err,
			Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID}
	}
}

// recordable refuses decides for a while after one could not be recorded.
func (s *Service) recordable() error {
	since := s.now().Sub(time.Unix(0, s.unrecorded.Load()))
	if since < 0 || since >= unrecordedPause {
		return nil
	}
	return &llm.Unavailable{Reason: llm.StorageFull, RetryAfter: unrecordedPause - since,
		Detail: "a decision could not be recorded a moment ago, so none is made; see the control plane's log and its disk"}
}

// meterFailure adds the call to the usage: what it cost where the provider
// said, else as unknown.
func (s *Service) meterFailure(ctx context.Context, f *flight, u *llm.Unavailable) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := s.store.MeterFailure(ctx, f.entry(u.Usage, u.Provider, u.Model, u.Reason, s.now())); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "usage of a failed decide not recorded", f.ids("error", err)...)
	}
}

func (f *flight) row(d llm.Decision, at time.Time, latency time.Duration) Row {
	return Row{Tenant: f.fence.Tenant, Task: f.fence.Task, Attempt: f.fence.Attempt, StepIndex: -1, Host: f.fence.Host, Key: f.request.Key, BodyHash: f.body,
		SystemPrompt: f.request.System, UserPrompt: f.request.User, Tools: f.request.Tools.Specs(), Tool: d.Call.Tool, Arguments: d.Call.Arguments,
		Screenshot: f.picture, Usage: d.Usage, Provider: d.Provider, Model: d.Model, ProviderRequestID: d.ProviderRequestID,
		RequestID: f.requestID, At: at, Latency: latency}
}

func (f *flight) entry(u llm.Usage, provider, model string, reason llm.Reason, at time.Time) usage.Entry {
	return usage.Entry{Tenant: f.fence.Tenant, Host: string(f.fence.Host), Task: string(f.fence.Task), Attempt: f.fence.Attempt,
		Provider: provider, Model: model, At: at, Usage: u, Reason: reason}
}

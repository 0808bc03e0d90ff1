package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"interlock/internal/bridge/credential"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/sleep"
)

// run makes an opened call and closes its record.
func (s *Service) run(ctx context.Context, c *call) (json.RawMessage, error) {
	calling, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	result, err := s.invoke(calling, c)
	s.conclude(ctx, c, result, err)
	return result, err
}

// invoke gets the credential at the last moment, calls the app and holds its
// answer against the operation's Result.
func (s *Service) invoke(ctx context.Context, c *call) (json.RawMessage, error) {
	var credential secret.String
	if c.offer.App.Credential {
		var err error
		if credential, err = s.credential(ctx, c); err != nil {
			return nil, err
		}
	}
	result, err := s.contain(ctx, c, func(app App) (json.RawMessage, error) {
		return app.Invoke(ctx, c.record.Operation, c.checked, credential)
	})
	if err != nil {
		return nil, s.blame(ctx, c, err)
	}
	if result, err = c.offer.CheckResult(result); err != nil {
		s.cfg.Logger.ErrorContext(ctx, "app answered what it does not publish", c.ids("error", err)...)
		return nil, fault.ErrInternal
	}
	return result, nil
}

func (s *Service) credential(ctx context.Context, c *call) (secret.String, error) {
	if s.credentials == nil {
		return secret.String{}, credential.ErrMissing
	}
	value, err := s.credentials.Reveal(ctx, c.record.Tenant, c.record.App)
	if err == nil || errors.Is(err, credential.ErrMissing) || errors.Is(err, credential.ErrUnreadable) {
		return value, err
	}
	return value, errUnread.Because(err) // the store's failure, and none of the tenant's
}

// contain asks the app, and makes a panic of it the failure of this one call.
func (s *Service) contain(ctx context.Context, c *call, ask func(App) (json.RawMessage, error)) (result json.RawMessage, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			// Only its type: the value may hold what a log must not.
			s.cfg.Logger.ErrorContext(ctx, "app panicked", c.ids("cause", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))...)
			result, err = nil, fault.ErrInternal
		}
	}()
	return ask(s.apps[c.record.App])
}

// blame sorts an app's error: the two that it may return, our own timeout, or
// a defect.
func (s *Service) blame(ctx context.Context, c *call, err error) error {
	var known *fault.Error
	switch {
	case errors.As(err, &known) && (known.Code == "credential_rejected" || known.Code == "upstream_unavailable" || known == fault.ErrInternal):
		return known
	case ctx.Err() != nil:
		return errUpstream
	}
	return s.defect(ctx, c, err)
}

// defect tells the log the type of an app's error, whose text may hold what a
// log must not, and the caller nothing.
func (s *Service) defect(ctx context.Context, c *call, err error) error {
	s.cfg.Logger.ErrorContext(ctx, "app failed in a way that it does not publish", c.ids("cause", fmt.Sprintf("%T", err))...)
	return fault.ErrInternal
}

// The tries to close a record. Together with the waits before them they end
// well before Run takes the call for interrupted.
const (
	closeTries   = 3
	closeTimeout = 3 * time.Second
	closePause   = 100 * time.Millisecond
)

// conclude ends the record: the reply is kept for repeats, a failure gives the
// unit back. If the store takes none of the tries the caller gets the answer
// all the same, since it is true, and only that it is not remembered is lost:
// the record stays open until Run closes it as interrupted, with its unit.
// Until then a repeat of the key is refused as in flight, and after that it is
// made again, or refused where the operation changes something. A failed call
// whose record could not be closed keeps its unit, so that the error is never
// to the quota's disadvantage.
func (s *Service) conclude(ctx context.Context, c *call, result json.RawMessage, err error) {
	closing := Closing{Tenant: c.record.Tenant, ID: c.record.ID, Verdict: OK, Duration: s.now().Sub(c.record.OpenedAt), Reply: result}
	if err != nil {
		closing.Verdict, closing.Reply, closing.Refund = fault.Of(err).Code, nil, true
	}
	var failure error
	for try := range closeTries {
		_ = sleep.For(ctx, time.Duration(try)*closePause) // ctx has no end
		if failure = s.tryClose(ctx, closing); failure == nil {
			break
		}
	}
	if failure != nil {
		s.cfg.Logger.ErrorContext(ctx, "call not closed; it will be taken for interrupted", c.ids("verdict", closing.Verdict, "error", fault.Of(failure).Code)...)
		return
	}
	if closing.Refund {
		s.refunded(ctx, c)
	}
}

func (s *Service) tryClose(ctx context.Context, closing Closing) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	return s.store.CloseCall(ctx, closing)
}

// refunded reads the meter again, since others may have moved it too.
func (s *Service) refunded(ctx context.Context, c *call) {
	ctx, cancel := context.WithTimeout(ctx, refuseTimeout)
	defer cancel()
	s.meter(ctx, c)
}

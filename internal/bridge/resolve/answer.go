package resolve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/policy"
)

// The statuses of a Resolution.
const (
	Resolved       = "resolved"
	NoMatchingTool = "no_matching_tool"
)

// Resolution is the answer to an instruction: one call that the site may ask
// the gateway for, or the reason why there is none. Apart from Status, Reason
// and Selector its fields are empty where there is none.
type Resolution struct {
	Status     string          // Resolved or NoMatchingTool
	Reason     selector.Reason // "" if resolved
	Selector   string          // who spoke last
	Capability string
	App        catalog.AppID
	Operation  string
	Arguments  json.RawMessage
	Risk       policy.Risk
	// Confirmation says that policy or the app's author want a person to agree.
	// The site must not pass such a call on by itself; the gateway refuses it.
	Confirmation bool
}

// errLog is what a caller hears where the store could not take the record.
var errLog = fault.New(fault.Unavailable, "log_unavailable", "the instruction could not be recorded, so it has no answer; try again").Retry(time.Second)

const (
	selectTimeout = time.Minute     // of the selector, whatever its model's own is
	recordTimeout = 5 * time.Second // of the record
)

// Resolve answers one instruction. Its refusals, in the order checked:
// catalog.ErrSuspended, catalog.ErrInactive, insufficient_scope,
// invalid_instruction; log_unavailable where the record could not be
// committed. Other errors are those of the store and of the selector. It
// blocks as long as the selector, a minute at most, and the commit.
func (s *Service) Resolve(ctx context.Context, c site.Caller, requestID, instruction string) (Resolution, error) {
	began := s.now()
	st, err := s.admit(ctx, c, instruction)
	if err != nil {
		return Resolution{}, err
	}
	j, err := s.judge(ctx, c, st, instruction)
	if err != nil {
		return Resolution{}, fmt.Errorf("select a tool: %w", err)
	}
	r := Record{ID: uuid.Must(uuid.NewV7()).String(), Tenant: c.Tenant, Site: c.Site, RequestID: requestID, At: began,
		Hash: sha256.Sum256([]byte(instruction)), Selector: j.proposal.Selector, Reason: j.reason,
		Effect: j.verdict.Effect, Rule: j.verdict.Rule, Revision: j.verdict.Revision}
	if j.found {
		r.Capability, r.App, r.Operation = j.offer.Operation.Capability, j.offer.App.ID, j.offer.Operation.Name
	}
	if st.Tenant.KeepInstructions {
		r.Instruction = instruction
	}
	r.Duration = s.now().Sub(began)
	if err := s.record(ctx, r); err != nil {
		return Resolution{}, err
	}
	s.outcomes.Add(cmp.Or(string(r.Reason), Resolved))
	s.cfg.Logger.InfoContext(ctx, "instruction", "request", requestID, "tenant", c.Tenant, "site", c.Site, "resolution", r.ID,
		"selector", r.Selector, "reason", r.Reason, "app", r.App, "operation", r.Operation, "duration", r.Duration)
	return j.answer(), nil
}

// admit refuses what is not for a selector to see.
func (s *Service) admit(ctx context.Context, c site.Caller, instruction string) (catalog.Standing, error) {
	st, err := s.catalog.Standing(ctx, c.Tenant)
	if err != nil {
		return st, err
	}
	if err := st.Admits(s.now()); err != nil {
		return st, err
	}
	if !c.Has(Scope) {
		return st, fault.New(fault.Forbidden, "insufficient_scope", "the token does not carry the scope %s; sign one that does", Scope)
	}
	if len(instruction) < 1 || len(instruction) > selector.MaxInstruction || !utf8.ValidString(instruction) {
		return st, fault.New(fault.Invalid, "invalid_instruction", "send an instruction of 1 to %d bytes of UTF-8", selector.MaxInstruction)
	}
	return st, nil
}

// record commits r, also if the caller has left: what was decided is then in
// the log without having been answered, never the other way round.
func (s *Service) record(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := s.store.RecordResolution(ctx, r); err != nil {
		return errLog.Because(fmt.Errorf("record resolution %s: %w", r.ID, err))
	}
	return nil
}

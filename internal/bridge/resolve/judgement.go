package resolve

import (
	"context"
	"encoding/json"
	"slices"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/policy"
)

// judgement is what became of a proposal.
type judgement struct {
	proposal  selector.Proposal
	found     bool // the proposal names an operation that the tenant is offered
	offer     catalog.Offer
	arguments json.RawMessage // as the schema let them through
	verdict   policy.Verdict  // zero: policy was not asked
	reason    selector.Reason // "": it passed
}

// judge asks the selector and believes nothing of its answer: that is matched
// with the offers again, validated, compared with the instruction and put to
// the tenant's policy, in this order.
func (s *Service) judge(ctx context.Context, c site.Caller, st catalog.Standing, instruction string) (judgement, error) {
	offers := s.catalog.Offers(st)
	ctx, cancel := context.WithTimeout(ctx, selectTimeout)
	defer cancel()
	p, err := s.selector.Select(ctx, selector.Request{Tenant: c.Tenant, Site: c.Site, Instruction: instruction, Offers: offers})
	if err != nil {
		return judgement{}, err
	}
	j := judgement{proposal: p, reason: p.Reason}
	if j.reason == "" && p.Capability == "" {
		j.reason = selector.NoMatch
	}
	for _, check := range []func(){
		func() { j.match(offers) },
		func() { j.validate() },
		func() { j.compare(instruction) },
		func() { j.permit(st.Tenant.Policy) },
	} {
		if j.reason == "" {
			check()
		}
	}
	return j, nil
}

// match finds what the proposal names. A capability means one operation at
// most among those that selectors may propose: the catalog sees to that.
func (j *judgement) match(offers []catalog.Offer) {
	i := slices.IndexFunc(offers, func(o catalog.Offer) bool { return o.Operation.Capability == j.proposal.Capability })
	if i < 0 {
		j.reason = selector.NotOffered
		return
	}
	j.found, j.offer = true, offers[i]
}

func (j *judgement) validate() {
	arguments, err := j.offer.Check(j.proposal.Arguments)
	if err != nil {
		j.reason = selector.BadArguments
		return
	}
	j.arguments = arguments
}

// compare requires that values which must come from the instruction do.
func (j *judgement) compare(instruction string) {
	var values map[string]any
	if err := json.Unmarshal(j.arguments, &values); err != nil {
		j.reason = selector.BadArguments
		return
	}
	for _, name := range j.offer.Operation.Verbatim {
		value, given := values[name]
		text, _ := value.(string) // the catalog has it declared as a string
		if given && !selector.Stands(instruction, text) {
			j.reason = selector.NotVerbatim
			return
		}
	}
}

func (j *judgement) permit(doc policy.Document) {
	j.verdict = policy.Evaluate(doc, j.offer.Facts())
	if j.verdict.Effect == policy.Deny {
		j.reason = selector.PolicyDenied
	}
}

// answer tells the site of what passed, and only the reason of what didn't.
func (j *judgement) answer() Resolution {
	if j.reason != "" {
		return Resolution{Status: NoMatchingTool, Reason: j.reason, Selector: j.proposal.Selector}
	}
	o := j.offer.Operation
	return Resolution{Status: Resolved, Selector: j.proposal.Selector, Capability: o.Capability, App: j.offer.App.ID, Operation: o.Name,
		Arguments: j.arguments, Risk: o.Risk, Confirmation: j.verdict.Effect != policy.Allow}
}

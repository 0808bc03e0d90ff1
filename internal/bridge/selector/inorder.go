package selector

import "context"

// InOrder asks first, and model only where first found nothing that looks like
// an answer (no_match). Model may be nil: there is none.
func InOrder(first, model ToolSelector) ToolSelector {
	if model == nil {
		return first
	}
	return inOrder{first, model}
}

type inOrder struct{ first, model ToolSelector }

// Select implements ToolSelector.
func (s inOrder) Select(ctx context.Context, r Request) (Proposal, error) {
	p, err := s.first.Select(ctx, r)
	if err != nil || p.Reason != NoMatch {
		return p, err
	}
	return s.model.Select(ctx, r)
}

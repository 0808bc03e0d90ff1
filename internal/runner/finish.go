package runner

import (
	"context"
	"strings"
	"unicode/utf8"

	"interlock/internal/device"
	"interlock/internal/planner"
)

// finish ends the task as the model says, if a claim of success is proven.
func (a *attempt) finish(ctx context.Context, d decision) *end {
	var e *end
	switch {
	case d.call.Tool == planner.Fail:
		e = over(Failed, "gave_up", d.args.Reason)
	case d.args.Status == planner.StatusInfeasible:
		e = over(Infeasible, "", d.args.Summary)
	default:
		now, err := device.Glance(ctx, a.driver)
		if err != nil {
			return a.stop(ctx, d, deviceFailed(ctx, err))
		}
		was := a.scene
		a.replace(now)
		if !proven(d.args.Evidence, &was, &now) {
			return a.unprovenClaim(ctx, d)
		}
		e = over(Succeeded, "", d.args.Summary)
	}
	a.nextStep()
	return a.conclude(ctx, d, Ended, e)
}

// unprovenClaim tells the model once; the second time is the end.
func (a *attempt) unprovenClaim(ctx context.Context, d decision) *end {
	if a.unproven++; a.unproven > 1 {
		a.nextStep()
		return a.conclude(ctx, d, Ended, over(Unverified, "no_evidence", d.args.Summary))
	}
	return a.turnDown(ctx, d, refuse("no_evidence", "Your evidence is not on the screen now. Name an element or a text that is there and shows that the goal is reached, or go on."))
}

// minEvidenceRunes keeps a lone letter, which is on every screen, from
// proving anything.
const minEvidenceRunes = 2

// proven reports whether the evidence that a finish gives is on the screen
// now. It is the ref of an element of the scene that the decision was made on,
// which must still be there and say something, or a text that an element
// shows; case and the amount of space don't matter.
func proven(evidence string, was, now *device.Scene) bool {
	if e, ok := was.Element(strings.TrimSpace(evidence)); ok {
		found, still := now.Find(e)
		return still && (found.Text != "" || found.Label != "") && found.Text == e.Text &&
			found.Flags&(device.Checked|device.Selected) == e.Flags&(device.Checked|device.Selected)
	}
	want := strings.ToLower(device.Clean(evidence, device.MaxTextRunes))
	if utf8.RuneCountInString(want) < minEvidenceRunes {
		return false
	}
	for _, e := range now.Elements {
		if strings.Contains(strings.ToLower(e.Text), want) || strings.Contains(strings.ToLower(e.Label), want) {
			return true
		}
	}
	return false
}

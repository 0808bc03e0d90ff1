// Package policy gives the deterministic verdict on a proposed call: allow,
// deny or confirm, with the rule that decided and the policy's revision.
//
// Evaluate is pure. It sees only a Document and the Facts that its caller
// filled in, reads no clock and no network, and gives the same verdict for the
// same two arguments. Every rule is asked; deny beats confirm beats allow, and
// between equals the first rule in the order below decides. What a rule does
// not know it denies: an unknown tool, an unknown risk, an app that can't be
// told beforehand. Confirm asks for a person's answer; a caller that has no
// way to ask treats it as deny (Verdict.Allows).
package policy

import (
	"fmt"
	"slices"
)

// Document is one revision of a policy. The zero Document allows every tool
// that is offered, in any app, up to the highest risk.
type Document struct {
	Revision        string   `json:"revision"`
	AllowedTools    []string `json:"allowed_tools,omitzero"`    // empty: all that are offered
	MaxRisk         Risk     `json:"max_risk,omitzero"`         // "": high
	AllowedPackages []string `json:"allowed_packages,omitzero"` // apps that may be acted on; empty: any
	// ConfirmWords are words and phrases; a call that touches something whose
	// name contains one needs a person's confirmation. nil: those of
	// DefaultConfirmWords; empty: none.
	ConfirmWords []string `json:"confirm_words,omitzero"`
	// Reversible are tools whose calls can be taken back or made again without
	// harm in this task's apps, Irreversible those whose calls can't. See
	// Classify.
	Reversible   []string `json:"reversible,omitzero"`
	Irreversible []string `json:"irreversible,omitzero"`
}

// Risk is how much harm a call can do.
type Risk string

// The risks, lowest first.
const (
	Low    Risk = "low"    // looks or navigates
	Medium Risk = "medium" // can change something in an app
	High   Risk = "high"   // reaches outside the phone's own apps, or can't be undone
)

func (r Risk) rank() int { return slices.Index([]Risk{Low, Medium, High}, r) }

// Effect is what a verdict says.
type Effect string

// The effects.
const (
	Allow   Effect = "allow"
	Confirm Effect = "confirm"
	Deny    Effect = "deny"
)

// Verdict is the answer to one call.
type Verdict struct {
	Effect   Effect `json:"effect"`
	Rule     string `json:"rule"`     // which rule decided; "default" where none objected
	Revision string `json:"revision"` // of the Document
	Reason   string `json:"reason"`   // one sentence, fit for a person and for the model; no argument in it
}

// Allows reports whether the call may go ahead without asking anybody.
func (v Verdict) Allows() bool { return v.Effect == Allow }

// Reach is what a call can touch.
type Reach string

// The reaches.
const (
	ReachNothing  Reach = "nothing"  // waiting, ending the task, leaving an app
	ReachApp      Reach = "app"      // the app named in Facts.App
	ReachAnywhere Reach = "anywhere" // an app that can't be told beforehand
)

// Facts are what the caller knows of one proposed call.
type Facts struct {
	Tool string
	Risk Risk // as the tool's owner rates it; anything but the three is denied
	// Ends says that the call only ends the task. It is never refused for the
	// tool allow-list, so that a task can always be given up.
	Ends  bool
	Reach Reach
	App   string // the package that ReachApp means
	// AppLock is the task's own list of packages; empty: none.
	AppLock []string
	// PasswordField says that the call types into a password field, so that
	// its arguments would put a password into prompts and records.
	PasswordField bool
	// Names are what the thing that the call touches shows, is described as
	// and is called by its app.
	Names []string
	// Reversible says that what this call does can surely be taken back. It
	// plays no part in the verdict; see Classify.
	Reversible bool
	// Confirm says that the tool's owner wants a person's answer to each call.
	Confirm bool
}

// rule gives an effect and its reason, or "" where it has no objection.
type rule struct {
	name string
	says func(Document, Facts) (Effect, string)
}

// rules in the order in which they are named when several give the effect
// that decides.
var rules = []rule{
	{"tool_allow_list", toolAllowed},
	{"risk_ceiling", riskWithin},
	{"allowed_packages", packageAllowed},
	{"app_lock", appLocked},
	{"password_field", passwordTyped},
	{"confirm_words", wordTouched},
	{"confirmation", confirmationWanted},
}

// Evaluate returns the verdict on f under doc.
func Evaluate(doc Document, f Facts) Verdict {
	v := Verdict{Effect: Allow, Rule: "default", Revision: doc.Revision, Reason: "no rule objects"}
	for _, r := range rules {
		effect, reason := r.says(doc, f)
		if effect != "" && severity(effect) > severity(v.Effect) {
			v.Effect, v.Rule, v.Reason = effect, r.name, reason
		}
	}
	return v
}

func severity(e Effect) int { return slices.Index([]Effect{Allow, Confirm, Deny}, e) }

func toolAllowed(doc Document, f Facts) (Effect, string) {
	if f.Ends || len(doc.AllowedTools) == 0 || slices.Contains(doc.AllowedTools, f.Tool) {
		return "", ""
	}
	return Deny, "the policy does not allow this tool; use one of the others, or give up with fail"
}

func riskWithin(doc Document, f Facts) (Effect, string) {
	ceiling := doc.MaxRisk
	if ceiling == "" {
		ceiling = High
	}
	switch {
	case f.Risk.rank() < 0:
		return Deny, "the risk of this tool is not known"
	case ceiling.rank() < 0:
		return Deny, "the policy's risk ceiling is not one of low, medium and high"
	case f.Risk.rank() > ceiling.rank():
		return Deny, fmt.Sprintf("this tool's risk is %s and the policy allows at most %s", f.Risk, ceiling)
	}
	return "", ""
}

func packageAllowed(doc Document, f Facts) (Effect, string) {
	return within(doc.AllowedPackages, f, "the policy")
}

func appLocked(_ Document, f Facts) (Effect, string) {
	return within(f.AppLock, f, "the task's app lock")
}

// within holds a call to the packages in list.
func within(list []string, f Facts, whose string) (Effect, string) {
	if len(list) == 0 || f.Reach == ReachNothing {
		return "", ""
	}
	if f.Reach == ReachApp && slices.Contains(list, f.App) {
		return "", ""
	}
	if f.Reach != ReachApp {
		return Deny, whose + " names the apps that may be used, and which app this call reaches is not known beforehand"
	}
	return Deny, whose + " does not allow acting in this app; open an allowed app, or give up with fail"
}

func passwordTyped(_ Document, f Facts) (Effect, string) {
	if !f.PasswordField {
		return "", ""
	}
	return Confirm, "typing into a password field needs a person's confirmation"
}

func wordTouched(doc Document, f Facts) (Effect, string) {
	w, found := doc.confirmWord(f.Names)
	if !found {
		return "", ""
	}
	return Confirm, fmt.Sprintf("what this call touches is named with %q, which needs a person's confirmation", w)
}

func confirmationWanted(_ Document, f Facts) (Effect, string) {
	if !f.Confirm {
		return "", ""
	}
	return Confirm, "each call of this tool needs a person's confirmation"
}

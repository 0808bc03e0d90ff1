package catalog

import (
	"encoding/json"
	"slices"

	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/tool"
)

// publisher lints apps and compiles their operations. It goes on after a
// problem, so that an author hears of all of them at once.
type publisher struct {
	wrong        fault.Problems
	apps         map[AppID]bool
	tools        map[string]bool
	capabilities map[string]bool // that selectors may propose
	offers       []Offer
}

// publish returns the operations of all apps, by app and name. Its fault is
// invalid_app.
func publish(apps []App) ([]Offer, error) {
	p := publisher{apps: map[AppID]bool{}, tools: map[string]bool{}, capabilities: map[string]bool{}}
	for _, a := range apps {
		p.app(a)
	}
	return p.offers, p.wrong.Refuse("invalid_app", "the apps that this server publishes")
}

func (p *publisher) app(a App) {
	p.wrong.Require(WellFormed(string(a.ID)), "app id %.40q is not 1 to %d of a-z, 0-9 and '_', first a letter", a.ID, maxName)
	p.wrong.Require(!slices.Contains(Reserved, string(a.ID)), "app id %q is a reserved word", a.ID)
	p.wrong.Require(!p.apps[a.ID], "app %q is published twice", a.ID)
	p.apps[a.ID] = true
	p.wrong.Require(a.Title != "" && len(a.Title) <= maxTitle && legible(a.Title), "the title of app %q is not 1 to %d printable bytes", a.ID, maxTitle)
	p.wrong.Require(len(a.Description) <= maxText && legible(a.Description), "the description of app %q is longer than %d bytes or not printable", a.ID, maxText)
	p.wrong.Require(len(a.Operations) > 0, "app %q has no operation", a.ID)
	for _, o := range slices.SortedFunc(slices.Values(a.Operations), byName) {
		p.operation(a, o)
	}
}

func (p *publisher) operation(a App, o Operation) {
	name := toolName(a.ID, o.Name)
	p.wrong.Require(WellFormed(o.Name), "the operation name %.40q of app %q is not 1 to %d of a-z, 0-9 and '_', first a letter", o.Name, a.ID, maxName)
	p.wrong.Require(len(name) <= maxToolName, "%s is longer than %d bytes: shorten the app's id or the operation's name", name, maxToolName)
	p.wrong.Require(!p.tools[name], "%s is published twice", name)
	p.tools[name] = true
	p.wrong.Require(dotted(o.Capability), "the capability of %s is not up to %d bytes of small words with dots between them", name, maxCapability)
	p.wrong.Require(o.Description != "" && len(o.Description) <= maxText && legible(o.Description), "the description of %s is not 1 to %d printable bytes", name, maxText)
	p.wrong.Require(slices.Contains([]policy.Risk{policy.Low, policy.Medium, policy.High}, o.Risk), "the risk of %s is not one of low, medium and high", name)
	arguments := tool.Spec{Name: name, Description: o.Description, Parameters: o.Arguments}
	p.arguments(name, o)
	if o.AgentVisible {
		p.proposable(name, o, arguments)
	}
	p.offers = append(p.offers, Offer{App: a, Operation: o,
		tools:   p.compile(name, "arguments", arguments),
		results: p.compile(name, "result", tool.Spec{Name: name, Parameters: o.Result}),
	})
}

// proposable holds an operation to what selectors need: schemas that vendors
// take, and a capability that means one operation, since nobody may pick.
func (p *publisher) proposable(name string, o Operation, spec tool.Spec) {
	p.wrong.Require(!p.capabilities[o.Capability], "%s has the capability of another operation that selectors may propose", name)
	p.capabilities[o.Capability] = true
	for _, found := range tool.Lint([]tool.Spec{spec}) {
		p.wrong.Require(found.Severity != tool.Refused, "%v", found)
	}
}

// arguments checks what JSON Schema has no word for: that the schema is closed
// and declares each argument that the operation names elsewhere.
func (p *publisher) arguments(name string, o Operation) {
	var root struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Additional any `json:"additionalProperties"`
	}
	if err := json.Unmarshal(o.Arguments, &root); err != nil {
		return // compile tells
	}
	p.wrong.Require(root.Additional == false, `the arguments of %s must say "additionalProperties": false at the root`, name)
	for _, argument := range slices.Concat(o.Verbatim, o.Recorded) {
		p.wrong.Require(root.Properties[argument].Type == "string", "%s names the argument %.40q, which its schema does not declare as a string", name, argument)
	}
}

func (p *publisher) compile(name, what string, spec tool.Spec) *tool.Set {
	set, err := tool.NewSet([]tool.Spec{spec})
	if err != nil {
		p.wrong.Add("the %s schema of %s: %v", what, name, err)
	}
	return set
}

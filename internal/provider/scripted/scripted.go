// Package scripted answers decisions from a rule file: for rehearsals and
// tests without a model. It is no model, says so in each decision, and reports
// no usage. It sends nothing anywhere.
//
// A script is a JSON document:
//
//	{
//	  "about": "what the script rehearses",
//	  "rules": [
//	    {
//	      "name": "open the settings",
//	      "if": {
//	        "prompt": ["app sim.home"],
//	        "screen": ["Settings"],
//	        "screen_lacks": ["Loading"]
//	      },
//	      "call": {"tool": "tap", "arguments": {"ref": {"find": "Settings", "role": "button"}}}
//	    }
//	  ]
//	}
//
// The rules are tried in order and the first that applies makes the call. All
// of a rule's conditions must hold, and each is optional:
//
//	screen         every text occurs in the line of some element on the screen
//	screen_lacks   none does
//	prompt         every text occurs in the user prompt: goal, history, screen
//	prompt_lacks   none does
//	prompt_matches the regular expression (RE2) matches the user prompt
//
// An argument written as {"find": text} becomes the ref of the first element
// with that text or label, else of the first that contains it; "role" narrows
// the choice. A rule whose element is not on the screen doesn't apply.
//
// An element is a line of the prompt such as
//
//	[e5] button "Settings" label "Open settings" clickable
//
// A script holds no state: the same prompt gets the same call, in whichever
// attempt, so a task that is tried again is rehearsed again. What happened
// before is in the history that the prompt carries. A call passes llm.Accept
// like a model's; a prompt that no rule fits is no_call.
package scripted

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
)

// Name and Model are what decisions of a script carry.
const (
	Name  = "scripted"
	Model = "scripted (no model)"
)

// Script is an llm.ToolCaller. It is immutable and safe for concurrent use.
type Script struct{ rules []rule }

// Decide implements llm.ToolCaller. It doesn't block.
func (s *Script) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	if ctx.Err() != nil {
		u := llm.AsUnavailable(ctx.Err())
		u.Provider, u.Model = Name, Model
		return llm.Decision{}, u
	}
	view := see(r.User)
	for _, rule := range s.rules {
		if call, applies := rule.apply(view); applies {
			return llm.Accept(r.Tools, llm.Reply{Calls: []llm.RawCall{call}, Provider: Name, Model: Model})
		}
	}
	return llm.Decision{}, &llm.Unavailable{Reason: llm.NoCall, Provider: Name, Model: Model,
		Detail: "no rule of the script fits this screen; add one, or take a real provider"}
}

// apply returns the rule's call for what is in view.
func (r rule) apply(v view) (llm.RawCall, bool) {
	if !r.If.hold(v) {
		return llm.RawCall{}, false
	}
	filled := make(map[string]jsontext.Value, len(r.Call.Arguments))
	for name, value := range r.Call.Arguments {
		if f, isFind := r.finds[name]; isFind {
			ref, found := v.find(f)
			if !found {
				return llm.RawCall{}, false
			}
			value, _ = jsontext.AppendQuote(nil, ref) // U+FFFD where ref is not UTF-8
		}
		filled[name] = value
	}
	args, err := json.Marshal(filled, json.Deterministic(true))
	return llm.RawCall{Name: r.Call.Tool, Arguments: args}, err == nil
}

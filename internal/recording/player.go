package recording

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/planner"
	"interlock/internal/runner"
	"interlock/internal/tool"
)

// PlayerName is the provider and the model that each proposal of a Player
// names.
const PlayerName = "recording"

// Player proposes the calls of a recording again. It is safe for concurrent
// use.
type Player struct {
	turns []Turn // those that were carried out, a step each
	mask  masker
}

// NewPlayer returns a player of r. texts take the place of those that were
// masked, in order; there must be as many.
func NewPlayer(r Recording, texts []string) (*Player, error) {
	if len(texts) != r.Task.Texts {
		return nil, fault.New(fault.Invalid, "recording_texts", "texts of the recording are masked: %d; given in their place: %d; give each with --text, in the order of typing", r.Task.Texts, len(texts))
	}
	p := &Player{mask: masker{on: r.Task.Masked, typed: texts}}
	for _, t := range r.Turns {
		if t.Outcome == runner.Done || t.Outcome == runner.Ended {
			p.turns = append(p.turns, t)
		}
	}
	return p, nil
}

// Plan proposes the call of the step that in is at, aimed at the same element
// on the screen that is there now; or it gives up.
func (p *Player) Plan(ctx context.Context, in planner.Input) (planner.Proposal, error) {
	if ctx.Err() != nil {
		return planner.Proposal{}, llm.AsUnavailable(ctx.Err())
	}
	if in.Step < 1 || in.Step > len(p.turns) {
		return giveUp("the recording ends here")
	}
	t := p.turns[in.Step-1]
	args, why := p.aim(t, &in.Scene)
	if why != "" {
		return giveUp(fmt.Sprintf("step %d: %s", in.Step, why))
	}
	return propose(t.Tool, args), nil
}

func giveUp(reason string) (planner.Proposal, error) {
	args, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return planner.Proposal{}, err
	}
	return propose(planner.Fail, args), nil
}

func propose(name string, args jsontext.Value) planner.Proposal {
	return planner.Proposal{Call: tool.Call{Tool: name, Arguments: []byte(args)}, Usage: llm.Usage{Input: llm.Known(0), Output: llm.Known(0)},
		Provider: PlayerName, Model: PlayerName, StepIndex: -1}
}

// aim returns the arguments of t for the screen now, or why there are none.
func (p *Player) aim(t Turn, now *device.Scene) (args jsontext.Value, why string) {
	a, err := planner.ReadArguments(tool.Call{Tool: t.Tool, Arguments: []byte(t.Arguments)})
	if err != nil {
		return nil, "its arguments are not those of its tool"
	}
	if (a.X != nil || a.Y != nil) && t.Scene.Hash != now.Hash {
		return nil, "it touches a bare point, and the screen is not as it was recorded"
	}
	refs := map[string]string{}
	for _, old := range []string{a.Ref, a.Evidence} {
		if e, i, ok := t.Scene.element(old); ok {
			ref, found := p.find(&t.Scene, e, i, now)
			if !found {
				return nil, fmt.Sprintf("no %s of the screen is the one that was recorded, or nobody can tell which", orElement(e.Role))
			}
			refs[old] = ref
		}
	}
	return p.restored(t.Arguments, refs), ""
}

func orElement(role string) string {
	if role == "" {
		return "element"
	}
	return role
}

// element returns the element that ref names, and its place.
func (s *Scene) element(ref string) (Element, int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(ref, "e"))
	if err != nil || !strings.HasPrefix(ref, "e") || n < 1 || n > len(s.Elements) {
		return Element{}, 0, false
	}
	return s.Elements[n-1], n - 1, true
}

// find returns the ref of what e of the scene was is now: the one that goes by
// the same names, and where there are several the one in the same place among
// as many.
func (p *Player) find(was *Scene, e Element, at int, now *device.Scene) (string, bool) {
	nth, many := 0, 0
	for i, o := range was.Elements {
		if alike(o, e) {
			many++
			if i < at {
				nth++
			}
		}
	}
	var refs []string
	for _, o := range now.Elements {
		if alike(p.mask.element(elementOf(o)), e) {
			refs = append(refs, o.Ref)
		}
	}
	if len(refs) != many {
		return "", false
	}
	return refs[nth], true
}

// alike compares what an element goes by; what a field holds is none of it.
func alike(a, b Element) bool {
	editable := func(e Element) bool { return slices.Contains(e.Flags, "editable") }
	return a.ID == b.ID && a.Role == b.Role && a.Label == b.Label && editable(a) == editable(b) && (a.Text == b.Text || editable(a))
}

// restored puts the texts and the refs of now into the arguments.
func (p *Player) restored(args jsontext.Value, refs map[string]string) jsontext.Value {
	var values map[string]any
	if json.Unmarshal(args, &values) != nil {
		return args
	}
	for name, v := range values {
		s, ok := v.(string)
		if !ok {
			continue
		}
		if ref, is := refs[s]; is && (name == "ref" || name == "evidence") {
			values[name] = ref
		} else if slices.Contains(free, name) && p.mask.on {
			values[name] = p.unmask(s)
		}
	}
	out, err := json.Marshal(values, json.Deterministic(true))
	if err != nil {
		return args
	}
	return out
}

func (p *Player) unmask(s string) string {
	for n, text := range p.mask.typed {
		s = strings.ReplaceAll(s, mark(n), text)
	}
	return s
}

package recording

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"interlock/internal/device"
	"interlock/internal/planner"
	"interlock/internal/runner"
	"interlock/internal/wholefile"
)

// Options say what a recording holds. The zero value masks and has no
// pictures.
type Options struct {
	Unmasked bool
	Images   bool
}

// Recorder records one attempt. It is safe for concurrent use.
type Recorder struct {
	opts Options

	mu     sync.Mutex
	rec    Recording                     // guarded by mu; not masked
	images map[string]*device.Screenshot // guarded by mu; by file name
}

// New returns a recorder of an attempt at t.
func New(t runner.Task, o Options) *Recorder {
	return &Recorder{opts: o, images: map[string]*device.Screenshot{},
		rec: Recording{Task: Task{Version: version, Goal: t.Goal, AppLock: t.AppLock, Policy: t.Policy, Masked: !o.Unmasked}}}
}

// Planner returns p with its decisions recorded.
func (r *Recorder) Planner(p planner.Planner) planner.Planner { return recorded{p, r} }

type recorded struct {
	planner.Planner
	to *Recorder
}

func (p recorded) Plan(ctx context.Context, in planner.Input) (planner.Proposal, error) {
	proposal, err := p.Planner.Plan(ctx, in)
	if err == nil {
		p.to.decided(in, proposal)
	}
	return proposal, err
}

func (r *Recorder) decided(in planner.Input, p planner.Proposal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Task.Device = Device{in.Device.Platform, in.Device.Model, in.Device.Version}
	t := Turn{Step: in.Step, Scene: sceneOf(&in.Scene), Tool: p.Call.Tool, Arguments: []byte(p.Call.Arguments), Provider: p.Provider, Model: p.Model}
	if shot := in.Scene.Screenshot; r.opts.Images && shot != nil {
		t.Image = fmt.Sprintf("%04d.png", len(r.rec.Turns)+1)
		if bytes.HasPrefix(shot.Bytes(), []byte("\xff\xd8")) {
			t.Image = fmt.Sprintf("%04d.jpg", len(r.rec.Turns)+1)
		}
		r.images[t.Image] = shot
	}
	r.rec.Turns = append(r.rec.Turns, t)
}

// Step tells what became of a decision.
func (r *Recorder) Step(e runner.StepEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Decision < 0 || e.Decision >= len(r.rec.Turns) {
		return
	}
	t := &r.rec.Turns[e.Decision]
	t.Effect, t.Rule, t.Outcome, t.Detail, t.DurationMS = e.Verdict.Effect, e.Verdict.Rule, e.Outcome, e.Detail, e.Duration.Milliseconds()
	if t.Rule == "password_field" { // what was meant for it is nobody's to keep
		t.Arguments = rewrite(t.Arguments, func(string) string { return maskSecret })
	}
}

// Save writes the recording of an attempt that ended as end to the file at
// path, and its pictures, if any, to the folder path + ".images".
func (r *Recorder) Save(path string, end runner.Result) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.End = End{end.State, end.Reason, end.Summary, end.Steps}
	if err := r.saveImages(path + ".images"); err != nil {
		return fmt.Errorf("save the recording's pictures: %w", err)
	}
	content, err := r.masked().encode()
	if err != nil {
		return fmt.Errorf("encode the recording: %w", err)
	}
	if err := wholefile.Replace(path, content); err != nil {
		return fmt.Errorf("save the recording: %w", err)
	}
	return nil
}

func (r *Recorder) saveImages(folder string) error {
	if len(r.images) == 0 {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for name, shot := range r.images {
		if err := wholefile.Replace(filepath.Join(folder, name), shot.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// masked returns what is written; the caller holds mu.
func (r *Recorder) masked() Recording {
	m := masker{on: !r.opts.Unmasked}
	for _, t := range r.rec.Turns {
		var a planner.Arguments
		if json.Unmarshal(t.Arguments, &a) == nil {
			m.learn(personal(t.Tool, a))
		}
	}
	out := r.rec
	out.Task.Goal, out.End.Summary = m.text(out.Task.Goal), m.text(out.End.Summary)
	if m.on {
		out.Task.Texts = len(m.typed)
	}
	out.Turns = nil
	for _, t := range r.rec.Turns {
		t.Scene, t.Arguments = m.scene(t.Scene), m.arguments(t.Arguments)
		out.Turns = append(out.Turns, t)
	}
	return out
}

// encode writes an object a line.
func (r Recording) encode() ([]byte, error) {
	var b bytes.Buffer
	lines := []any{r.Task}
	for _, t := range r.Turns {
		lines = append(lines, t)
	}
	for _, l := range append(lines, r.End) {
		line, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes(), nil
}

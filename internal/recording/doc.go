// Package recording saves what an attempt saw, proposed and did, and plays it
// again without a model.
//
// A Recorder stands between a runner and its planner and is told of each step.
// It keeps everything in memory, and Save writes it in one piece, so a run that
// was killed leaves no file, and never half of one. The file is JSON, an object
// a line: the task, a turn for each decision, the end. Only the user who made
// it may read it (0600).
//
// A recording is masked unless its maker says otherwise: texts that the model
// typed and addresses with a query become ‹text 1›, ‹text 2› … wherever they
// occur, what else fields hold becomes ‹field›, e-mail addresses ‹email›, and
// numbers of six digits and more ‹number›. Names and anything else that a
// screen shows in plain text stay: no rule knows them. Pictures are left out
// unless asked for, since no rule masks them. The content of password fields
// is in no scene, and a text that was meant for one is in no recording.
//
// A Player is a planner that proposes what was carried out, in order, each
// with its element found anew on the screen that is there now. Everything that
// guards a task guards it too. Where the screen is not as it was recorded it
// gives up and says so; it never guesses.
package recording

import (
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/device"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/runner"
)

// Limits of a recording that is read.
const (
	maxFileBytes = 64 << 20
	maxTurns     = 10_000
)

// version is what this program writes and reads.
const version = "interlock-recording/1"

// Recording is one attempt.
type Recording struct {
	Task  Task
	Turns []Turn
	End   End
}

// Task is the first line.
type Task struct {
	Version string          `json:"recording"`
	Goal    string          `json:"goal"`
	Device  Device          `json:"device"`
	AppLock []string        `json:"app_lock,omitzero"`
	Policy  policy.Document `json:"policy"`
	Masked  bool            `json:"masked"`
	Texts   int             `json:"texts"` // how many were masked as ‹text N›
}

// Device says what the attempt ran on.
type Device struct {
	Platform string `json:"platform"`
	Model    string `json:"model"`
	Version  string `json:"version"`
}

// Turn is one decision with the scene that it was made on and what became of
// it. Outcome is "" where the attempt ended before that was known.
type Turn struct {
	Step       int            `json:"step"`
	Scene      Scene          `json:"scene"`
	Tool       string         `json:"tool"`
	Arguments  jsontext.Value `json:"arguments"`
	Effect     policy.Effect  `json:"effect"`
	Rule       string         `json:"rule"`
	Outcome    runner.Outcome `json:"outcome"`
	Detail     string         `json:"detail,omitzero"`
	DurationMS int64          `json:"duration_ms"`
	Provider   string         `json:"provider"`
	Model      string         `json:"model"`
	Image      string         `json:"image,omitzero"` // name of its file in the folder beside the recording
}

// Scene is a device.Scene without its picture. The hash is that of the scene
// itself, before anything was masked.
type Scene struct {
	App       string    `json:"app"`
	Web       bool      `json:"web,omitzero"`
	Tree      string    `json:"tree,omitzero"`
	Width     int       `json:"width"`
	Height    int       `json:"height"`
	Rotation  int       `json:"rotation,omitzero"`
	Keyboard  bool      `json:"keyboard,omitzero"`
	Secure    bool      `json:"secure,omitzero"`
	Opaque    bool      `json:"opaque,omitzero"`
	Unsettled bool      `json:"unsettled,omitzero"`
	Dropped   int       `json:"dropped,omitzero"`
	Hash      string    `json:"hash"`
	Elements  []Element `json:"elements"`
}

// Element is a device.Element; its ref is its place in the list, from e1.
type Element struct {
	ID     string   `json:"id,omitzero"`
	Role   string   `json:"role"`
	Text   string   `json:"text,omitzero"`
	Label  string   `json:"label,omitzero"`
	Bounds [4]int   `json:"bounds"` // left, top, right, bottom
	Flags  []string `json:"flags,omitzero"`
}

// End is the last line.
type End struct {
	State   runner.State `json:"state"`
	Reason  string       `json:"reason,omitzero"`
	Summary string       `json:"summary,omitzero"`
	Steps   int          `json:"steps"`
}

// ErrInvalid is a file that is no recording, or one of another version.
var ErrInvalid = fault.New(fault.Invalid, "invalid_recording", "the file is not a recording that this program can read; make one with: interlock run --record FILE")

func sceneOf(s *device.Scene) Scene {
	out := Scene{App: s.App, Web: s.Web, Tree: string(s.Tree), Width: s.Size.W, Height: s.Size.H, Rotation: s.Rotation, Keyboard: s.KeyboardShown,
		Secure: s.Secure, Opaque: s.Opaque, Unsettled: s.Unsettled, Dropped: s.Dropped, Hash: s.Hash, Elements: []Element{}}
	for _, e := range s.Elements {
		out.Elements = append(out.Elements, elementOf(e))
	}
	return out
}

func elementOf(e device.Element) Element {
	return Element{ID: e.ID, Role: e.Role, Text: e.Text, Label: e.Label, Bounds: [4]int{e.Bounds.X0, e.Bounds.Y0, e.Bounds.X1, e.Bounds.Y1}, Flags: e.Flags.Names()}
}

package runner

import "interlock/internal/tool"

// When going round in circles is warned about and ended.
const (
	warnRepeats   = 3 // the same call on the same scene, over the whole attempt
	stuckRepeats  = 5
	warnUnchanged = 5 // steps in a row that changed nothing
	stuckAfter    = 8
)

// repetition counts what a task does again and again. Because it counts each
// pair of scene and call over the whole attempt, it sees cycles of any length.
// Its zero value is ready for use.
type repetition struct {
	seen      map[string]int
	unchanged int
	warning   string
}

// propose counts one call that is about to be carried out, and reports whether
// the task is stuck.
func (r *repetition) propose(sceneHash string, c tool.Call) (stuck bool) {
	if r.seen == nil {
		r.seen = map[string]int{}
	}
	key := sceneHash + " " + c.Tool + " " + string(c.Arguments)
	r.seen[key]++
	r.warning = ""
	if r.seen[key] >= warnRepeats {
		r.warning = "Warning: you have made this same call on this same screen several times. It does not help. Do something else, or give up with fail."
	}
	return r.seen[key] >= stuckRepeats
}

// observe counts what a step changed, and reports whether the task is stuck.
func (r *repetition) observe(changed bool) (stuck bool) {
	if changed {
		r.unchanged = 0
		return false
	}
	r.unchanged++
	if r.warning == "" && r.unchanged >= warnUnchanged {
		r.warning = "Warning: your last steps changed nothing on the screen. Do something else, or give up with fail."
	}
	return r.unchanged >= stuckAfter
}

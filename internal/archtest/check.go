package archtest

import (
	"fmt"
	"io/fs"
	"slices"
)

// Check compares the module at the root of fsys with the plan and returns one
// sentence for each violation, sorted; none means that they agree. The error
// is for a tree that can't be read: no go.mod, or a file that doesn't parse.
func Check(fsys fs.FS, p Plan) ([]string, error) {
	t, err := readTree(fsys)
	if err != nil {
		return nil, err
	}
	found := p.mistakes()
	for _, r := range p.Rooms {
		if len(t.files[r.Name]) == 0 {
			found = append(found, fmt.Sprintf("plan: %s is gone; remove its rule", r.Name))
		}
	}
	for room, files := range t.files {
		r, ok := p.room(room)
		if !ok {
			found = append(found, fmt.Sprintf("%s: unknown room %s; add it to the plan with one sentence on what is inside", files[0].path, room))
			continue
		}
		for _, f := range files {
			found = append(found, p.checkFile(r, f)...)
		}
	}
	for _, w := range p.Walls {
		found = append(found, t.breaches(w)...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// checkFile compares one file's imports of this module with its room's rule.
func (p Plan) checkFile(r Room, f file) []string {
	allowed, who := p.allowed(r), r.Name
	if f.test {
		allowed, who = p.allowedInTests(r), "a test of "+r.Name
	}
	var found []string
	for _, name := range f.rooms {
		target, known := p.room(name)
		why := ""
		switch {
		case !known:
			why = "is not a room of the plan"
		case target.Kind == Command:
			why = "is a command, which nobody imports"
		case target.Kind == ForTests && !f.test && r.Kind != ForTests:
			why = "is for tests"
		case allowed[name]:
			continue
		case target.Kind == Adapter:
			why = "is an adapter, which only app imports"
		default:
			why = "is not among the rooms that it knows"
		}
		found = append(found, fmt.Sprintf("%s: %s imports %s, which %s", f.path, who, name, why))
	}
	return found
}

// breaches lists the forbidden imports that a walled room reaches through
// production code. Walls between rooms need no look at the tree: a plan that
// keeps to them and a tree that keeps to the plan are enough.
func (t tree) breaches(w Wall) []string {
	var found []string
	for _, from := range w.From {
		for _, room := range t.reach(from) {
			for _, f := range t.files[room] {
				for _, imp := range f.elsewhere {
					if !f.test && underAny(w.Imports, imp) {
						found = append(found, fmt.Sprintf("%s: imports %s, which %s must not reach: %s", f.path, imp, from, w.Because))
					}
				}
			}
		}
	}
	return found
}

// reach returns the room and every room that its production code imports,
// directly or through others.
func (t tree) reach(room string) []string {
	seen := []string{room}
	for i := 0; i < len(seen); i++ {
		for _, f := range t.files[seen[i]] {
			for _, next := range f.rooms {
				if !f.test && !slices.Contains(seen, next) {
					seen = append(seen, next)
				}
			}
		}
	}
	return seen
}

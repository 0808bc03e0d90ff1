package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Plan is what Check compares a tree with.
type Plan struct {
	Rooms []Room // foundation first
	Walls []Wall
}

// Room is one package and what it may import of this module.
type Room struct {
	// Name is the folder without "internal/": "cloud/task", "cmd/interlock".
	Name string
	// Inside says in one sentence what is in the room.
	Inside string
	// Knows are the earlier rooms that it may import; what they know is
	// allowed too, adapters and rooms for tests left out.
	Knows []string
	// Tests are the rooms, wherever they stand, that its tests may import
	// besides, each with what it knows.
	Tests []string
	// Kind narrows who may import it.
	Kind Kind
}

// Kind is who may import a room.
type Kind uint8

// The kinds of room.
const (
	Ordinary Kind = iota // whoever knows it
	Adapter              // only those who name it: app, and rooms for tests
	ForTests             // only tests and rooms for tests
	Command              // nobody
)

// Wall is what some rooms must not reach, directly or through others.
type Wall struct {
	From    []string // rooms
	Rooms   []string // must not be reached, nor any room under them
	Imports []string // packages from elsewhere that must not be reached, nor any under them
	Because string
}

// under reports whether name is root or lies in its folder.
func under(root, name string) bool {
	return name == root || strings.HasPrefix(name, root+"/")
}

func underAny(roots []string, name string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return under(root, name) })
}

func (p Plan) room(name string) (Room, bool) {
	i := slices.IndexFunc(p.Rooms, func(r Room) bool { return r.Name == name })
	if i < 0 {
		return Room{}, false
	}
	return p.Rooms[i], true
}

// allowed returns what the room's production code may import.
func (p Plan) allowed(r Room) map[string]bool { return p.closure(r.Knows) }

// allowedInTests returns what the room's tests may import: an external test
// package imports the room itself too.
func (p Plan) allowedInTests(r Room) map[string]bool {
	return p.closure(slices.Concat([]string{r.Name}, r.Knows, r.Tests))
}

// closure returns the named rooms and the ordinary ones that those know,
// directly or through others. A name that the plan lacks is reported by
// mistakes, not here.
func (p Plan) closure(names []string) map[string]bool {
	set := map[string]bool{}
	queue := slices.Clone(names)
	for i := 0; i < len(queue); i++ {
		r, _ := p.room(queue[i])
		if set[queue[i]] || i >= len(names) && r.Kind != Ordinary {
			continue
		}
		set[queue[i]] = true
		queue = append(queue, r.Knows...)
	}
	return set
}

// mistakes lists what is wrong with the plan itself, whatever the tree holds.
func (p Plan) mistakes() []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, "plan: "+fmt.Sprintf(format, args...)) }
	earlier := map[string]Room{}
	for _, r := range p.Rooms {
		if _, twice := earlier[r.Name]; twice {
			report("%s is listed twice", r.Name)
		}
		if r.Inside == "" {
			report("%s does not say what is inside", r.Name)
		}
		if strings.HasSuffix(path.Base(r.Name), "test") && r.Kind != ForTests {
			report("%s ends in \"test\" but is not marked as a room for tests", r.Name)
		}
		for _, name := range r.Knows {
			known, ok := earlier[name]
			switch {
			case !ok:
				report("%s knows %s, which is not an earlier room", r.Name, name)
			case known.Kind == Adapter && r.Name != "app" && r.Kind != ForTests:
				report("%s knows the adapter %s; only app and rooms for tests may", r.Name, name)
			case known.Kind == ForTests && r.Kind != ForTests:
				report("%s knows %s, which is for tests", r.Name, name)
			case known.Kind == Command:
				report("%s knows %s, a command", r.Name, name)
			}
		}
		for _, name := range r.Tests {
			if known, ok := p.room(name); !ok || known.Kind == Command {
				report("the tests of %s know %s, which is not a room that can be imported", r.Name, name)
			}
		}
		earlier[r.Name] = r
	}
	for _, w := range p.Walls {
		found = append(found, p.gaps(w)...)
	}
	return found
}

// gaps lists where the plan itself lets somebody through the wall, and the
// names in it that stand for no room.
func (p Plan) gaps(w Wall) []string {
	var found []string
	for _, name := range w.From {
		r, ok := p.room(name)
		if !ok {
			found = append(found, fmt.Sprintf("plan: a wall stands around %s, which is not a room", name))
		}
		for known := range p.allowed(r) {
			if underAny(w.Rooms, known) {
				found = append(found, fmt.Sprintf("plan: %s may know %s, but must not: %s", name, known, w.Because))
			}
		}
	}
	for _, root := range w.Rooms {
		if !slices.ContainsFunc(p.Rooms, func(r Room) bool { return under(root, r.Name) }) {
			found = append(found, fmt.Sprintf("plan: a wall keeps rooms from %s, where there is no room", root))
		}
	}
	return found
}

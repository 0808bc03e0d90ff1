package archtest_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"interlock/internal/archtest"
)

// R-PLAN-9: the planner runtime imports nothing of host or cloud, because the
// plan forbids it and the tree keeps to the plan.
func TestTheHouseKeepsToItsPlan(t *testing.T) {
	t.Parallel()
	found, err := archtest.Check(os.DirFS("../.."), archtest.House)
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range found {
		t.Error(violation)
	}
}

// small is a plan with a room of each kind.
func small() archtest.Plan {
	return archtest.Plan{
		Rooms: []archtest.Room{
			{Name: "fault", Inside: "kinds of failure"},
			{Name: "tool", Inside: "proposals", Knows: []string{"fault"}},
			{Name: "planner", Inside: "one scene in, one call out", Knows: []string{"tool"}, Tests: []string{"provider/scripted"}},
			{Name: "provider/scripted", Inside: "rules instead of a model", Knows: []string{"tool"}, Kind: archtest.Adapter},
			{Name: "cloud", Inside: "the control plane", Knows: []string{"tool"}},
			{Name: "cloudtest", Inside: "a fake control plane", Knows: []string{"cloud"}, Kind: archtest.ForTests},
			{Name: "host", Inside: "the agent on a host", Knows: []string{"planner"}, Tests: []string{"cloudtest"}},
			{Name: "app", Inside: "the wiring", Knows: []string{"host", "cloud", "provider/scripted"}},
			{Name: "cmd/interlock", Inside: "the program", Knows: []string{"app"}, Kind: archtest.Command},
			{Name: "e2e", Inside: "tests of the whole", Knows: []string{"app"}, Kind: archtest.ForTests},
		},
		Walls: []archtest.Wall{
			{From: []string{"planner"}, Rooms: []string{"host", "cloud"}, Because: "it can't tell its transport"},
			{From: []string{"tool", "planner"}, Imports: []string{"net/http", "os/exec"}, Because: "it stays inside the process"},
		},
	}
}

// clean is a tree that keeps to the small plan, with everything that the go
// command passes over in it.
func clean() fstest.MapFS {
	return fstest.MapFS{
		"go.mod":                                     text("module example.test/house\n\ngo 1.26\n"),
		"README.md":                                  text("no Go"),
		"internal/fault/fault.go":                    imports("errors"),
		"internal/tool/tool.go":                      imports("net/url", "house/internal/fault"),
		"internal/planner/planner.go":                imports("house/internal/tool", "house/internal/fault"),
		"internal/planner/planner_test.go":           imports("net/http", "house/internal/planner", "house/internal/provider/scripted"),
		"internal/provider/scripted/scripted.go":     imports("net/http", "house/internal/tool"),
		"internal/cloud/cloud.go":                    imports("house/internal/tool"),
		"internal/cloudtest/fake.go":                 imports("testing", "house/internal/cloud"),
		"internal/host/host.go":                      imports("house/internal/planner"),
		"internal/host/host_test.go":                 imports("house/internal/cloudtest", "house/internal/cloud"),
		"internal/app/app.go":                        imports("house/internal/host", "house/internal/provider/scripted"),
		"internal/e2e/e2e_test.go":                   imports("house/internal/app", "house/internal/cloud"),
		"cmd/interlock/main.go":                      imports("house/internal/app"),
		"cmd/interlock/testdata/bad.go":              text("not Go"),
		"test/peers/node_modules/x/x.go":             imports("house/internal/host"),
		"internal/fault/_old.go":                     text("not Go"),
		"plugin/nested/go.mod":                       text("module other"),
		"plugin/nested/internal/whatever/main.go":    imports("house/internal/host"),
		"plugin/nested/internal/whatever/testdata/x": text(""),
	}
}

func text(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }

// imports is a Go file with these imports; "house/" stands for the module.
func imports(paths ...string) *fstest.MapFile {
	var b strings.Builder
	b.WriteString("package p\n")
	for _, p := range paths {
		if rest, ours := strings.CutPrefix(p, "house"); ours {
			p = "example.test/house" + rest
		}
		b.WriteString("import _ \"" + p + "\"\n")
	}
	return text(b.String())
}

func TestACleanTreePasses(t *testing.T) {
	t.Parallel()
	if found, err := archtest.Check(clean(), small()); err != nil || len(found) > 0 {
		t.Fatalf("got %q, %v; want nothing", found, err)
	}
}

func TestEachKindOfViolationIsCaught(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		file  string
		holds *fstest.MapFile // nil: the file is taken away
		want  string
	}{
		{"a room that the plan lacks", "internal/util/util.go", imports(), "internal/util/util.go: unknown room util; add it to the plan with one sentence on what is inside"},
		{"Go code at the top of the module", "house.go", imports(), "house.go: unknown room .; add it to the plan with one sentence on what is inside"},
		{"a rule for a room that is gone", "internal/cloudtest/fake.go", nil, "plan: cloudtest is gone; remove its rule"},
		{"an import of a room that is not there", "internal/host/x.go", imports("house/internal/util"), "internal/host/x.go: host imports util, which is not a room of the plan"},
		{"an import of the module's top", "internal/host/x.go", imports("house"), "internal/host/x.go: host imports ., which is not a room of the plan"},
		{"an import against the order", "internal/tool/x.go", imports("house/internal/planner"), "internal/tool/x.go: tool imports planner, which is not among the rooms that it knows"},
		{"an import of a stranger of the same tier", "internal/host/x.go", imports("house/internal/cloud"), "internal/host/x.go: host imports cloud, which is not among the rooms that it knows"},
		{"the planner importing the host", "internal/planner/x.go", imports("house/internal/host"), "internal/planner/x.go: planner imports host, which is not among the rooms that it knows"},
		{"an import in a file that no build takes", "internal/planner/x_plan9.go", text("//go:build never\n\npackage planner\n\nimport \"example.test/house/internal/cloud\"\n"), "internal/planner/x_plan9.go: planner imports cloud, which is not among the rooms that it knows"},
		{"a test that imports more than its rule says", "internal/tool/x_test.go", imports("house/internal/cloud"), "internal/tool/x_test.go: a test of tool imports cloud, which is not among the rooms that it knows"},
		{"an adapter imported past the wiring", "internal/host/x.go", imports("house/internal/provider/scripted"), "internal/host/x.go: host imports provider/scripted, which is an adapter, which only app imports"},
		{"an adapter imported by the command through app", "cmd/interlock/x.go", imports("house/internal/provider/scripted"), "cmd/interlock/x.go: cmd/interlock imports provider/scripted, which is an adapter, which only app imports"},
		{"production code that imports a room for tests", "internal/host/x.go", imports("house/internal/cloudtest"), "internal/host/x.go: host imports cloudtest, which is for tests"},
		{"production code that imports the tests of the whole", "internal/app/x.go", imports("house/internal/e2e"), "internal/app/x.go: app imports e2e, which is for tests"},
		{"a command that is imported", "internal/e2e/x_test.go", imports("house/cmd/interlock"), "internal/e2e/x_test.go: a test of e2e imports cmd/interlock, which is a command, which nobody imports"},
		{"a forbidden import", "internal/tool/x.go", imports("net/http"), "internal/tool/x.go: imports net/http, which tool must not reach: it stays inside the process"},
		{"a forbidden import below the forbidden one", "internal/planner/x.go", imports("net/http/httptrace"), "internal/planner/x.go: imports net/http/httptrace, which planner must not reach: it stays inside the process"},
		{"a forbidden import two rooms away", "internal/fault/x.go", imports("os/exec"), "internal/fault/x.go: imports os/exec, which planner must not reach: it stays inside the process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			planted := clean()
			if c.holds == nil {
				delete(planted, c.file)
			} else {
				planted[c.file] = c.holds
			}
			wantFound(t, planted, small(), c.want)
		})
	}
}

func TestAPlanThatContradictsItselfIsCaught(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(rooms map[string]*archtest.Room, p *archtest.Plan)
		want  string
	}{
		{"a room listed twice", func(_ map[string]*archtest.Room, p *archtest.Plan) {
			p.Rooms = append(p.Rooms, archtest.Room{Name: "fault", Inside: "again"})
		}, "plan: fault is listed twice"},
		{"a room that doesn't say what is inside", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["tool"].Inside = "" },
			"plan: tool does not say what is inside"},
		{"a later room", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["fault"].Knows = []string{"tool"} },
			"plan: fault knows tool, which is not an earlier room"},
		{"a room that is not there", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["fault"].Knows = []string{"util"} },
			"plan: fault knows util, which is not an earlier room"},
		{"an adapter named outside the wiring", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["host"].Knows = []string{"provider/scripted"} },
			"plan: host knows the adapter provider/scripted; only app and rooms for tests may"},
		{"a room for tests named by production code", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["host"].Knows = []string{"cloudtest"} },
			"plan: host knows cloudtest, which is for tests"},
		{"a room named like one for tests but not marked", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["cloudtest"].Kind = archtest.Ordinary },
			"plan: cloudtest ends in \"test\" but is not marked as a room for tests"},
		{"a command that somebody knows", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["e2e"].Knows = []string{"cmd/interlock"} },
			"plan: e2e knows cmd/interlock, a command"},
		{"tests that know a room that is not there", func(r map[string]*archtest.Room, _ *archtest.Plan) { r["tool"].Tests = []string{"tooltest"} },
			"plan: the tests of tool know tooltest, which is not a room that can be imported"},
		{"a wall with a gap", func(_ map[string]*archtest.Room, p *archtest.Plan) { p.Walls[0].From = []string{"app"} },
			"plan: app may know cloud, but must not: it can't tell its transport"},
		{"a wall around nobody", func(_ map[string]*archtest.Room, p *archtest.Plan) { p.Walls[0].From = []string{"runner"} },
			"plan: a wall stands around runner, which is not a room"},
		{"a wall before nothing", func(_ map[string]*archtest.Room, p *archtest.Plan) { p.Walls[0].Rooms = []string{"clouds"} },
			"plan: a wall keeps rooms from clouds, where there is no room"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, rooms := small(), map[string]*archtest.Room{}
			for i := range p.Rooms {
				rooms[p.Rooms[i].Name] = &p.Rooms[i]
			}
			c.spoil(rooms, &p)
			wantFound(t, clean(), p, c.want)
		})
	}
}

func wantFound(t *testing.T, tree fstest.MapFS, p archtest.Plan, want string) {
	t.Helper()
	found, err := archtest.Check(tree, p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(found, want) {
		t.Errorf("got  %q\nwant %q\nin a tree of %q", found, want, slices.Sorted(maps.Keys(tree)))
	}
}

func TestATreeThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, holds string
	}{
		{"no module file", "go.mod", "// nothing\n"},
		{"a file that is not Go", "internal/tool/x.go", "import import"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			planted := clean()
			planted[c.file] = text(c.holds)
			if found, err := archtest.Check(planted, small()); err == nil {
				t.Errorf("got %q and no error", found)
			}
		})
	}
}

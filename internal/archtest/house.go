package archtest

// House is the plan of this module, foundation first.
var House = Plan{
	Rooms: []Room{
		{Name: "fault", Inside: "the kinds of failure that callers act on"},
		{Name: "secret", Inside: "values that never print, and the bearer tokens that we mint", Knows: []string{"fault"}},
		{Name: "tenant", Inside: "whose a record is", Knows: []string{"fault"}},
		{Name: "audit", Inside: "facts of what somebody changed, in a hash chain", Knows: []string{"tenant"}},
		{Name: "tool", Inside: "what can be proposed, and the checks of it", Knows: []string{"fault"}},
		{Name: "llm", Inside: "what we ask of a model, and the one acceptance of its answer", Knows: []string{"tool"}},
		{Name: "problem", Inside: "a failure on the wire, both directions", Knows: []string{"llm"}},
		{Name: "hostapi", Inside: "the host protocol on the wire", Knows: []string{"problem"}},
		{Name: "archtest", Inside: "this plan, and the test that keeps it", Kind: ForTests},
	},
	Walls: []Wall{
		{
			From:    []string{"tool", "llm"},
			Rooms:   []string{"hostapi"},
			Because: "the planner runtime can't tell where its decisions are made (R-PLAN-9)",
		},
		{
			From:    []string{"tool", "llm"},
			Imports: []string{"net/http", "net/rpc", "database/sql", "os/exec"},
			Because: "it stays inside the process (R-PLAN-9)",
		},
	},
}

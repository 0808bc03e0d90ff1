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
		{Name: "policy", Inside: "the deterministic verdict on a proposal", Knows: []string{"tool"}},
		{Name: "device", Inside: "what a phone shows and can do", Knows: []string{"fault"}},
		{Name: "problem", Inside: "a failure on the wire, both directions", Knows: []string{"llm"}},
		{Name: "usage", Inside: "tokens and money: meter, prices, caps", Knows: []string{"llm", "audit"}},
		{Name: "runner", Inside: "one task, step by step", Knows: []string{"policy", "llm"}},
		{Name: "hostapi", Inside: "the host protocol on the wire", Knows: []string{"policy", "problem"}},
		{Name: "cloud/fleet", Inside: "hosts and their credentials", Knows: []string{"audit", "secret"}},
		{Name: "cloud/task", Inside: "tasks: attempts, leases, results", Knows: []string{"cloud/fleet", "policy", "llm"}},
		{Name: "cloud/decision", Inside: "the decision proxy and its log", Knows: []string{"cloud/task", "usage"}},
		{Name: "access", Inside: "who may do what", Knows: []string{"audit", "secret"}},
		{Name: "serve/operators", Inside: "the operators' door", Knows: []string{"cloud/decision", "access"}},
		{Name: "archtest", Inside: "this plan, and the test that keeps it", Kind: ForTests},
	},
	Walls: []Wall{
		{
			From:    []string{"tool", "llm", "policy", "device", "runner"},
			Rooms:   []string{"hostapi", "cloud", "access"},
			Because: "the planner runtime can't tell where its decisions are made (R-PLAN-9)",
		},
		{
			From:    []string{"tool", "llm", "policy"},
			Imports: []string{"net/http", "net/rpc", "database/sql", "os/exec"},
			Because: "it stays inside the process (R-PLAN-9)",
		},
		{
			From:    []string{"cloud/fleet", "cloud/task", "cloud/decision"},
			Rooms:   []string{"hostapi"},
			Because: "the control plane knows neither its wire nor its engine",
		},
	},
}

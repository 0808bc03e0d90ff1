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
		{Name: "planner", Inside: "one scene in, exactly one proposal out", Knows: []string{"device", "llm", "policy"}, Tests: []string{"provider/scripted"}},
		{Name: "runner", Inside: "one task, step by step", Knows: []string{"planner"}, Tests: []string{"provider/scripted"}},
		{Name: "provider", Inside: "what the wire clients of the vendors share: configuration, exchange, retries, limits", Knows: []string{"llm", "secret"}},
		{Name: "provider/anthropic", Inside: "the Messages API", Knows: []string{"provider"}, Kind: Adapter},
		{Name: "provider/openai", Inside: "the Chat Completions API", Knows: []string{"provider"}, Kind: Adapter},
		{Name: "provider/scripted", Inside: "rules in a file instead of a model", Knows: []string{"provider"}, Tests: []string{"planner"}, Kind: Adapter},
		{Name: "hostapi", Inside: "the host protocol on the wire", Knows: []string{"policy", "problem"}},
		{Name: "barehost", Inside: "the host protocol call by call, with nothing behind it", Knows: []string{"hostapi"}, Kind: ForTests},
		{Name: "cloud/fleet", Inside: "hosts and their credentials", Knows: []string{"audit", "secret"}},
		{Name: "cloud/task", Inside: "tasks: attempts, leases, results", Knows: []string{"cloud/fleet", "policy", "llm"}},
		{Name: "cloud/decision", Inside: "the decision proxy and its log", Knows: []string{"cloud/task", "usage"}, Tests: []string{"provider/scripted"}},
		{Name: "access", Inside: "who may do what", Knows: []string{"audit", "secret"}},
		{Name: "serve/operators", Inside: "the operators' door", Knows: []string{"access", "cloud/decision"}, Tests: []string{"provider/scripted"}},
		{Name: "app", Inside: "the wiring: a server or a host out of settings and parts", Knows: []string{"serve/operators", "provider/anthropic", "provider/openai", "provider/scripted"}},
		{Name: "cmd/interlock", Inside: "the program: one file a subcommand", Knows: []string{"app"}, Kind: Command},
		{Name: "faultproxy", Inside: "a TCP proxy that misbehaves", Kind: ForTests},
		{Name: "bench", Inside: "the load generator and its mock upstream", Knows: []string{"app", "barehost", "provider/anthropic", "provider/openai", "provider/scripted"}, Kind: ForTests},
		{Name: "archtest", Inside: "this plan, and the test that keeps it", Kind: ForTests},
		{Name: "docs", Inside: "the tests that keep the documents true", Knows: []string{"hostapi"}, Kind: ForTests},
	},
	Walls: []Wall{
		{
			From:    []string{"tool", "llm", "policy", "device", "planner", "runner"},
			Rooms:   []string{"hostapi", "cloud", "access", "serve"},
			Because: "the planner runtime can't tell where its decisions are made (R-PLAN-9)",
		},
		{
			From:    []string{"tool", "llm", "policy", "planner"},
			Imports: []string{"net/http", "net/rpc", "database/sql", "os/exec"},
			Because: "it stays inside the process (R-PLAN-9)",
		},
		{
			From:    []string{"cloud/fleet", "cloud/task", "cloud/decision"},
			Rooms:   []string{"hostapi", "serve"},
			Because: "the control plane knows neither its wire nor its engine",
		},
	},
}

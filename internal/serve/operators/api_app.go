package operators

import "encoding/json"

// App is one business service as this server was built with it.
type App struct {
	ID          string      `json:"id"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Credential  bool        `json:"credential" doc:"each tenant needs a credential of its own at the service behind it"`
	Operations  []Operation `json:"operations"`
}

// Operation is one thing that an app does.
type Operation struct {
	Name         string          `json:"name"`
	Capability   string          `json:"capability" doc:"what it is, over versions and apps"`
	Description  string          `json:"description"`
	Scope        string          `json:"scope" doc:"what a site's token must carry to call it"`
	Tool         string          `json:"tool" doc:"its name in a policy"`
	Risk         string          `json:"risk" enum:"low,medium,high"`
	Confirm      bool            `json:"confirm" doc:"a person must agree to each call"`
	ReadOnly     bool            `json:"read_only" doc:"a call changes nothing"`
	AgentVisible bool            `json:"agent_visible" doc:"an instruction may resolve to it"`
	Arguments    json.RawMessage `json:"arguments" doc:"JSON Schema"`
	Result       json.RawMessage `json:"result" doc:"JSON Schema"`
	Verbatim     []string        `json:"verbatim,omitzero" doc:"arguments whose values must stand in the instruction"`
	Recorded     []string        `json:"recorded,omitzero" doc:"arguments whose values the log of calls may hold"`
}

// AppList is all apps, by id.
type AppList struct {
	Apps []App `json:"apps"`
}

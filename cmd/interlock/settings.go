package main

import (
	"log/slog"
	"path/filepath"
	"time"

	"interlock/internal/app"
	"interlock/internal/secret"
)

// use says what a command does that needs a setting, and so whose flags name it
// and who refuses a wrong value of it.
type use uint

// The uses.
const (
	forServer    use = 1 << iota // being the control plane
	forHost                      // being a host of one
	forPlanning                  // planning tasks: host, run and demo
	forTransport                 // planning where there is a server to do it through: host and demo
	forProvider                  // calling a model's provider: all but a host with the cloud transport
	forClient                    // being an operator's command
	forIndex                     // working on the index of the register's extract
	forPhones                    // driving phones: host and run
	everywhere   = ^use(0)
)

// setting is one row of the table.
type setting struct {
	name     string // in the environment and in the file
	flag     string // without dashes; "": none
	uses     use
	fallback string // in force if nobody sets it; "": empty; "STATE_DIR/" stands for that folder
	doc      string // for a person, starts with a verb or a noun, no full stop
	// secret: may come as NAME_FILE, which is what the flag sets; never printed.
	secret bool
	into   target // parses and keeps a value
}

// settings are the values in force, filled by load.
type settings struct {
	logLevel  slog.Level
	logFormat string
	stateDir  string

	planner app.Planner

	server         app.ServerConfig
	firstTokenFile string

	host       app.HostConfig
	enrolToken secret.String

	serverURL string
	caFile    string
	token     secret.String

	found   map[string]found // by name: what was set, where
	unknown []string         // variables of the environment that look like ours and are not
}

// table is every setting there is, in the order in which they are printed.
func (s *settings) table() []setting {
	return []setting{
		{name: "AI_PLANNER_ENABLED", uses: forServer | forPlanning, fallback: "1",
			doc: "plan with a model; 0: every task is given up at its first step by a stub that says so", into: to(&s.planner.Enabled, boolean)},
		{name: "AI_PLANNER_PROVIDER", flag: "provider", uses: forProvider,
			doc: "whose model: anthropic, openai or scripted; empty: the one whose key is set", into: to(&s.planner.Provider, choice("", app.Anthropic, app.OpenAI, app.Scripted))},
		{name: "AI_PLANNER_TRANSPORT", flag: "transport", uses: forTransport, fallback: app.Direct,
			doc: "how a host gets decisions: direct (its own key) or cloud (through the server, no key here)", into: to(&s.planner.Transport, choice(app.Direct, app.Cloud))},
		{name: "AI_PLANNER_MODEL", flag: "model", uses: forProvider,
			doc: "the model's name as the provider spells it; required with anthropic and openai", into: to(&s.planner.Model, text)},
		{name: "AI_PLANNER_TIMEOUT_SECONDS", uses: forServer | forPlanning, fallback: "60",
			doc: "how long one decision may take, its retries included", into: to(&s.planner.Timeout, seconds(time.Second, 10*time.Minute))},
		{name: "AI_PLANNER_BASE_URL", uses: forProvider,
			doc: "another address of the provider's API; empty: the vendor's own", into: to(&s.planner.BaseURL, webAddress)},
		{name: "AI_PLANNER_IMAGE_MAX_EDGE", uses: forPlanning, fallback: "1568",
			doc: "the longer edge of a screenshot in pixels, scaled down at the host", into: to(&s.planner.ImageMaxEdge, whole(64, 8000))},
		{name: "AI_PLANNER_SCENE_CHARS", uses: forPlanning, fallback: "4000",
			doc: "characters that the text of one screen may take in a prompt", into: to(&s.planner.SceneChars, whole(500, 100_000))},
		{name: "ANTHROPIC_API_KEY", uses: forProvider, secret: true,
			doc: "Anthropic's key", into: to(&s.planner.AnthropicKey, hidden)},
		{name: "OPENAI_API_KEY", uses: forProvider, secret: true,
			doc: "OpenAI's key, or that of a compatible server", into: to(&s.planner.OpenAIKey, hidden)},
		{name: "INTERLOCK_SCRIPT", flag: "script", uses: forProvider,
			doc: "the rule file of the scripted provider", into: to(&s.planner.Script, path)},

		{name: "INTERLOCK_LISTEN", flag: "listen", uses: forServer, fallback: app.DefaultListen,
			doc: "address and port of every door that has none of its own", into: to(&s.server.Listen, hostPort)},
		{name: "INTERLOCK_LISTEN_HOSTS", uses: forServer,
			doc: "address and port of the hosts' door", into: to(&s.server.ListenHosts, hostPort)},
		{name: "INTERLOCK_LISTEN_SITES", uses: forServer,
			doc: "address and port of the sites' door", into: to(&s.server.ListenSites, hostPort)},
		{name: "INTERLOCK_LISTEN_OPERATORS", uses: forServer,
			doc: "address and port of the operators' door", into: to(&s.server.ListenOperators, hostPort)},
		{name: "INTERLOCK_PUBLIC_URL", uses: forServer,
			doc: "how hosts and operators reach the server, if not as it listens", into: to(&s.server.PublicURL, webAddress)},
		{name: "INTERLOCK_TLS_CERT", uses: forServer,
			doc: "certificate chain (PEM), re-read when it changes", into: to(&s.server.TLSCert, path)},
		{name: "INTERLOCK_TLS_KEY", uses: forServer,
			doc: "the certificate's key (PEM)", into: to(&s.server.TLSKey, path)},
		{name: "INTERLOCK_TRUSTED_PROXIES", uses: forServer,
			doc: "addresses or networks, separated by commas, whose X-Request-Id and X-Forwarded-For are believed", into: to(&s.server.TrustedProxies, networks)},
		{name: "INTERLOCK_DATABASE", flag: "database", uses: forServer, fallback: filepath.Join("STATE_DIR", "interlock.db"),
			doc: "path of the SQLite database", into: to(&s.server.Database, path)},
		{name: "INTERLOCK_FIRST_TOKEN_FILE", flag: "first-token-file", uses: forServer,
			doc: "at the first start, write the first API token to this new file (mode 0600) instead of printing it", into: to(&s.firstTokenFile, path)},
		{name: "INTERLOCK_DECISION_RETENTION", uses: forServer, fallback: "30d",
			doc: "how long decisions stay after their task has ended, such as 720h or 30d", into: to(&s.server.Retention, duration(time.Second, 100*365*24*time.Hour))},
		{name: "INTERLOCK_DECISION_MAX_BYTES", uses: forServer, fallback: "0",
			doc: "size that the decision log may reach, such as 20GiB; decides are refused there; 0: no limit", into: to(&s.server.DecisionMaxBytes, size)},
		{name: "INTERLOCK_MAX_DECISIONS_PER_ATTEMPT", uses: forServer, fallback: "200",
			doc: "decisions that one attempt at a task may use", into: to(&s.server.Caps.DecisionsPerAttempt, whole(1, 1_000_000))},
		{name: "INTERLOCK_MAX_TOKENS_PER_TASK", uses: forServer, fallback: "0",
			doc: "tokens that one task may use over all its attempts; 0: no limit", into: to(&s.server.Caps.TokensPerTask, whole64(0, 1<<50))},
		{name: "INTERLOCK_MAX_CONCURRENT_DECIDES", uses: forServer, fallback: "64",
			doc: "decisions in flight at once, all hosts together", into: to(&s.server.Caps.Concurrent, whole(1, 100_000))},
		{name: "INTERLOCK_MAX_CONCURRENT_DECIDES_PER_HOST", uses: forServer, fallback: "16",
			doc: "decisions in flight at once for one host; an operator may set less for a host", into: to(&s.server.Caps.ConcurrentPerHost, whole(1, 100_000))},
		{name: "INTERLOCK_DECIDE_MEMORY", uses: forServer, fallback: "256MiB",
			doc: "memory that requests for decisions may take at once, screenshots included", into: to(&s.server.Caps.RequestBytes, size)},

		{name: "INTERLOCK_AUDIENCE", uses: forServer, fallback: app.DefaultAudience,
			doc: "what the tokens of sites must name as their audience (aud)", into: to(&s.server.Bridge.Audience, text)},
		{name: "INTERLOCK_KEYSET_FILE", flag: "keyset-file", uses: forServer,
			doc: "keys that seal tenants' credentials (mode 0600), made with: interlock credential keyset new; empty: no credential can be kept", into: to(&s.server.Bridge.KeysetFile, path)},
		{name: "INTERLOCK_CALL_RETENTION", uses: forServer, fallback: "30d",
			doc: "how long the records of sites' calls and resolutions stay, such as 720h or 30d", into: to(&s.server.Bridge.Retention, duration(time.Hour, 100*365*24*time.Hour))},
		{name: "INTERLOCK_ABN_SOURCE", flag: "abn-source", uses: forServer,
			doc: "where ABNs are looked up: abr (the register's web service), index (the file INTERLOCK_ABN_INDEX) or sample (a few built-in records); empty: the index if its file is there, else abr", into: to(&s.server.Bridge.ABN.Source, choice("", app.ABNWeb, app.ABNIndex, app.ABNSample))},
		{name: "INTERLOCK_ABN_INDEX", uses: forServer | forIndex, fallback: filepath.Join("STATE_DIR", "abn.db"),
			doc: "path of the index that interlock abn import makes of the register's extract", into: to(&s.server.Bridge.ABN.Index, path)},
		{name: "INTERLOCK_ABN_URL", uses: forServer,
			doc: "another address of the register's web service; empty: its own", into: to(&s.server.Bridge.ABN.BaseURL, webAddress)},
		{name: "INTERLOCK_ABN_FORM", uses: forServer, fallback: "json",
			doc: "which form of the register's web service is asked: json or xml", into: to(&s.server.Bridge.ABN.Form, choice("json", "xml"))},
		{name: "AGENT_LLM_ENABLED", uses: forServer,
			doc: "1: ask a model what an instruction of a site means where the deterministic selector finds nothing; empty or 0: never", into: to(&s.server.Bridge.Selector.Enabled, onlyOne)},
		{name: "AGENT_LLM_PROVIDER", uses: forServer, fallback: app.OpenAI,
			doc: "whose model selects: openai or anthropic", into: to(&s.server.Bridge.Selector.Provider, choice(app.OpenAI, app.Anthropic))},
		{name: "AGENT_LLM_MODEL", uses: forServer,
			doc: "the selector's model as the provider spells it; required with AGENT_LLM_ENABLED=1", into: to(&s.server.Bridge.Selector.Model, text)},
		{name: "AGENT_LLM_API_KEY", uses: forServer, secret: true,
			doc: "the selector's own key; the planner's key is never used for it", into: to(&s.server.Bridge.Selector.Key, hidden)},
		{name: "AGENT_LLM_BASE_URL", uses: forServer,
			doc: "another address of the selector's API; empty: the vendor's own", into: to(&s.server.Bridge.Selector.BaseURL, webAddress)},
		{name: "AGENT_LLM_CALLS_PER_DAY", uses: forServer, fallback: "1000",
			doc: "calls of the selector's model that one tenant may cause in a day (UTC)", into: to(&s.server.Bridge.Selector.CallsPerDay, whole64(1, 1_000_000_000))},

		{name: "INTERLOCK_SERVER", flag: "server", uses: forHost | forClient, fallback: "http://" + app.DefaultListen,
			doc: "the server's address", into: to(&s.serverURL, webAddress)},
		{name: "INTERLOCK_CA_FILE", uses: forHost | forClient,
			doc: "certificates (PEM) to trust instead of the system's", into: to(&s.caFile, path)},
		{name: "INTERLOCK_TOKEN", flag: "token-file", uses: forClient, secret: true,
			doc: "an API token for the operator's commands; without it, the file STATE_DIR/token is read if it is there", into: to(&s.token, hidden)},

		{name: "INTERLOCK_HOST_NAME", flag: "name", uses: forHost,
			doc: "what this host is called; empty: the machine's name", into: to(&s.host.Name, text)},
		{name: "INTERLOCK_HOST_LABELS", flag: "labels", uses: forHost,
			doc: "labels of this host, such as room=lab,os=linux", into: to(&s.host.Labels, labels)},
		{name: "INTERLOCK_DEVICES", flag: "devices", uses: forHost, fallback: "sim",
			doc: "devices that this host offers, as KIND or KIND:ID, separated by commas; the kinds are sim, a simulated phone, chromium, a browser with the screen of a phone, and android, phones over adb: android:SERIAL one, android alone every one that is connected", into: to(&s.host.Devices, devices)},
		{name: "INTERLOCK_ADB_SERVER", uses: forPhones, fallback: "127.0.0.1:5037",
			doc: "address of the adb server through which Android phones are driven; one on this machine is started if it does not run", into: to(&s.host.ADBServer, hostPort)},
		{name: "INTERLOCK_ENROLL_TOKEN", flag: "enroll-token-file", uses: forHost, secret: true,
			doc: "the one-use token that makes this machine a host", into: to(&s.enrolToken, hidden)},
		{name: "INTERLOCK_DRAIN_TIME", uses: forHost, fallback: "10m",
			doc: "how long running tasks may go on after the first signal", into: to(&s.host.DrainTime, duration(0, 24*time.Hour))},

		{name: "INTERLOCK_STATE_DIR", flag: "state-dir", uses: forServer | forHost | forClient | forIndex, fallback: defaultStateDir(),
			doc: "folder of the database, the index of ABNs, the host's credential and its unsent results", into: to(&s.stateDir, path)},
		{name: "INTERLOCK_LOG_LEVEL", flag: "log-level", uses: everywhere, fallback: "info",
			doc: "debug, info, warn or error", into: to(&s.logLevel, level)},
		{name: "INTERLOCK_LOG_FORMAT", uses: everywhere, fallback: "text",
			doc: "text or json", into: to(&s.logFormat, choice("text", "json"))},
	}
}

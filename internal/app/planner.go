package app

import (
	"bytes"
	"cmp"
	_ "embed"
	"net"
	"net/http"
	"net/url"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/provider/anthropic"
	"interlock/internal/provider/openai"
	"interlock/internal/provider/scripted"
	"interlock/internal/secret"
)

// The providers by their setting's values.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Scripted  = "scripted"
)

// The transports by their setting's values.
const (
	Direct = "direct" // the provider's client runs where the planner runs
	Cloud  = "cloud"  // the server calls the provider
)

// Planner says how decisions are made. The zero value plans with no model.
type Planner struct {
	Enabled      bool
	Provider     string        // "": the one whose key is set
	Transport    string        // "": Direct
	Model        string        // required with anthropic and openai
	Timeout      time.Duration // of a whole decision; zero: llm.DefaultTimeout
	BaseURL      string        // "": the vendor's own address
	ImageMaxEdge int           // pixels; zero: device's default
	SceneChars   int           // of one screen in a prompt; zero: planner.DefaultSceneBudget
	AnthropicKey secret.String
	OpenAIKey    secret.String
	Script       string // path of the scripted provider's rules; "": the built-in ones, which know the demo's task

	// For tests.
	HTTP    http.RoundTripper // carries a provider's requests; nil: the client's own
	Dialect provider.Dialect  // "": by the address
}

// Cloud reports whether decisions go through the server.
func (p Planner) Cloud() bool { return p.Transport == Cloud }

// Named returns the provider that the settings mean: the one that is named,
// else the one whose key is set, else "".
func (p Planner) Named() (string, error) {
	switch {
	case p.Provider != "":
		return p.Provider, nil
	case !p.AnthropicKey.Empty() && !p.OpenAIKey.Empty():
		return "", fault.New(fault.Invalid, "provider_ambiguous", "ANTHROPIC_API_KEY and OPENAI_API_KEY are both set; say which to use with AI_PLANNER_PROVIDER")
	case !p.AnthropicKey.Empty():
		return Anthropic, nil
	case !p.OpenAIKey.Empty():
		return OpenAI, nil
	case p.Script != "":
		return Scripted, nil
	}
	return "", nil
}

// Caller builds the client of the provider that the settings mean; nil if they
// mean none. Its errors are faults of kind Invalid that name the setting.
func (p Planner) Caller() (llm.ToolCaller, error) {
	name, err := p.Named()
	if err != nil || name == "" || !p.Enabled {
		return nil, err
	}
	switch name {
	case Anthropic:
		return client("ANTHROPIC_API_KEY", p.config(p.AnthropicKey), anthropic.New)
	case OpenAI:
		return client("OPENAI_API_KEY", p.config(p.OpenAIKey), openai.New)
	default:
		return p.scripted()
	}
}

func (p Planner) config(key secret.String) provider.Config {
	return provider.Config{BaseURL: p.BaseURL, Key: key, Model: p.Model, Timeout: p.Timeout, Transport: p.HTTP, Dialect: p.Dialect}
}

// errNoProvider is for those who can't do without.
var errNoProvider = fault.New(fault.Invalid, "provider_missing",
	"no provider is set up; set ANTHROPIC_API_KEY or OPENAI_API_KEY and AI_PLANNER_MODEL, or AI_PLANNER_PROVIDER=scripted for a rehearsal without a model")

// client makes one vendor's client after the checks whose answers name our
// settings; what is left is the provider's own to refuse.
func client[C llm.ToolCaller](keyName string, c provider.Config, make func(provider.Config) (C, error)) (llm.ToolCaller, error) {
	switch {
	case c.Model == "":
		return nil, fault.New(fault.Invalid, "model_missing", "AI_PLANNER_MODEL is not set; set it to the model's name as the provider spells it")
	case c.Key.Empty() && c.BaseURL == "":
		return nil, fault.New(fault.Invalid, "key_missing", "%s is not set; set it (or %s_FILE), or AI_PLANNER_BASE_URL to a server that needs no key", keyName, keyName)
	}
	return make(c)
}

//go:embed demo.json
var demoScript []byte

// scripted reads the rule file; without one, the built-in script, which knows
// the demo's task only.
func (p Planner) scripted() (llm.ToolCaller, error) {
	if p.Script == "" {
		return scripted.Load(bytes.NewReader(demoScript))
	}
	return scripted.Open(p.Script)
}

// vendorAddresses are those that the clients use by themselves.
var vendorAddresses = map[string]string{Anthropic: "https://api.anthropic.com", OpenAI: "https://api.openai.com"}

// Address is where the provider's client connects to, and whether by TLS; ""
// where no provider is set up or it needs no network.
func (p Planner) Address() (hostPort string, secure bool) {
	name, _ := p.Named()
	base := cmp.Or(p.BaseURL, vendorAddresses[name])
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port), u.Scheme == "https"
}

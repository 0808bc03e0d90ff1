package anthropic

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/provider"
)

// reply is what we read of a Message. Members that we don't know are ignored:
// the vendor adds them without a new version.
type reply struct {
	Type       string    `json:"type"`
	Model      string    `json:"model"`
	StopReason string    `json:"stop_reason"`
	Content    []content `json:"content"`
	Usage      usage     `json:"usage"`
}

type content struct {
	Type  string         `json:"type"`
	Name  string         `json:"name"`
	Input jsontext.Value `json:"input"`
	Text  jsontext.Value `json:"text"`
}

// usage counts input tokens without the cached ones, unlike other vendors.
type usage struct {
	Input      jsontext.Value `json:"input_tokens"`
	CacheWrite jsontext.Value `json:"cache_creation_input_tokens"`
	CacheRead  jsontext.Value `json:"cache_read_input_tokens"`
	Output     jsontext.Value `json:"output_tokens"`
	Details    struct {
		Thinking jsontext.Value `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// stops maps the stop reasons that forbid a call whatever the content says.
var stops = map[string]llm.Stop{
	"max_tokens":                    llm.StopTruncated,
	"model_context_window_exceeded": llm.StopTruncated,
	"refusal":                       llm.StopRefused,
	"pause_turn":                    llm.StopPaused,
}

// read parses an answer strictly; its error is an *llm.Unavailable.
func (c *Client) read(a provider.Answer) (llm.Reply, error) {
	_, r, err := c.parse(a)
	return r, err
}

// readFormed reads an answer in the form of a schema: each text is one, and so
// is a call, which llm.AcceptStructured refuses.
func (c *Client) readFormed(a provider.Answer, form *llm.Form) (llm.Reply, error) {
	m, r, err := c.parse(a)
	for _, b := range m.Content {
		var text string
		if b.Type == "text" && json.Unmarshal(b.Text, &text) == nil {
			r.Calls = append(r.Calls, form.Answer([]byte(text)))
		}
	}
	return r, err
}

// parse returns the message as it came, and what it says but for its texts.
func (c *Client) parse(a provider.Answer) (reply, llm.Reply, error) {
	var m reply
	if json.Unmarshal(a.Body, &m) != nil || m.Content == nil || (m.Type != "" && m.Type != "message") {
		return reply{}, llm.Reply{}, c.wire.Malformed(a)
	}
	r := llm.Reply{Stop: stops[m.StopReason], Usage: m.Usage.canonical(), Provider: Name, Model: c.wire.ModelName(m.Model), ProviderRequestID: a.RequestID}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			r.Calls = append(r.Calls, llm.RawCall{Name: b.Name, Arguments: arguments(b.Input, m.StopReason)})
		}
	}
	return m, r, nil
}

// arguments returns the input as it came. An absent or empty-string input is
// what some servers send for a tool without parameters: it counts as no
// arguments, but only of a turn that ended in a call, since a cut turn looks
// the same.
func arguments(input jsontext.Value, stop string) []byte {
	if (len(input) == 0 || string(input) == `""`) && stop == "tool_use" {
		return nil
	}
	if len(input) == 0 {
		return []byte(`""`)
	}
	return input
}

func (u usage) canonical() llm.Usage {
	write, read := provider.Tokens(u.CacheWrite), provider.Tokens(u.CacheRead)
	return llm.Usage{
		Input:       provider.Sum(provider.Tokens(u.Input), write, read),
		CachedInput: read,
		CacheWrite:  write,
		Output:      provider.Tokens(u.Output),
		Reasoning:   provider.Tokens(u.Details.Thinking),
	}
}

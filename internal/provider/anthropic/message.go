package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/tool"
)

// message is the body of POST /v1/messages but for its tools.
type message struct {
	Model      string    `json:"model"`
	MaxTokens  int       `json:"max_tokens"`
	System     string    `json:"system,omitzero"`
	Messages   []turn    `json:"messages"`
	ToolChoice choice    `json:"tool_choice"`
	Thinking   *kindOnly `json:"thinking,omitzero"`
}

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type block struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitzero"`
	Source *source `json:"source,omitzero"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 on the wire
}

// offer is one of its tools. An absent "type" means the custom tool, which some
// compatible servers refuse to see spelled out.
type offer struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	InputSchema jsontext.Value `json:"input_schema"`
	Strict      bool           `json:"strict,omitzero"`
}

type choice struct {
	Type            string `json:"type"`
	DisableParallel bool   `json:"disable_parallel_tool_use"`
}

type kindOnly struct {
	Type string `json:"type"`
}

func (c *Client) message(r llm.Request, forced bool) any {
	m := message{Model: c.wire.Model(), MaxTokens: thinkingMaxOutput, System: r.System, ToolChoice: choice{Type: "auto", DisableParallel: true}}
	if forced {
		m.MaxTokens, m.ToolChoice.Type, m.Thinking = defaultMaxOutput, "any", &kindOnly{"disabled"}
	}
	if c.maxOutput > 0 {
		m.MaxTokens = c.maxOutput
	}
	user := turn{Role: "user"}
	if r.Image != nil {
		user.Content = append(user.Content, block{Type: "image", Source: &source{Type: "base64", MediaType: r.Image.MediaType, Data: r.Image.Bytes()}})
	}
	user.Content = append(user.Content, block{Type: "text", Text: r.User})
	m.Messages = []turn{user}
	return m
}

func (c *Client) offer(spec tool.Spec) any {
	return offer{Name: spec.Name, Description: spec.Description, InputSchema: provider.Parameters(spec),
		Strict: !c.wire.Portable() && tool.Strict(Name, spec)}
}

package anthropic

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/tool"
)

// formed is the body of POST /v1/messages for an answer in the form of a
// schema. Thinking is left as the model has it by default.
type formed struct {
	Model        string       `json:"model"`
	MaxTokens    int          `json:"max_tokens"`
	System       string       `json:"system,omitzero"`
	Messages     []turn       `json:"messages"`
	OutputConfig outputConfig `json:"output_config"`
}

type outputConfig struct {
	Format format `json:"format"`
}

type format struct {
	Type   string         `json:"type"`
	Schema jsontext.Value `json:"schema"`
}

// Structured implements llm.StructuredCaller.
func (c *Client) Structured(ctx context.Context, r llm.StructuredRequest) (llm.StructuredReply, error) {
	return c.wire.Structured(ctx, r, provider.FormWording{Message: c.formed, Takes: c.takes, Read: c.readFormed, Call: c.limited(r.MaxOutput).Decide})
}

// takes: the API refuses a schema outside its strict subset.
func (c *Client) takes(r llm.StructuredRequest) bool {
	return !c.wire.Portable() && tool.Strict(Name, tool.Spec{Name: r.Name, Parameters: r.Schema})
}

// limited returns the client with another bound of a reply; zero: the same.
func (c *Client) limited(maxOutput int) *Client {
	if maxOutput == 0 {
		return c
	}
	return &Client{wire: c.wire, maxOutput: maxOutput}
}

func (c *Client) formed(r llm.StructuredRequest) any {
	m := formed{Model: c.wire.Model(), MaxTokens: c.limited(r.MaxOutput).maxOutput, System: r.System,
		Messages:     []turn{{Role: "user", Content: []block{{Type: "text", Text: r.User}}}},
		OutputConfig: outputConfig{format{"json_schema", jsontext.Value(r.Schema)}}}
	if m.MaxTokens == 0 {
		m.MaxTokens = thinkingMaxOutput
	}
	return m
}

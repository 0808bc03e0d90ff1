package openai

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/tool"
)

// formed is the body of POST /v1/chat/completions for an answer in the form of
// a schema.
type formed struct {
	Model               string         `json:"model"`
	MaxCompletionTokens int            `json:"max_completion_tokens"`
	Messages            []turn         `json:"messages"`
	ResponseFormat      responseFormat `json:"response_format"`
	Store               *bool          `json:"store,omitzero"`
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string         `json:"name"`
	Schema jsontext.Value `json:"schema"`
	Strict *bool          `json:"strict,omitzero"`
}

// Structured implements llm.StructuredCaller.
func (c *Client) Structured(ctx context.Context, r llm.StructuredRequest) (llm.StructuredReply, error) {
	return c.wire.Structured(ctx, r, provider.FormWording{Message: c.formed, Read: c.readFormed, Call: c.limited(r.MaxOutput).Decide})
}

// limited returns the client with another bound of a reply; zero: the same.
func (c *Client) limited(maxOutput int) *Client {
	if maxOutput == 0 {
		return c
	}
	return &Client{wire: c.wire, maxOutput: maxOutput}
}

func (c *Client) formed(r llm.StructuredRequest) any {
	form := jsonSchema{Name: r.Name, Schema: jsontext.Value(r.Schema)}
	m := formed{Model: c.wire.Model(), MaxCompletionTokens: c.limited(r.MaxOutput).maxOutput}
	if r.System != "" {
		m.Messages = append(m.Messages, turn{"system", r.System})
	}
	m.Messages = append(m.Messages, turn{"user", r.User})
	if !c.wire.Portable() {
		m.Store = new(false)
		form.Strict = new(tool.Strict(Name, tool.Spec{Name: r.Name, Parameters: r.Schema}))
	}
	m.ResponseFormat = responseFormat{"json_schema", form}
	return m
}

package openai

import (
	"encoding/base64"

	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/tool"
)

// completion is the body of POST /v1/chat/completions but for its tools.
type completion struct {
	Model               string `json:"model"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	Messages            []turn `json:"messages"`
	ToolChoice          string `json:"tool_choice"`
	ParallelToolCalls   bool   `json:"parallel_tool_calls"`
	Store               *bool  `json:"store,omitzero"`
}

// turn is one message. Content is a string, or a []part with a picture: some
// compatible servers read parts only for models that see.
type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

// offer is one of its tools.
type offer struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters"`
	Strict      *bool          `json:"strict,omitzero"`
}

func (c *Client) completion(r llm.Request, forced bool) any {
	m := completion{Model: c.wire.Model(), MaxCompletionTokens: c.maxOutput, ToolChoice: "required"}
	if !forced {
		m.ToolChoice = "auto"
	}
	if r.System != "" {
		m.Messages = append(m.Messages, turn{"system", r.System})
	}
	m.Messages = append(m.Messages, turn{"user", userContent(r)})
	if !c.wire.Portable() {
		m.Store = new(false)
	}
	return m
}

func (c *Client) offer(spec tool.Spec) any {
	f := function{Name: spec.Name, Description: spec.Description, Parameters: provider.Parameters(spec)}
	if !c.wire.Portable() {
		f.Strict = new(tool.Strict(Name, spec))
	}
	return offer{"function", f}
}

func userContent(r llm.Request) any {
	if r.Image == nil {
		return r.User
	}
	url := "data:" + r.Image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(r.Image.Bytes())
	return []part{{Type: "text", Text: r.User}, {Type: "image_url", ImageURL: &imageURL{url}}}
}

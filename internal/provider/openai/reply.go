package openai

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/provider"
)

// reply is what we read of a chat completion. Members that we don't know are
// ignored: the vendor adds them without a new version.
type reply struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
}

type choice struct {
	FinishReason string `json:"finish_reason"`
	Message      struct {
		Content   jsontext.Value `json:"content"`
		Refusal   string         `json:"refusal"`
		ToolCalls []call         `json:"tool_calls"`
	} `json:"message"`
}

type call struct {
	Type     string `json:"type"`
	Function struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"function"`
}

// usage counts the cached tokens within the prompt's, and the reasoning tokens
// within the completion's.
type usage struct {
	Prompt        jsontext.Value `json:"prompt_tokens"`
	Completion    jsontext.Value `json:"completion_tokens"`
	Total         jsontext.Value `json:"total_tokens"`
	PromptDetails struct {
		Cached     jsontext.Value `json:"cached_tokens"`
		CacheWrite jsontext.Value `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning jsontext.Value `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// read parses an answer strictly; its error is an *llm.Unavailable. We ask for
// one choice, so calls in several are several calls.
func (c *Client) read(a provider.Answer) (llm.Reply, error) {
	_, r, err := c.parse(a)
	return r, err
}

// readFormed reads an answer in the form of a schema: the text of each choice
// is one, and so is a call, which llm.AcceptStructured refuses.
func (c *Client) readFormed(a provider.Answer, form *llm.Form) (llm.Reply, error) {
	m, r, err := c.parse(a)
	for _, ch := range m.Choices {
		if text := ch.text(); len(text) > 0 {
			r.Calls = append(r.Calls, form.Answer(text))
		}
	}
	return r, err
}

// parse returns the completion as it came, and what it says but for its texts.
func (c *Client) parse(a provider.Answer) (reply, llm.Reply, error) {
	var m reply
	if json.Unmarshal(a.Body, &m) != nil || m.Choices == nil {
		return reply{}, llm.Reply{}, c.wire.Malformed(a)
	}
	r := llm.Reply{Usage: m.Usage.canonical(), Provider: Name, Model: c.wire.ModelName(m.Model), ProviderRequestID: a.RequestID}
	for _, ch := range m.Choices {
		r.Stop = max(r.Stop, ch.stop())
		for _, tc := range ch.Message.ToolCalls {
			r.Calls = append(r.Calls, tc.raw(ch.FinishReason))
		}
	}
	return m, r, nil
}

// text returns what the message says; empty: nothing. A content of parts, which
// nobody asked for, is returned as it came.
func (c choice) text() []byte {
	var s string
	switch content := c.Message.Content; {
	case content.Kind() == '"' && json.Unmarshal(content, &s) == nil:
		return []byte(s)
	case content.Kind() == 'n':
		return nil
	default:
		return content
	}
}

// stop also reads a refusal from the message: the finish reason of a refused
// turn can be an ordinary "stop".
func (c choice) stop() llm.Stop {
	switch {
	case c.FinishReason == "content_filter" || c.Message.Refusal != "":
		return llm.StopRefused
	case c.FinishReason == "length":
		return llm.StopTruncated
	default:
		return llm.StopOther
	}
}

// raw returns the call as it came. A call of another type than function is
// none that we offered, whatever its name. Empty arguments count as none only
// of a turn that ended in a call, since a cut turn looks the same.
func (c call) raw(finish string) llm.RawCall {
	if c.Type != "" && c.Type != "function" {
		return llm.RawCall{}
	}
	raw := llm.RawCall{Name: c.Function.Name, Arguments: c.Function.Arguments}
	if c.Function.Arguments.Kind() == '"' {
		var s string
		if json.Unmarshal(c.Function.Arguments, &s) == nil {
			raw.Arguments = []byte(s)
		}
	}
	if len(raw.Arguments) == 0 && finish != "tool_calls" {
		raw.Arguments = []byte(`""`)
	}
	return raw
}

// canonical corrects servers that count reasoning beside the completion
// instead of within it: their total gives them away, or a reasoning count that
// the completion can't hold.
func (u usage) canonical() llm.Usage {
	out := llm.Usage{
		Input:       provider.Tokens(u.Prompt),
		CachedInput: provider.Tokens(u.PromptDetails.Cached),
		CacheWrite:  provider.Tokens(u.PromptDetails.CacheWrite),
		Output:      provider.Tokens(u.Completion),
		Reasoning:   provider.Tokens(u.CompletionDetails.Reasoning),
	}
	in, prompted := out.Input.Get()
	completion, counted := out.Output.Get()
	reasoning, reasoned := out.Reasoning.Get()
	total, totalled := provider.Tokens(u.Total).Get()
	beside := totalled && prompted && total == in+completion+reasoning
	if counted && reasoned && reasoning > 0 && (beside || reasoning > completion) {
		out.Output = llm.Known(completion + reasoning)
	}
	return out
}

// Package anthropic asks Anthropic's Messages API, or a server compatible with
// it, for exactly one tool call.
//
// Each request forces a call of any offered tool, forbids parallel calls and
// turns thinking off, because the vendor refuses a forced call while a model
// thinks. Some models can't have thinking turned off. They are asked without
// force, and llm.Accept refuses what isn't exactly one call, as always. Those
// known are in a table; another is recognised by its first refusal, asked
// again at once within the same deadline, and remembered until the process
// ends.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/secret"
)

// Name is the provider's name in decisions and settings.
const Name = "anthropic"

// defaultMaxOutput bounds a reply in tokens: one call with its arguments. Every
// model of the API takes it.
const defaultMaxOutput = 4096

// alwaysThinking lists the beginnings of the names of models that refuse
// {"type": "disabled"}. Source: Yeachan-Heo/gajae-code pull request 1542.
var alwaysThinking = []string{"claude-fable-5"}

var vendor = provider.Vendor{
	Name:            Name,
	BaseURL:         "https://api.anthropic.com",
	Resource:        "messages",
	RequestIDHeader: "Request-Id",
	Images:          provider.AnthropicImages,
	Headers:         map[string]string{"Anthropic-Version": "2023-06-01"},
	Authorize:       func(h http.Header, key secret.String) { h.Set("X-Api-Key", key.Reveal()) },
}

// Client is an llm.ToolCaller over one model.
type Client struct {
	wire      *provider.Wire
	maxOutput int
	unforced  atomic.Bool // the model always thinks, so its call can't be forced
}

// New returns a client and sends nothing. The error is a fault.Invalid that
// lists every wrong setting.
func New(c provider.Config) (*Client, error) {
	wire, err := provider.NewWire(vendor, c)
	if err != nil {
		return nil, err
	}
	client := &Client{wire: wire, maxOutput: c.MaxOutput}
	if client.maxOutput == 0 {
		client.maxOutput = defaultMaxOutput
	}
	for _, prefix := range alwaysThinking {
		if strings.HasPrefix(c.Model, prefix) {
			client.unforced.Store(true)
		}
	}
	return client, nil
}

// Decide implements llm.ToolCaller.
func (c *Client) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	if err := c.wire.Check(r); err != nil {
		return llm.Decision{}, err
	}
	ctx, cancel := c.wire.Deadline(ctx, r.Timeout)
	defer cancel()
	answer, err := c.ask(ctx, r)
	if err != nil {
		return llm.Decision{}, err
	}
	reply, err := c.read(answer)
	if err != nil {
		return llm.Decision{}, err
	}
	return llm.Accept(r.Tools, reply)
}

// ask forces a call unless the model is known to refuse that, and finds out
// that it does.
func (c *Client) ask(ctx context.Context, r llm.Request) (provider.Answer, error) {
	if c.unforced.Load() {
		return c.wire.Ask(ctx, c.message(r, false))
	}
	answer, err := c.wire.Ask(ctx, c.message(r, true))
	if !errors.Is(err, provider.ErrThinking) {
		return answer, err
	}
	if answer, err = c.wire.Ask(ctx, c.message(r, false)); err == nil {
		c.unforced.Store(true)
	}
	return answer, err
}

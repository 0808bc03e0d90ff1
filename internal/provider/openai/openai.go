// Package openai asks OpenAI's Chat Completions API, or a server compatible
// with it, for exactly one tool call.
//
// Each request requires a call of any offered tool and forbids parallel calls.
// OpenAI itself is also told not to store the exchange, and to hold the model
// to each schema that lies within its strict subset; a compatible server is
// told neither, because several refuse what they don't know. Compatible
// servers differ in what they enforce, and several return more than one call
// when told not to, or refuse to be told to call: such a model is asked again
// to choose. llm.Accept judges every reply in the same way.
//
// An answer in the form of a schema is asked for by response_format; a server
// that refuses it gets a tool call with the schema instead.
package openai

import (
	"context"
	"net/http"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/secret"
)

// Name is the provider's name in decisions and settings.
const Name = "openai"

// defaultMaxOutput bounds a reply in tokens. It includes what a reasoning
// model thinks before its call.
const defaultMaxOutput = 16384

var vendor = provider.Vendor{
	Name:            Name,
	BaseURL:         "https://api.openai.com",
	Resource:        "chat/completions",
	RequestIDHeader: "X-Request-Id",
	Images:          provider.OpenAIImages,
	Authorize:       func(h http.Header, key secret.String) { h.Set("Authorization", "Bearer "+key.Reveal()) },
}

// Client is an llm.ToolCaller and an llm.StructuredCaller over one model.
type Client struct {
	wire      *provider.Wire
	maxOutput int
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
	return client, nil
}

// Decide implements llm.ToolCaller.
func (c *Client) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	return c.wire.Decide(ctx, r, provider.Wording{Message: c.completion, Offer: c.offer, Read: c.read})
}

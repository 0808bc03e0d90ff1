// Package anthropic asks Anthropic's Messages API, or a server compatible with
// it, for exactly one tool call.
//
// Each request forces a call of any offered tool, forbids parallel calls and
// turns thinking off, because the vendor refuses a forced call while a model
// thinks. Several models always think, and take neither. They are asked to
// choose, with thinking as they have it by default, and llm.Accept refuses
// what isn't exactly one call, as always. The known ones are in a table;
// another is recognised by its first refusal.
//
// An answer in the form of a schema is asked for by output_config.format, which
// goes with thinking, where the schema lies within the vendor's strict subset.
// Other schemas and compatible servers get a tool call with the schema instead.
package anthropic

import (
	"context"
	"net/http"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/secret"
)

// Name is the provider's name in decisions and settings.
const Name = "anthropic"

// Default bounds of a reply in tokens: one call with its arguments, and the
// same after thinking, which counts. Every model of the API takes them.
const (
	defaultMaxOutput  = 4096
	thinkingMaxOutput = 16384
)

var vendor = provider.Vendor{
	Name:            Name,
	BaseURL:         "https://api.anthropic.com",
	Resource:        "messages",
	RequestIDHeader: "Request-Id",
	Images:          provider.AnthropicImages,
	// The newer version removes only what we don't send. Compatible servers,
	// and older models on Amazon Bedrock, know the older one.
	Headers:         map[string]string{"Anthropic-Version": "2026-10-21"},
	PortableHeaders: map[string]string{"Anthropic-Version": "2023-06-01"},
	Authorize:       func(h http.Header, key secret.String) { h.Set("X-Api-Key", key.Reveal()) },
	// Source: "What's new in Claude Opus 5.5" and "… Sonnet 5.5" in the
	// vendor's documentation, and Yeachan-Heo/gajae-code pull request 1542.
	Unforceable: []string{"claude-fable-5", "claude-opus-5-5", "claude-sonnet-5-5"},
}

// Client is an llm.ToolCaller and an llm.StructuredCaller over one model.
type Client struct {
	wire      *provider.Wire
	maxOutput int // zero: the default
}

// New returns a client and sends nothing. The error is a fault.Invalid that
// lists every wrong setting.
func New(c provider.Config) (*Client, error) {
	wire, err := provider.NewWire(vendor, c)
	if err != nil {
		return nil, err
	}
	return &Client{wire: wire, maxOutput: c.MaxOutput}, nil
}

// Decide implements llm.ToolCaller.
func (c *Client) Decide(ctx context.Context, r llm.Request) (llm.Decision, error) {
	return c.wire.Decide(ctx, r, provider.Wording{Message: c.message, Offer: c.offer, Read: c.read})
}

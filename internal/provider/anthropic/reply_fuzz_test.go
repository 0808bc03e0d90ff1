package anthropic

import (
	"testing"

	"interlock/internal/provider"
	"interlock/internal/provider/providertest"
	"interlock/internal/secret"
)

// R-PLAN-3: whatever a provider answers ends in one valid call or in a typed
// failure.
func FuzzReply(f *testing.F) {
	client, err := New(provider.Config{Key: secret.New("k"), Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	providertest.FuzzReply(f, providertest.Anthropic, client.read)
}

// R-BRIDGE-7: the same of an answer in the form of a schema.
func FuzzAnswer(f *testing.F) {
	client, err := New(provider.Config{Key: secret.New("k"), Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	providertest.FuzzAnswer(f, providertest.Anthropic, client.readFormed)
}

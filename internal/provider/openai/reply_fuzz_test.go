package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/provider/providertest"
	"interlock/internal/secret"
)

// R-PLAN-3: whatever a provider answers ends in one valid call or in a typed
// failure.
func FuzzReply(f *testing.F) {
	for _, r := range providertest.Recordings(providertest.OpenAI) {
		f.Add([]byte(r.Body))
	}
	client, err := New(provider.Config{Key: secret.New("k"), Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	tools := providertest.Request().Tools
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := client.read(provider.Answer{Body: body})
		var d llm.Decision
		if err == nil {
			d, err = llm.Accept(tools, reply)
		}
		if err != nil {
			if !errors.Is(err, llm.ErrUnavailable) {
				t.Fatalf("untyped failure %v", err)
			}
			return
		}
		var object map[string]any
		if _, err := tools.Check(d.Call.Tool, d.Call.Arguments); err != nil || json.Unmarshal(d.Call.Arguments, &object) != nil || reply.Stop != llm.StopOther || len(reply.Calls) != 1 {
			t.Fatalf("accepted %+v of %+v", d, reply)
		}
	})
}

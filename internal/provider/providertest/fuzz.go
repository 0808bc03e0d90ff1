package providertest

import (
	"encoding/json"
	"errors"
	"testing"

	"interlock/internal/llm"
	"interlock/internal/provider"
)

// FuzzReply feeds bodies to a client's reading of an answer, the recordings of
// its shape first. Whatever a provider answers ends in one valid call or in a
// typed failure: R-PLAN-3
func FuzzReply(f *testing.F, shape Shape, read func(provider.Answer) (llm.Reply, error)) {
	for _, r := range Recordings(shape) {
		f.Add([]byte(r.Body))
	}
	tools := Request().Tools
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := read(provider.Answer{Body: body})
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

// FuzzAnswer feeds bodies to a client's reading of an answer in the form of a
// schema, the recordings of its shape first. It ends in one answer that fits or
// in a typed failure: R-BRIDGE-7
func FuzzAnswer(f *testing.F, shape Shape, read func(provider.Answer, *llm.Form) (llm.Reply, error)) {
	for _, r := range Answers(shape) {
		f.Add([]byte(r.Body))
	}
	form, err := StructuredRequest().Form()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := read(provider.Answer{Body: body}, form)
		var s llm.StructuredReply
		if err == nil {
			s, err = llm.AcceptStructured(form, reply)
		}
		if err != nil {
			if !errors.Is(err, llm.ErrUnavailable) {
				t.Fatalf("untyped failure %v", err)
			}
			return
		}
		if _, err := form.Tool().Check(formName, s.JSON); err != nil || reply.Stop != llm.StopOther || len(reply.Calls) != 1 {
			t.Fatalf("accepted %+v of %+v", s, reply)
		}
	})
}

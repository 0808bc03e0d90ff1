package provider

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/llm"
	"interlock/internal/tool"
)

// asScreensAre lets a prompt be sent that is not UTF-8, with U+FFFD where it
// isn't: it was read off a screen, and a decision shouldn't fail for it.
var asScreensAre = jsontext.AllowInvalidUTF8(true)

// encode writes the body of a request. Its tools come last, since they were
// written before, with the first request that offered the same set. The error
// is an *llm.Unavailable.
func (w *Wire) encode(r llm.Request, say Wording, forced bool) ([]byte, error) {
	tools, err := r.Tools.Form(w.form, func(specs []tool.Spec) ([]byte, error) { return encodeTools(specs, say.Offer) })
	var body bytes.Buffer
	if err == nil {
		body.Grow(len(tools) + len(r.System) + len(r.User) + len(r.User)/8 + 512)
		err = json.MarshalWrite(&body, say.Message(r, forced), asScreensAre)
	}
	if err != nil {
		return nil, w.fail(llm.BadRequest, "the request can't be written as JSON")
	}
	body.Truncate(body.Len() - len("}"))
	body.WriteString(`,"tools":`)
	body.Write(tools)
	body.WriteByte('}')
	return body.Bytes(), nil
}

func encodeTools(specs []tool.Spec, offer func(tool.Spec) any) ([]byte, error) {
	offers := make([]any, len(specs))
	for i, spec := range specs {
		offers[i] = offer(spec)
	}
	return json.Marshal(offers, asScreensAre)
}

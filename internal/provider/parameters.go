package provider

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"interlock/internal/tool"
)

// Parameters returns the tool's schema as vendors want it: as published, with
// an empty "properties" where the root has none. Leaving it out makes OpenAI
// refuse the request, and writing null makes others do so.
func Parameters(spec tool.Spec) jsontext.Value {
	var root struct {
		Properties jsontext.Value `json:"properties"`
	}
	raw := bytes.TrimSpace(spec.Parameters)
	if json.Unmarshal(raw, &root) != nil || root.Properties != nil {
		return jsontext.Value(raw)
	}
	return jsontext.Value(`{"properties":{},` + string(raw[1:]))
}

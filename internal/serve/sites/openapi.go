package sites

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/resolve"
	"interlock/internal/serve"
)

// Document describes the door in OpenAPI 3.1, with the operations of the apps
// that this server publishes. The error is a schema that OpenAPI can't hold.
func Document(apps []catalog.App) (*huma.OpenAPI, error) {
	doc := serve.NewDocument("Interlock sites' API", "1",
		"What a site asks: what an instruction means, and the calls of apps. Each call needs a token (RS256, at most 300 seconds) that the site signed, used once. Every answer is an envelope.")
	schemas := doc.Components.Schemas
	request := schemas.Schema(reflect.TypeFor[ResolveRequest](), true, "")
	doc.AddOperation(operation(doc, PathResolve, "resolve", "What an instruction means; runs nothing. Scope: "+resolve.Scope,
		request, schemas.Schema(reflect.TypeFor[Resolution](), true, "")))
	for _, app := range apps {
		for _, op := range app.Operations {
			arguments, err := schemaOf(op.Arguments)
			if err != nil {
				return nil, fmt.Errorf("describe the arguments of %s/%s: %w", app.ID, op.Name, err)
			}
			result, err := schemaOf(op.Result)
			if err != nil {
				return nil, fmt.Errorf("describe the result of %s/%s: %w", app.ID, op.Name, err)
			}
			o := operation(doc, CallPath(app.ID, op.Name), string(app.ID)+"-"+op.Name, op.Description+" Scope: "+catalog.Scope(app.ID, op.Name), arguments, result)
			o.Parameters = []*huma.Param{{Name: serve.KeyHeader, In: "header", Schema: &huma.Schema{Type: huma.TypeString},
				Description: "1 to 200 printable ASCII characters; a repeat with the same key is the same call, and costs nothing"}}
			doc.AddOperation(o)
		}
	}
	return doc, nil
}

func operation(doc *huma.OpenAPI, path, id, summary string, request, data *huma.Schema) *huma.Operation {
	answer := func(about string, data *huma.Schema) *huma.Response {
		return &huma.Response{Description: about, Content: map[string]*huma.MediaType{"application/json": {Schema: envelope(doc, data)}}}
	}
	return &huma.Operation{Method: http.MethodPost, Path: path, OperationID: id, Summary: summary,
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: request}}},
		Responses:   map[string]*huma.Response{"200": answer("done", data), "default": answer("refused or failed: error.code is its stable name", &huma.Schema{Type: "null"})},
	}
}

// envelope is the schema of an Envelope around data.
func envelope(doc *huma.OpenAPI, data *huma.Schema) *huma.Schema {
	schemas := doc.Components.Schemas
	return &huma.Schema{Type: huma.TypeObject, Required: []string{"ok", "data", "error", "meta"}, Properties: map[string]*huma.Schema{
		"ok":    {Type: huma.TypeBoolean},
		"data":  data,
		"error": {OneOf: []*huma.Schema{schemas.Schema(reflect.TypeFor[Error](), true, ""), {Type: "null"}}},
		"meta":  schemas.Schema(reflect.TypeFor[Meta](), true, ""),
	}}
}

// schemaOf reads a JSON Schema as one of OpenAPI's.
func schemaOf(b json.RawMessage) (*huma.Schema, error) {
	var s huma.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

package serve

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/llm"
	"interlock/internal/problem"
	"interlock/internal/secret"
)

// BearerScheme names the security scheme of every document.
const BearerScheme = "bearer"

// NewDocument returns an OpenAPI 3.1 document without operations, whose
// components know the bearer scheme and how our own types look in JSON.
func NewDocument(title, version, about string) *huma.OpenAPI {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[llm.Count](), reflect.TypeFor[tokenCount]())
	registry.RegisterTypeAlias(reflect.TypeFor[secret.Exposed](), reflect.TypeFor[secretText]())
	return &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info:    &huma.Info{Title: title, Version: version, Description: about},
		Components: &huma.Components{
			Schemas:         registry,
			SecuritySchemes: map[string]*huma.SecurityScheme{BearerScheme: {Type: "http", Scheme: "bearer"}},
		},
		Security: []map[string][]string{{BearerScheme: {}}},
	}
}

// renamed are types whose name alone, outside their package, says too little.
var renamed = map[string]string{"problem.Decision": "FailedDecision", "policy.Document": "Policy", "tool.Spec": "ToolSpec"}

func schemaName(t reflect.Type, hint string) string {
	if name, ok := renamed[strings.TrimPrefix(t.String(), "*")]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// tokenCount is how an llm.Count looks: null where the provider reported none.
type tokenCount struct{}

// Schema describes the count.
func (tokenCount) Schema(huma.Registry) *huma.Schema {
	least := 0.0
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Nullable: true, Minimum: &least, Description: "tokens; null: the provider did not report it"}
}

// secretText is how a secret that travels looks.
type secretText struct{}

// Schema describes the text.
func (secretText) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "password"}
}

// ProblemResponse describes every answer of doc's operations that isn't a
// success.
func ProblemResponse(doc *huma.OpenAPI) *huma.Response {
	schema := doc.Components.Schemas.Schema(reflect.TypeFor[problem.Problem](), true, "")
	return &huma.Response{Description: "a problem (RFC 9457): code is its stable name, detail says what to do",
		Content: map[string]*huma.MediaType{problem.MediaType: {Schema: schema}}}
}

// DocumentHandler serves doc as it is now. It needs no credential: it tells
// only what every installation is.
func DocumentHandler(doc *huma.OpenAPI) (http.HandlerFunc, error) {
	body, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	}, nil
}

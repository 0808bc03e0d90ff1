package abn

import (
	"context"
	"encoding/json"
	"fmt"

	strict "github.com/go-json-experiment/json"

	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/secret"
)

// The names under which the app is published.
const (
	ID         = catalog.AppID("abn_lookup")
	Operation  = "lookup_v1"
	Capability = "business.au.abn.lookup"
)

// App is the published app. It is safe for concurrent use, and as durable as
// its source.
type App struct{ source Source }

// NewApp returns the app over the source that answers it.
func NewApp(s Source) *App { return &App{source: s} }

// Describe is what the app publishes. Each tenant needs a credential if the
// source wants one.
func (a *App) Describe() catalog.App {
	return catalog.App{
		ID:          ID,
		Title:       "ABN Lookup",
		Description: "What the Australian Business Register says of an Australian Business Number (ABN).",
		Credential:  a.source.NeedsCredential(),
		Operations: []catalog.Operation{{
			Name:         Operation,
			Capability:   Capability,
			Description:  "Looks up one Australian Business Number (ABN) in the Australian Business Register: whether it is registered, and the entity's name, type, GST registration and place.",
			Arguments:    json.RawMessage(argumentsSchema),
			Result:       json.RawMessage(resultSchema),
			Risk:         policy.Low,
			ReadOnly:     true,
			AgentVisible: true,
			Verbatim:     []string{"abn"},
			Recorded:     []string{"abn"},
		}},
	}
}

const argumentsSchema = `{
  "type": "object",
  "properties": {
    "abn": {"type": "string", "pattern": "^[1-9][0-9]{10}$", "description": "the eleven digits of the ABN, without spaces"}
  },
  "required": ["abn"],
  "additionalProperties": false
}`

// errArguments is what a caller hears of arguments that the schema would not
// let through.
var errArguments = fault.New(fault.Invalid, "invalid_arguments", `send the arguments as {"abn": "…"} with the eleven digits as a string`)

// Check refuses an abn whose checksum fails, which no schema can say, and
// arguments of another form than the schema's.
func (a *App) Check(operation string, arguments json.RawMessage) error {
	_, err := a.number(operation, arguments)
	return err
}

// Invoke looks the number up and returns the result of resultSchema. Beside
// the source's faults it returns those of Check, and unclassified errors for
// defects. It blocks as long as the source does.
func (a *App) Invoke(ctx context.Context, operation string, arguments json.RawMessage, credential secret.String) (json.RawMessage, error) {
	n, err := a.number(operation, arguments)
	if err != nil {
		return nil, err
	}
	r, p, found, err := a.source.Lookup(ctx, n, credential)
	if err != nil {
		return nil, err
	}
	answer, err := answerOf(n, r, p, found)
	if err != nil {
		return nil, err
	}
	return strict.Marshal(answer)
}

// number reads the arguments strictly: no other member, no duplicate, exact
// case.
func (a *App) number(operation string, arguments json.RawMessage) (Number, error) {
	if operation != Operation {
		return Number{}, fmt.Errorf("app %s has no operation %q", ID, operation)
	}
	var given struct {
		ABN *string `json:"abn"`
	}
	if err := strict.Unmarshal(arguments, &given, strict.RejectUnknownMembers(true)); err != nil || given.ABN == nil {
		return Number{}, errArguments
	}
	n, err := Parse(*given.ABN)
	if err != nil {
		return Number{}, fault.New(fault.Invalid, "invalid_arguments", "%s", fault.Of(err).Detail).Because(err)
	}
	return n, nil
}

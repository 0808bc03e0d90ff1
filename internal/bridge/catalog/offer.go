package catalog

import (
	"encoding/json"
	"fmt"

	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/tool"
)

// Offer is one operation of one app, as published. Get one from a Service.
type Offer struct {
	App       App
	Operation Operation
	tools     *tool.Set // takes the arguments; its one tool is Tool
	results   *tool.Set // takes the result, under the same name
}

// toolName is what selectors and policies call an operation.
func toolName(app AppID, operation string) string { return string(app) + "__" + operation }

// Tool is the operation as a model is told of it: "<app>__<operation>".
func (o Offer) Tool() tool.Spec { return o.tools.Specs()[0] }

// Scope lets a token call the operation.
func (o Offer) Scope() string { return Scope(o.App.ID, o.Operation.Name) }

// Scope is what a token must carry to call the operation of the app.
func Scope(app AppID, operation string) string { return "app:" + string(app) + ":" + operation }

// Facts are what a policy is asked about each call of the operation: its name
// as a tool, its risk, and its app as the package that it reaches.
func (o Offer) Facts() policy.Facts {
	return policy.Facts{
		Tool:    o.Tool().Name,
		Risk:    o.Operation.Risk,
		Reach:   policy.ReachApp,
		App:     string(o.App.ID),
		Confirm: o.Operation.Confirm,
	}
}

// Check decodes arguments strictly, holds them against the schema and returns
// them compacted. Its fault is invalid_arguments, and quotes no value.
func (o Offer) Check(raw []byte) (json.RawMessage, error) {
	call, err := o.tools.Check(o.Tool().Name, raw)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_arguments", "correct the arguments of %s: %v", o.Tool().Name, err)
	}
	return call.Arguments, nil
}

// CheckResult holds what the app answered against the operation's Result, and
// returns it compacted. An error is a defect of the app, and quotes no value.
func (o Offer) CheckResult(raw []byte) (json.RawMessage, error) {
	call, err := o.results.Check(o.Tool().Name, raw)
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", o.Tool().Name, err)
	}
	return call.Arguments, nil
}

package hosts

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"interlock/internal/hostapi"
	"interlock/internal/serve"
)

// PathOpenAPI is where the host protocol describes itself.
const PathOpenAPI = "/internal/v1/openapi.json"

// described is one call for the document.
type described struct {
	path, id, summary string
	request, reply    reflect.Type
	noContent         string // what a 204 means; "": it isn't answered
}

// protocol lists the calls in the order of a host's life.
var protocol = []described{
	{path: hostapi.PathEnroll, id: "enroll", summary: "Become a host with a one-use token", request: of[hostapi.EnrollRequest](), reply: of[hostapi.CredentialReply]()},
	{path: hostapi.PathRotate, id: "rotate-credential", summary: "Replace the presented credential", reply: of[hostapi.CredentialReply]()},
	{path: hostapi.PathHeartbeat, id: "heartbeat", summary: "Say what the host is and renew all that it holds", request: of[hostapi.HeartbeatRequest](), reply: of[hostapi.HeartbeatReply]()},
	{path: hostapi.PathPoll, id: "poll", summary: "Wait for work and signals", request: of[hostapi.PollRequest](), reply: of[hostapi.PollReply](), noContent: "nothing to say; poll again at once"},
	{path: hostapi.PathTask + "ack", id: "acknowledge", summary: "Take an assigned attempt on", reply: of[hostapi.LeaseReply]()},
	{path: hostapi.PathTask + "renew", id: "renew", summary: "Renew one lease", reply: of[hostapi.LeaseReply]()},
	{path: hostapi.PathTask + "events", id: "append-events", summary: "Report what happened", request: of[hostapi.EventsRequest](), reply: of[hostapi.EventsReply]()},
	{path: hostapi.PathDecide, id: "decide", summary: "Ask for one decision", request: of[hostapi.DecideRequest](), reply: of[hostapi.DecideReply]()},
	{path: hostapi.PathTask + "result", id: "report-result", summary: "End an attempt", request: of[hostapi.ResultRequest](), reply: of[hostapi.ResultReply]()},
	{path: hostapi.PathTask + "release", id: "release", summary: "Give an attempt back unfinished", request: of[hostapi.ReleaseRequest](), reply: of[hostapi.ResultReply]()},
}

func of[T any]() reflect.Type { return reflect.TypeFor[T]() }

// Document describes the host protocol in OpenAPI 3.1.
func Document() *huma.OpenAPI {
	doc := serve.NewDocument("Interlock host protocol", hostapi.Version,
		"What a host agent and the control plane say to each other. A failure is a problem whose retryable member says whether it is final.")
	for _, call := range protocol {
		doc.AddOperation(call.operation(doc))
	}
	return doc
}

func (c described) operation(doc *huma.OpenAPI) *huma.Operation {
	schemas := doc.Components.Schemas
	op := &huma.Operation{Method: http.MethodPost, Path: c.path, OperationID: c.id, Summary: c.summary,
		Parameters: []*huma.Param{
			header(hostapi.VersionHeader, "the protocol's version: "+hostapi.Version),
			header(hostapi.KeyHeader, "1 to 200 printable ASCII characters; a repeat with the same key gets the first answer"),
		},
		Responses: map[string]*huma.Response{
			"200":     {Description: "done", Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(c.reply, true, "")}}},
			"default": serve.ProblemResponse(doc),
		}}
	for _, name := range []string{"id", "n"} {
		if strings.Contains(c.path, "{"+name+"}") {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: pathSchema(name)})
		}
	}
	if c.request != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(c.request, true, "")}}}
	}
	if c.noContent != "" {
		op.Responses["204"] = &huma.Response{Description: c.noContent}
	}
	if c.path == hostapi.PathEnroll { // its credential is the token in the body
		op.Security = []map[string][]string{}
	}
	return op
}

func header(name, about string) *huma.Param {
	return &huma.Param{Name: name, In: "header", Required: true, Description: about, Schema: &huma.Schema{Type: huma.TypeString}}
}

func pathSchema(name string) *huma.Schema {
	if name == "n" {
		least := 1.0
		return &huma.Schema{Type: huma.TypeInteger, Minimum: &least, Description: "the attempt's number"}
	}
	return &huma.Schema{Type: huma.TypeString, Description: "the task's id"}
}

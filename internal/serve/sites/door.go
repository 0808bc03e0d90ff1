package sites

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/policy"
	"interlock/internal/serve"
	"interlock/internal/tool"
)

// The paths of the door.
const (
	PathRoot    = "/api/"
	PathResolve = "/api/v1/bridge_platform/agent/resolve"
	PathCall    = "/api/v1/{app}/{operation}"
	PathOpenAPI = "/api/v1/openapi.json"
)

// CallPath is where an operation of an app is called.
func CallPath(app catalog.AppID, operation string) string {
	return "/api/v1/" + string(app) + "/" + operation
}

// Limits of what is read of a request.
const (
	maxToken       = site.MaxToken
	maxInstruction = 6*selector.MaxInstruction + 1024 // JSON may write a byte as six
)

// Config sets up the door. The rooms and Logger must be set.
type Config struct {
	Catalog  *catalog.Service
	Sites    *site.Service
	Resolver *resolve.Service
	Gateway  *gateway.Service
	Now      func() time.Time // default time.Now
	Logger   *slog.Logger
}

// Door answers sites.
type Door struct{ Config }

// New returns the door.
func New(c Config) *Door {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Door{c}
}

// Mount adds the door's paths to m. The error is a defect of an app's schemas.
func (d *Door) Mount(m *serve.Mux) error {
	doc, err := Document(d.Catalog.Apps())
	if err != nil {
		return err
	}
	document, err := serve.DocumentHandler(doc)
	if err != nil {
		return fmt.Errorf("describe the sites' API: %w", err)
	}
	m.HandleFunc("POST "+PathResolve, d.authenticated(call.resolve))
	m.HandleFunc("POST "+PathCall, d.authenticated(call.invoke))
	m.HandleQuiet("GET "+PathOpenAPI, document)
	m.HandleRest(PathRoot, func(w http.ResponseWriter, r *http.Request, err error) { d.begin(w, r).reply(nil, err) })
	return nil
}

// call is one call under way.
type call struct {
	door   *Door
	w      http.ResponseWriter
	r      *http.Request
	start  time.Time
	caller site.Caller
	scope  string // that the call needs, once it is known
	meta   Meta
}

func (d *Door) begin(w http.ResponseWriter, r *http.Request) call {
	serve.SetFailure(r.Context(), func(w http.ResponseWriter, r *http.Request, err error) {
		call{door: d, w: w, r: r, start: time.Now()}.reply(nil, err)
	})
	return call{door: d, w: w, r: r, start: time.Now()}
}

var errNoToken = fault.New(fault.Unauthenticated, "invalid_token", "send one token that the site signed as Authorization: Bearer TOKEN, a new one for each call")

// authenticated runs h for a caller whose token was good and is now spent.
func (d *Door) authenticated(h func(call, context.Context)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := d.begin(w, r)
		token, err := serve.BearerUpTo(r, maxToken)
		if err != nil {
			c.reply(nil, errNoToken)
			return
		}
		if c.caller, err = d.Sites.Authenticate(r.Context(), token); err != nil {
			c.reply(nil, err)
			return
		}
		c.meta.Tenant = string(c.caller.Tenant)
		serve.SetCaller(r.Context(), "site:"+string(c.caller.Site))
		h(c, r.Context())
	}
}

// ResolveRequest asks what an instruction means.
type ResolveRequest struct {
	Instruction string `json:"instruction" maxLength:"4096" doc:"in a person's words; at most 4,096 bytes"`
}

// Resolution is a proposal that passed every check, or why there is none. It
// ran nothing: the call is another request, which is checked by itself.
type Resolution struct {
	Status       string          `json:"status" enum:"resolved,no_matching_tool"`
	Reason       string          `json:"reason,omitzero" doc:"with no_matching_tool: one word of a closed list"`
	Selector     string          `json:"selector,omitzero" doc:"what proposed it"`
	Capability   string          `json:"capability,omitzero"`
	App          string          `json:"app,omitzero"`
	Operation    string          `json:"operation,omitzero"`
	Arguments    json.RawMessage `json:"arguments,omitzero" doc:"an object, as the operation's schema has it"`
	Risk         policy.Risk     `json:"risk,omitzero" enum:"low,medium,high"`
	Confirmation bool            `json:"confirmation" doc:"a person must agree to the call"`
}

func (c call) resolve(ctx context.Context) {
	c.scope = resolve.Scope
	var q ResolveRequest
	if err := serve.Decode(c.w, c.r, maxInstruction, &q); err != nil {
		c.reply(nil, err)
		return
	}
	r, err := c.door.Resolver.Resolve(ctx, c.caller, serve.RequestID(ctx), q.Instruction)
	c.reply(Resolution{
		Status: r.Status, Reason: string(r.Reason), Selector: r.Selector, Capability: r.Capability, App: string(r.App), Operation: r.Operation,
		Arguments: r.Arguments, Risk: r.Risk, Confirmation: r.Confirmation,
	}, err)
}

// invoke makes one call of an app.
func (c call) invoke(ctx context.Context) {
	q := gateway.Request{App: catalog.AppID(c.r.PathValue("app")), Operation: c.r.PathValue("operation"), RequestID: serve.RequestID(ctx)}
	if catalog.WellFormed(string(q.App)) && catalog.WellFormed(q.Operation) { // what a stranger wrote is not repeated
		c.meta.App, c.meta.Operation = string(q.App), q.Operation
		c.scope = catalog.Scope(q.App, q.Operation)
	}
	var err error
	if q.Key, err = optionalKey(c.r); err != nil {
		c.reply(nil, err)
		return
	}
	if err = serve.RequireJSON(c.r.Header.Get("Content-Type")); err != nil {
		c.reply(nil, err)
		return
	}
	var body bytes.Buffer
	if err = serve.ReadBody(&body, c.w, c.r, tool.MaxArgumentBytes); err != nil {
		c.reply(nil, err)
		return
	}
	q.Arguments = body.Bytes()
	reply, err := c.door.Gateway.Call(ctx, c.caller, q)
	c.meta.Quota, c.meta.Replayed = quotaOf(reply.Meta.Meter), reply.Meta.Replayed
	c.reply(reply.Result, err)
}

// optionalKey is the caller's idempotency key, "" where it sent none.
func optionalKey(r *http.Request) (string, error) {
	if len(r.Header.Values(serve.KeyHeader)) == 0 {
		return "", nil
	}
	return serve.IdempotencyKey(r)
}

package operators

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"interlock/internal/access"
	"interlock/internal/audit"
	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/site"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/secret"
	"interlock/internal/serve"
	"interlock/internal/tenant"
	"interlock/internal/usage"
)

// Config sets up the door. The rooms, Audit and Logger must be set, but for
// those that say otherwise.
type Config struct {
	Tasks     *task.Service
	Fleet     *fleet.Service
	Decisions *decision.Service
	Usage     *usage.Service
	Access    *access.Service
	Audit     audit.Log

	Catalog     *catalog.Service
	Sites       *site.Service
	Credentials *credential.Service // nil: there is no keyset, so none are kept
	Resolver    *resolve.Service
	Gateway     *gateway.Service
	// PurgeABN forgets what the register said of a number (the zero Number: of
	// any) and returns how many answers that were; nil: nothing is cached.
	PurgeABN func(abn.Number) int

	Version string           // of the program, for Status
	Planner PlannerName      // zero: no provider is configured
	Now     func() time.Time // default time.Now
	Logger  *slog.Logger
	// WatchEvery is how often a watch sends a sign of life; zero: 15 s, under
	// the idle limits of common proxies.
	WatchEvery time.Duration
}

// PlannerName says what answers decides.
type PlannerName struct{ Provider, Model string }

// Door answers operators.
type Door struct {
	Config
	doc *huma.OpenAPI
}

// New returns the door.
func New(c Config) *Door {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.WatchEvery <= 0 {
		c.WatchEvery = 15 * time.Second
	}
	return &Door{Config: c}
}

// maxBody is more than any body of this API needs.
const maxBody = 1 << 20

// Mount adds the door's paths to m. The error is a defect of the API's types.
func (d *Door) Mount(m *serve.Mux) error {
	d.doc = serve.NewDocument("Interlock operators' API", "1", "Run the control plane: tasks, hosts, decisions, usage, audit; and the bridge: tenants, sites, apps, credentials, calls. A failure is a problem.")
	d.describeTypes()
	api := humago.New(guarded{m, d}, huma.Config{OpenAPI: d.doc, Formats: formats(), DefaultFormat: mediaType, RejectUnknownQueryParameters: true})
	d.mountTasks(api)
	d.mountHosts(api)
	d.mountDecisions(api)
	d.mountUsage(api)
	d.mountAccess(api)
	d.mountAudit(api)
	d.mountStatus(api)
	d.mountTenants(api)
	d.mountApps(api)
	d.mountSites(api)
	d.mountCredentials(api)
	d.mountCalls(api)
	document, err := serve.DocumentHandler(d.doc)
	if err != nil {
		return fmt.Errorf("describe the operators' API: %w", err)
	}
	m.HandleQuiet("GET "+PathOpenAPI, document)
	return nil
}

// operator is who sent a request.
type operator struct {
	tenant tenant.ID
	by     string // the actor of audit facts
}

type operatorKey struct{}

// operatorOf returns who sent the request of ctx; guarded put it there.
func operatorOf(ctx context.Context) operator { return ctx.Value(operatorKey{}).(operator) }

// guarded lets a request reach the API only with a valid API token and a body
// of the right type and size, so that nothing of a stranger's is decoded.
type guarded struct {
	*serve.Mux
	d *Door
}

// HandleFunc routes pattern to h behind the guard.
func (g guarded) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	g.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r, err := g.d.admit(r)
		if err != nil {
			serve.Fail(w, r, g.d.Logger, err)
			return
		}
		h(w, r)
	})
}

var errQuery = fault.New(fault.Invalid, "invalid_request", "the query is malformed; percent-encode its values")

// admit returns r with its operator on the context.
func (d *Door) admit(r *http.Request) (*http.Request, error) {
	bearer, err := serve.Bearer(r)
	if err != nil {
		return r, err
	}
	token, err := d.Access.Authenticate(r.Context(), secret.New(bearer))
	if err != nil {
		return r, err
	}
	by := audit.ByToken(token.ID)
	serve.SetCaller(r.Context(), by)
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil { // else what it can't read would be left out, a filter too
		return r, errQuery
	}
	if r.ContentLength > maxBody {
		return r, serve.TooLarge(maxBody)
	}
	if r.ContentLength != 0 {
		if err := serve.RequireJSON(r.Header.Get("Content-Type")); err != nil {
			return r, err
		}
	}
	return r.WithContext(context.WithValue(r.Context(), operatorKey{}, operator{token.Tenant, by})), nil
}

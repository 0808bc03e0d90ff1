package hosts

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"interlock/internal/audit"
	"interlock/internal/cloud/decision"
	"interlock/internal/cloud/fleet"
	"interlock/internal/cloud/task"
	"interlock/internal/fault"
	"interlock/internal/hostapi"
	"interlock/internal/secret"
	"interlock/internal/serve"
)

// Config sets up the door. The rooms and Logger must be set.
type Config struct {
	Fleet     *fleet.Service
	Tasks     *task.Service
	Decisions *decision.Service
	Timings   hostapi.Timings  // sent to hosts as they are
	Now       func() time.Time // default time.Now; dates events
	Logger    *slog.Logger
}

// Door answers host agents.
type Door struct{ Config }

// New returns the door.
func New(c Config) *Door {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Door{c}
}

// Mount adds the door's paths to m. The error is a defect of the protocol's types.
func (d *Door) Mount(m *serve.Mux) error {
	document, err := serve.DocumentHandler(Document())
	if err != nil {
		return fmt.Errorf("describe the host protocol: %w", err)
	}
	m.HandleFunc("POST "+hostapi.PathEnroll, d.versioned(d.enroll))
	m.HandleFunc("POST "+hostapi.PathRotate, d.authenticated(d.rotate))
	m.HandleQuiet("POST "+hostapi.PathHeartbeat, d.authenticated(d.heartbeat))
	m.HandleQuiet("POST "+hostapi.PathPoll, d.authenticated(d.poll))
	m.HandleQuiet("POST "+hostapi.PathTask+"renew", d.authenticated(fenced(d.renew)))
	m.HandleFunc("POST "+hostapi.PathTask+"ack", d.authenticated(fenced(d.ack)))
	m.HandleQuiet("POST "+hostapi.PathTask+"events", d.authenticated(fenced(d.events)))
	m.HandleFunc("POST "+hostapi.PathTask+"result", d.authenticated(fenced(d.result)))
	m.HandleFunc("POST "+hostapi.PathTask+"release", d.authenticated(fenced(d.release)))
	m.HandleFunc("POST "+hostapi.PathDecide, d.authenticated(d.decide))
	m.HandleQuiet("GET "+PathOpenAPI, document)
	return nil
}

// call is one authenticated call under way.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	host fleet.Host
	key  string // the idempotency key
	// bearer is the presented credential, which rotate replaces.
	bearer secret.String
}

// handler answers a call with a status and a body (nil: none), or fails.
type handler func(context.Context, call) (status int, reply any, err error)

// versioned runs h for a caller that speaks the protocol and sent a key.
func (d *Door) versioned(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := call{w: w, r: r}
		err := checkVersion(r)
		if err == nil {
			c.key, err = serve.IdempotencyKey(r)
		}
		d.answer(c, h, err)
	}
}

// authenticated runs h for a caller that besides proved which host it is.
func (d *Door) authenticated(h handler) http.HandlerFunc {
	return d.versioned(func(ctx context.Context, c call) (int, any, error) {
		bearer, err := serve.Bearer(c.r)
		if err != nil {
			return 0, nil, err
		}
		c.bearer = secret.New(bearer)
		if c.host, err = d.Fleet.Authenticate(ctx, c.bearer); err != nil {
			return 0, nil, err
		}
		serve.SetCaller(ctx, audit.ByHost(string(c.host.ID)))
		return h(ctx, c)
	})
}

func (d *Door) answer(c call, h handler, err error) {
	var status int
	var reply any
	if err == nil {
		status, reply, err = h(c.r.Context(), c)
	}
	switch {
	case err != nil:
		serve.Fail(c.w, c.r, d.Logger, err)
	case reply == nil:
		c.w.WriteHeader(status)
	default:
		serve.Reply(c.w, c.r, d.Logger, status, reply)
	}
}

// checkVersion refuses a caller of another protocol version.
func checkVersion(r *http.Request) error {
	if r.Header.Get(hostapi.VersionHeader) != hostapi.Version {
		return fault.New(fault.Invalid, "protocol_version", "this server speaks version %s of the host protocol and needs the header %s: %s; run the same release on hosts and server",
			hostapi.Version, hostapi.VersionHeader, hostapi.Version)
	}
	return nil
}

// fenced runs h for the attempt that the path names and the caller must hold.
func fenced(h func(context.Context, call, task.Fence) (any, error)) handler {
	return func(ctx context.Context, c call) (int, any, error) {
		n, err := strconv.ParseInt(c.r.PathValue("n"), 10, 32)
		id := c.r.PathValue("id")
		if err != nil || n < 1 || len(id) > maxTaskID {
			return 0, nil, task.ErrNotFound
		}
		reply, err := h(ctx, c, c.fence(id, int(n)))
		return http.StatusOK, reply, err
	}
}

// maxTaskID is longer than any id of ours.
const maxTaskID = 64

func (c call) fence(id string, attempt int) task.Fence {
	return task.Fence{Tenant: c.host.Tenant, Host: c.host.ID, Task: task.ID(id), Attempt: attempt}
}

// decode reads an ordinary body.
func (c call) decode(v any) error { return serve.Decode(c.w, c.r, hostapi.MaxBody, v) }

package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/tenant"
)

// Request asks for one call.
type Request struct {
	App       catalog.AppID // as it came: it need not be one
	Operation string        // as it came
	Arguments []byte        // as they came, bounded by whoever read them
	Key       string        // idempotency key, 1 to 200 printable ASCII characters; "": none
	RequestID string
}

// Reply is the answer to a call. Beside an error its Meta is set all the same.
type Reply struct {
	Result json.RawMessage // satisfies the operation's Result
	Meta   Meta
}

// Meta says what was called and what it cost.
type Meta struct {
	Tenant    tenant.ID
	App       catalog.AppID // "" where what was asked for could not be an app
	Operation string        // likewise
	Meter     *Meter        // of the app's quota; nil: not known
	Duration  time.Duration
	Replayed  bool // the result is that of an earlier call with the same key
}

// call is one request on its way.
type call struct {
	caller    site.Caller
	arguments []byte // as they came
	record    Record // of this request; once an earlier one is opened again, of that
	meta      Meta

	// Set on the way:
	standing   catalog.Standing
	enablement catalog.Enablement
	offer      catalog.Offer
	checked    json.RawMessage // the arguments, as schema and app let them through
	again      string          // id of an interrupted call that this is to make again; "": none
}

func (s *Service) newCall(who site.Caller, r Request) *call {
	c := &call{caller: who, arguments: r.Arguments}
	if catalog.WellFormed(string(r.App)) {
		c.record.App = r.App
	}
	if catalog.WellFormed(r.Operation) {
		c.record.Operation = r.Operation
	}
	c.record.ID = uuid.Must(uuid.NewV7()).String()
	c.record.Tenant, c.record.Site, c.record.RequestID = who.Tenant, who.Site, r.RequestID
	c.record.OpenedAt = s.now()
	c.record.BodyHash = bodyHash(r)
	if saneKey(r.Key) {
		c.record.Key = r.Key
	}
	c.meta = Meta{Tenant: who.Tenant, App: c.record.App, Operation: c.record.Operation}
	return c
}

// bodyHash tells one request from another: length-prefixed fields, the
// arguments byte by byte as they came.
func bodyHash(r Request) [32]byte {
	h := sha256.New()
	for _, field := range [][]byte{[]byte(r.App), []byte(r.Operation), r.Arguments} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
		h.Write(field)
	}
	return [32]byte(h.Sum(nil))
}

const maxKey = 200

// saneKey reports whether key can be an idempotency key.
func saneKey(key string) bool {
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}

// Call checks everything and makes the call, or refuses it; see the package's
// comment for the order. It blocks for up to CallTimeout and some seconds of
// the store's. A caller that leaves ends nothing: the call goes on and its
// record is closed.
func (s *Service) Call(ctx context.Context, who site.Caller, r Request) (Reply, error) {
	began := s.now()
	c := s.newCall(who, r)
	result, err := s.call(ctx, c, r)
	c.meta.Duration = s.now().Sub(began)
	s.note(ctx, c, err)
	return Reply{Result: result, Meta: c.meta}, err
}

func (s *Service) call(ctx context.Context, c *call, r Request) (json.RawMessage, error) {
	if !s.enter() {
		return nil, errDraining
	}
	defer s.underway.Done()
	standing, err := s.catalog.Standing(ctx, c.record.Tenant)
	if err != nil {
		return nil, err
	}
	if err := s.admit(c, standing); err != nil {
		return nil, s.refuse(ctx, c, err)
	}
	switch {
	case r.Key == "":
		return s.carryOut(context.WithoutCancel(ctx), c)
	case c.record.Key == "":
		return nil, s.refuse(ctx, c, errKey)
	}
	return s.share(ctx, c)
}

// enter counts a call, unless the gateway is going down.
func (s *Service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.underway.Add(1)
	return true
}

// note counts a call and writes its one line.
func (s *Service) note(ctx context.Context, c *call, err error) {
	verdict := OK
	if err != nil {
		verdict = fault.Of(err).Code
	}
	if c.meta.Replayed && err == nil {
		s.outcomes.Add("replayed")
	} else {
		s.outcomes.Add(verdict)
	}
	s.cfg.Logger.InfoContext(ctx, "call", c.ids("verdict", verdict, "replayed", c.meta.Replayed, "duration", c.meta.Duration)...)
}

// ids are the attributes that say which call a line is about.
func (c *call) ids(more ...any) []any {
	r := c.record
	return append([]any{"request", r.RequestID, "tenant", r.Tenant, "site", r.Site, "app", r.App, "operation", r.Operation, "call", r.ID}, more...)
}

// storeTimeout bounds each wait for the store that the call itself needs.
const storeTimeout = 5 * time.Second

// carryOut takes an admitted call from its key to its end. ctx is not cancelled
// when the caller leaves.
func (s *Service) carryOut(ctx context.Context, c *call) (json.RawMessage, error) {
	if reply, err := s.recall(ctx, c); err != nil || c.meta.Replayed {
		return reply, err
	}
	if err := s.check(ctx, c); err != nil {
		return nil, s.refuse(ctx, c, err)
	}
	if reply, err := s.open(ctx, c); err != nil || c.meta.Replayed {
		return reply, err
	}
	return s.run(ctx, c)
}

// logged names a failure of the store by what it means for the call.
func logged(what string, err error) error {
	if err == nil {
		return nil
	}
	return errLog.Because(fmt.Errorf("%s: %w", what, err))
}

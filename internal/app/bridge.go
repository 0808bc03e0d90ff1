package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"interlock/internal/bridge/abn"
	"interlock/internal/bridge/catalog"
	"interlock/internal/bridge/credential"
	"interlock/internal/bridge/gateway"
	"interlock/internal/bridge/resolve"
	"interlock/internal/bridge/selector"
	"interlock/internal/bridge/site"
	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/provider/anthropic"
	"interlock/internal/provider/openai"
	"interlock/internal/secret"
	"interlock/internal/store/abnindex"
)

// DefaultAudience is what sites' tokens are for if nobody says otherwise.
const DefaultAudience = "interlock"

// Bridge says how sites are served. The zero value looks ABNs up in the
// register's web service and can keep no credential.
type Bridge struct {
	Audience   string        // of sites' tokens; "": DefaultAudience
	KeysetFile string        // seals credentials; "": none can be kept
	Retention  time.Duration // of the records of resolutions and calls; zero: the rooms' default
	ABN        ABN
	Selector   Selector
}

// The sources of the ABN app by their setting's values.
const (
	ABNWeb    = "abr"    // the register's web service, with each tenant's GUID
	ABNIndex  = "index"  // the file that "interlock abn import" made
	ABNSample = "sample" // a few built-in records, for rehearsals
)

// ABN says where ABNs are looked up.
type ABN struct {
	Source  string // "": ABNIndex where the index is there, else ABNWeb
	Index   string // path of the index
	BaseURL string // of the web service; "": its own
	Form    string // "json" or "xml"; "": json
}

// Selector says which model is asked what an instruction means, where the
// deterministic selector finds nothing.
type Selector struct {
	Enabled     bool
	Provider    string // OpenAI or Anthropic; "": OpenAI
	Model       string
	Key         secret.String
	BaseURL     string // "": the vendor's own address
	CallsPerDay int64  // of one tenant; zero: selector's default
}

// bridge are the services behind the sites' door.
type bridge struct {
	catalog     *catalog.Service
	sites       *site.Service
	credentials *credential.Service
	resolver    *resolve.Service
	gateway     *gateway.Service
	purgeABN    func(abn.Number) int // nil: the source keeps nothing
	closeABN    func() error         // nil: there is nothing to close
}

// furnishBridge makes the bridge's services over the store.
func (s *Server) furnishBridge() (err error) {
	c, b := s.config, &s.rooms.bridge
	lookup, err := b.openABN(c.Bridge.ABN, s)
	if err != nil {
		return err
	}
	apps := []gateway.App{lookup}
	published := make([]catalog.App, len(apps))
	for i, a := range apps {
		published[i] = a.Describe()
	}
	if b.catalog, err = catalog.New(s.store, published, catalog.Config{Now: c.Now, Logger: c.Logger}); err != nil {
		return err
	}
	if b.sites, err = site.New(s.store, site.Config{Audience: cmp.Or(c.Bridge.Audience, DefaultAudience), Now: c.Now, Logger: c.Logger}); err != nil {
		return err
	}
	if c.Bridge.KeysetFile != "" {
		keys, err := credential.OpenKeyset(c.Bridge.KeysetFile)
		if err != nil {
			return err
		}
		if b.credentials, err = credential.New(s.store, keys, credential.Config{Now: c.Now, Logger: c.Logger}); err != nil {
			return err
		}
	}
	choose, err := s.selector()
	if err != nil {
		return err
	}
	if b.resolver, err = resolve.New(s.store, b.catalog, choose, resolve.Config{Retention: c.Bridge.Retention, Now: c.Now, Logger: c.Logger}); err != nil {
		return err
	}
	b.gateway, err = gateway.New(s.store, b.catalog, b.credentials, apps, gateway.Config{Retention: c.Bridge.Retention, Now: c.Now, Logger: c.Logger})
	return err
}

// openABN opens the source of the ABN app.
func (b *bridge) openABN(c ABN, s *Server) (*abn.App, error) {
	source := c.Source
	if source == "" {
		source = ABNWeb
		if _, err := os.Stat(c.Index); c.Index != "" && !errors.Is(err, fs.ErrNotExist) {
			source = ABNIndex
		}
	}
	switch source {
	case ABNSample:
		return abn.NewApp(abn.Sample()), nil
	case ABNIndex:
		if c.Index == "" {
			return nil, fault.New(fault.Invalid, "abn_index_missing", "INTERLOCK_ABN_SOURCE is index and INTERLOCK_ABN_INDEX names no file; set it to the file that interlock abn import makes")
		}
		index, err := abnindex.Open(c.Index)
		if err != nil {
			return nil, err
		}
		b.closeABN = index.Close
		return abn.NewApp(index), nil
	}
	web, err := abn.NewWeb(abn.WebConfig{BaseURL: c.BaseURL, Form: abn.Form(c.Form), Now: s.config.Now, Logger: s.config.Logger})
	if err != nil {
		return nil, err
	}
	b.purgeABN = func(n abn.Number) int {
		if n == (abn.Number{}) {
			return web.PurgeAll()
		}
		return web.Purge(n)
	}
	return abn.NewApp(web), nil
}

// selector is the deterministic one, and behind it the model of the settings.
func (s *Server) selector() (selector.ToolSelector, error) {
	first := selector.NewDeterministic()
	c := s.config.Bridge.Selector
	if !c.Enabled {
		return first, nil
	}
	caller, err := c.caller()
	if err != nil {
		return nil, err
	}
	model := selector.NewModel(s.store, caller, selector.ModelConfig{Provider: cmp.Or(c.Provider, OpenAI), PerDay: c.CallsPerDay, Now: s.config.Now, Logger: s.log})
	return selector.InOrder(first, model), nil
}

// caller builds the client of the selector's vendor.
func (c Selector) caller() (llm.StructuredCaller, error) {
	switch {
	case c.Model == "":
		return nil, fault.New(fault.Invalid, "model_missing", "AGENT_LLM_ENABLED is 1 and AGENT_LLM_MODEL is not set; set it to the model's name as the provider spells it")
	case c.Key.Empty() && c.BaseURL == "":
		return nil, fault.New(fault.Invalid, "key_missing", "AGENT_LLM_ENABLED is 1 and there is no key; set AGENT_LLM_API_KEY_FILE to a file of mode 0600 that holds it, or AGENT_LLM_BASE_URL to a server that needs none")
	}
	config := provider.Config{BaseURL: c.BaseURL, Key: c.Key, Model: c.Model}
	if c.Provider == Anthropic {
		return anthropic.New(config)
	}
	return openai.New(config)
}

// loops are what the bridge does besides answering.
func (b *bridge) loops() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{"sites": b.sites.Run, "resolutions": b.resolver.Run, "calls": b.gateway.Run}
}

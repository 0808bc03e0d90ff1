package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"interlock/internal/bridge/catalog"
	"interlock/internal/fault"
	"interlock/internal/policy"
)

// weather is an app with nothing wrong about it.
func weather() catalog.App {
	return catalog.App{ID: "weather", Title: "Weather", Description: "What the weather is like.", Operations: []catalog.Operation{
		{
			Name: "report_v1", Capability: "test.weather.report", Description: "Takes a report of the weather.", Risk: policy.Medium, Confirm: true,
			Arguments: json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}`),
			Result:    json.RawMessage(`{"type": "object"}`),
		},
		{
			Name: "forecast_v1", Capability: "test.weather.forecast", Description: "Tells the weather of a town.", Risk: policy.Low, ReadOnly: true, AgentVisible: true,
			Arguments: json.RawMessage(`{"type": "object", "properties": {"town": {"type": "string", "maxLength": 40}, "days": {"type": "integer"}}, "required": ["town"], "additionalProperties": false}`),
			Result:    json.RawMessage(`{"type": "object", "properties": {"sky": {"type": "string", "enum": ["clear", "grey"]}}, "required": ["sky"], "additionalProperties": false}`),
			Verbatim:  []string{"town"}, Recorded: []string{"town"},
		},
	}}
}

// tides is another.
func tides() catalog.App {
	return catalog.App{ID: "tides", Title: "Tides", Operations: []catalog.Operation{{
		Name: "next_v1", Capability: "test.tides.next", Description: "Tells when the next tide is.", Risk: policy.Low, ReadOnly: true, AgentVisible: true,
		Arguments: json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		Result:    json.RawMessage(`{"type": "object"}`),
	}}}
}

func publish(t *testing.T, apps ...catalog.App) *catalog.Service {
	t.Helper()
	s, err := catalog.New(nil, apps, catalog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAMalformedAppStopsTheServerWithASentenceThatNamesTheMistake(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 33)
	for name, c := range map[string]struct {
		spoil func(*catalog.App)
		want  string
	}{
		"an id with a capital":             {func(a *catalog.App) { a.ID = "Weather" }, `app id "Weather" is not 1 to 32`},
		"an id that begins with a digit":   {func(a *catalog.App) { a.ID = "1weather" }, `app id "1weather"`},
		"an id of 33 characters":           {func(a *catalog.App) { a.ID = catalog.AppID(long) }, `app id "` + long},
		"no id":                            {func(a *catalog.App) { a.ID = "" }, `app id ""`},
		"a reserved id":                    {func(a *catalog.App) { a.ID = "bridge_platform" }, "reserved word"},
		"no title":                         {func(a *catalog.App) { a.Title = "" }, "the title"},
		"a title with a line break":        {func(a *catalog.App) { a.Title = "a\nb" }, "the title"},
		"a description beyond its bound":   {func(a *catalog.App) { a.Description = strings.Repeat("x", 1001) }, "the description of app"},
		"no operation":                     {func(a *catalog.App) { a.Operations = nil }, "has no operation"},
		"an operation with a hyphen":       {func(a *catalog.App) { a.Operations[1].Name = "fore-cast" }, `operation name "fore-cast"`},
		"names too long together":          {func(a *catalog.App) { a.ID = catalog.AppID(long[1:]); a.Operations[0].Name = long[1:] }, "longer than 64 bytes"},
		"an operation twice":               {func(a *catalog.App) { a.Operations[0].Name = "forecast_v1" }, "weather__forecast_v1 is published twice"},
		"a capability of one word":         {func(a *catalog.App) { a.Operations[1].Capability = "weather" }, "the capability of"},
		"a capability with an empty word":  {func(a *catalog.App) { a.Operations[1].Capability = "test..weather" }, "the capability of"},
		"a capability with a capital":      {func(a *catalog.App) { a.Operations[1].Capability = "test.Weather" }, "the capability of"},
		"an operation without description": {func(a *catalog.App) { a.Operations[1].Description = "" }, "the description of weather__forecast_v1"},
		"no risk":                          {func(a *catalog.App) { a.Operations[1].Risk = "" }, "the risk of"},
		"an invented risk":                 {func(a *catalog.App) { a.Operations[1].Risk = "none" }, "the risk of"},
		"arguments that are no schema":     {func(a *catalog.App) { a.Operations[1].Arguments = json.RawMessage(`{"type": "object"`) }, "arguments schema"},
		"arguments that are no object":     {func(a *catalog.App) { a.Operations[1].Arguments = json.RawMessage(`{"type": "string"}`) }, "arguments schema"},
		"open arguments":                   {func(a *catalog.App) { a.Operations[0].Arguments = json.RawMessage(`{"type": "object"}`) }, `must say "additionalProperties": false`},
		"arguments open by a schema": {func(a *catalog.App) {
			a.Operations[0].Arguments = json.RawMessage(`{"type": "object", "additionalProperties": {}}`)
		}, `must say "additionalProperties": false`},
		"a schema that refers outside": {func(a *catalog.App) {
			a.Operations[0].Arguments = json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {"a": {"$ref": "https://example.com/a"}}}`)
		}, "arguments schema"},
		"a result that is no schema":      {func(a *catalog.App) { a.Operations[1].Result = nil }, "result schema"},
		"verbatim of an unknown argument": {func(a *catalog.App) { a.Operations[1].Verbatim = []string{"city"} }, `argument "city"`},
		"verbatim of a number":            {func(a *catalog.App) { a.Operations[1].Verbatim = []string{"days"} }, `argument "days"`},
		"recorded of an unknown argument": {func(a *catalog.App) { a.Operations[1].Recorded = []string{"city"} }, `argument "city"`},
		"a schema that a vendor refuses": {func(a *catalog.App) {
			a.Operations[1].Arguments = json.RawMessage(`{"type": "object", "properties": {"town": {"type": "string"}}, "additionalProperties": false, "anyOf": [{"required": ["town"]}]}`)
		}, "anthropic"},
		"one capability, proposable twice":  {func(a *catalog.App) { a.Operations[0] = a.Operations[1]; a.Operations[0].Name = "forecast_v2" }, "has the capability of another"},
		"several mistakes, and all of them": {func(a *catalog.App) { a.Title = ""; a.Operations[1].Risk = "" }, "the title of app \"weather\" is not 1 to 100 printable bytes; the risk of"},
	} {
		app := weather()
		c.spoil(&app)
		_, err := catalog.New(nil, []catalog.App{app}, catalog.Config{})
		if f := fault.Of(err); f == nil || f.Code != "invalid_app" || !strings.Contains(f.Detail, c.want) {
			t.Errorf("%s: got %v, want invalid_app with %q", name, err, c.want)
		}
	}
}

func TestOneAppIsPublishedOnce(t *testing.T) {
	t.Parallel()
	if _, err := catalog.New(nil, []catalog.App{weather(), weather()}, catalog.Config{}); fault.Of(err) == nil || !strings.Contains(err.Error(), `app "weather" is published twice`) {
		t.Errorf("got %v", err)
	}
}

func TestAHiddenOperationNeedsNothingOfVendors(t *testing.T) {
	t.Parallel()
	app := weather()
	app.Operations[1].AgentVisible = false
	app.Operations[1].Arguments = json.RawMessage(`{"type": "object", "properties": {"town": {"type": "string"}}, "additionalProperties": false, "anyOf": [{"required": ["town"]}]}`)
	if _, err := catalog.New(nil, []catalog.App{app}, catalog.Config{}); err != nil {
		t.Error(err)
	}
}

func TestNoReservedWordIsAnAppID(t *testing.T) {
	t.Parallel()
	for _, word := range catalog.Reserved {
		app := weather()
		app.ID = catalog.AppID(word)
		if _, err := catalog.New(nil, []catalog.App{app}, catalog.Config{}); err == nil {
			t.Errorf("%q is published", word)
		}
	}
}

func TestWhatIsPublishedCanBeFound(t *testing.T) {
	t.Parallel()
	s := publish(t, weather(), tides())
	if apps := s.Apps(); len(apps) != 2 || apps[0].ID != "tides" || apps[1].ID != "weather" {
		t.Errorf("apps are not in order: %v", apps)
	}
	o, ok := s.Offer("weather", "forecast_v1")
	if !ok || o.Tool().Name != "weather__forecast_v1" || o.Scope() != "app:weather:forecast_v1" || o.Tool().Description != "Tells the weather of a town." {
		t.Errorf("got %+v, %v", o, ok)
	}
	if want := (policy.Facts{Tool: "weather__forecast_v1", Risk: policy.Low, Reach: policy.ReachApp, App: "weather"}); !sameFacts(o.Facts(), want) {
		t.Errorf("facts are %+v, want %+v", o.Facts(), want)
	}
	if o, _ := s.Offer("weather", "report_v1"); !o.Facts().Confirm {
		t.Error("that the author wants a confirmation is lost")
	}
	for _, at := range [][2]string{{"weather", "forecast_v2"}, {"tides", "forecast_v1"}, {"moon", "next_v1"}, {"", ""}} {
		if _, ok := s.Offer(catalog.AppID(at[0]), at[1]); ok {
			t.Errorf("%v is published", at)
		}
	}
}

func sameFacts(a, b policy.Facts) bool {
	return a.Tool == b.Tool && a.Risk == b.Risk && a.Reach == b.Reach && a.App == b.App && a.Confirm == b.Confirm
}

// R-BRIDGE-2
func TestSelectorsAreOfferedVisibleOperationsOfEnabledApps(t *testing.T) {
	t.Parallel()
	s := publish(t, weather(), tides())
	for name, c := range map[string]struct {
		enabled []catalog.AppID
		want    []string
	}{
		"nothing is enabled":             {nil, nil},
		"one app is":                     {[]catalog.AppID{"weather"}, []string{"weather__forecast_v1"}},
		"both are":                       {[]catalog.AppID{"weather", "tides"}, []string{"tides__next_v1", "weather__forecast_v1"}},
		"an app that is not there is":    {[]catalog.AppID{"moon"}, nil},
		"the empty name of no app is":    {[]catalog.AppID{""}, nil},
		"one that is and one that isn't": {[]catalog.AppID{"moon", "tides"}, []string{"tides__next_v1"}},
	} {
		var st catalog.Standing
		for _, app := range c.enabled {
			st.Enabled = append(st.Enabled, catalog.Enablement{App: app})
		}
		var got []string
		for _, o := range s.Offers(st) {
			got = append(got, o.Tool().Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: offered %v, want %v", name, got, c.want)
		}
	}
}

// R-BRIDGE-4
func TestArgumentsAreHeldAgainstTheSchema(t *testing.T) {
	t.Parallel()
	o, _ := publish(t, weather()).Offer("weather", "forecast_v1")
	for name, c := range map[string]struct {
		arguments, want string // "": refused
	}{
		"what it takes":            {` { "town" : "Perth" } `, `{"town":"Perth"}`},
		"all that it takes":        {`{"town":"Perth","days":3}`, `{"town":"Perth","days":3}`},
		"a missing one":            {`{"days":3}`, ""},
		"one too many":             {`{"town":"Perth","zip":"6000"}`, ""},
		"another case":             {`{"Town":"Perth"}`, ""},
		"another type":             {`{"town":6000}`, ""},
		"a value beyond its bound": {`{"town":"` + strings.Repeat("q", 41) + `"}`, ""},
		"a name twice":             {`{"town":"Perth","town":"Hobart"}`, ""},
		"trailing data":            {`{"town":"Perth"} {}`, ""},
		"a list":                   {`["Perth"]`, ""},
		"null":                     {`null`, ""},
		"bytes that are no text":   {"{\"town\":\"\xff\"}", ""},
		"nothing":                  {``, ""},
	} {
		got, err := o.Check([]byte(c.arguments))
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if c.want != "" {
			continue
		}
		if f := fault.Of(err); f == nil || f.Kind != fault.Invalid || f.Code != "invalid_arguments" {
			t.Errorf("%s: got %v, want invalid_arguments", name, err)
		} else if strings.Contains(err.Error(), "Perth") || strings.Contains(err.Error(), "qqq") {
			t.Errorf("%s: the refusal quotes a value: %v", name, err)
		}
	}
}

func TestAResultIsHeldAgainstWhatIsPublished(t *testing.T) {
	t.Parallel()
	o, _ := publish(t, weather()).Offer("weather", "forecast_v1")
	if got, err := o.CheckResult([]byte(`{ "sky": "clear" }`)); err != nil || string(got) != `{"sky":"clear"}` {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{`{"sky":"pink"}`, `{}`, `{"sky":"clear","more":1}`, ``, `<html>`} {
		if got, err := o.CheckResult([]byte(bad)); err == nil || got != nil || strings.Contains(err.Error(), "pink") {
			t.Errorf("%s: got %s, %v", bad, got, err)
		}
	}
}

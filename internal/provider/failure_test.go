package provider

import (
	"bytes"
	"io"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"interlock/internal/llm"
	"interlock/internal/secret"
)

// R-PLAN-11
func TestRetryAfterIsReadInEachForm(t *testing.T) {
	t.Parallel()
	const date = "Mon, 30 Nov 2026 12:00:00 GMT"
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"none":                     {nil, 0},
		"seconds":                  {map[string]string{"Retry-After": "300"}, 5 * time.Minute},
		"a fraction":               {map[string]string{"Retry-After": "0.25"}, 250 * time.Millisecond},
		"milliseconds go first":    {map[string]string{"Retry-After": "2", "Retry-After-Ms": "1500"}, 1500 * time.Millisecond},
		"odd milliseconds":         {map[string]string{"Retry-After": "2", "Retry-After-Ms": "soon"}, 2 * time.Second},
		"a date by their clock":    {map[string]string{"Date": date, "Retry-After": "Mon, 30 Nov 2026 12:00:09 GMT"}, 9 * time.Second},
		"a date in the past":       {map[string]string{"Date": date, "Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0},
		"negative":                 {map[string]string{"Retry-After": "-5"}, 0},
		"not a number":             {map[string]string{"Retry-After": "NaN"}, 0},
		"words":                    {map[string]string{"Retry-After": "later"}, 0},
		"longer than anyone waits": {map[string]string{"Retry-After": "1e300"}, maxRetryAfter},
		"infinite":                 {map[string]string{"Retry-After": "Inf"}, maxRetryAfter},
		"a date in another age":    {map[string]string{"Date": date, "Retry-After": "Mon, 30 Nov 2099 12:00:00 GMT"}, maxRetryAfter},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := retryAfter(h); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// R-PLAN-11
func TestPausesDoubleWithinBoundsAndYieldToTheProvider(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		try := rapid.IntRange(1, 20).Draw(t, "try")
		full := time.Duration(math.Min(float64(firstPause)*math.Pow(2, float64(try-1)), float64(maxPause)))
		if d := pause(try, 0); d > full || d <= full*3/4 {
			t.Fatalf("pause after try %d is %s, want %s less up to a quarter", try, d, full)
		}
		if asked := time.Duration(rapid.Int64Range(1, int64(maxRetryAfter)).Draw(t, "asked")); pause(try, asked) != asked {
			t.Fatalf("pause(%d, %s) = %s", try, asked, pause(try, asked))
		}
	})
}

// R-PLAN-5
func TestAnUnverifiedServerIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	server.StartTLS()
	defer server.Close()
	w, err := NewWire(testVendor, Config{BaseURL: server.URL, Model: "m", Key: secret.New("k")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.ask(t.Context(), []byte(`"hello"`))
	if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.Transport || !strings.Contains(u.Detail, "certificate") || asked != 0 {
		t.Errorf("got %v after %d requests", err, asked)
	}
}

// R-PLAN-5
func TestARequestLargerThanTheVendorTakesIsNotSent(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	w, err := NewWire(testVendor, Config{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.ask(t.Context(), bytes.Repeat([]byte("x"), maxRequestBytes+1))
	if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.BadRequest || asked != 0 {
		t.Errorf("got %v after %d requests", err, asked)
	}
}

// A request id or a model's name ends up in logs and tables.
func TestWhatAProviderNamesIsKeptOnlyIfItIsPlain(t *testing.T) {
	t.Parallel()
	w := &Wire{model: "asked"}
	for in, want := range map[string]string{"req_01-A.b:c": "req_01-A.b:c", "a b": "", "a\nb": "", "<b>": "", strings.Repeat("a", 129): "", "": ""} {
		if got := identifier(in); got != want {
			t.Errorf("identifier(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"served": "served", "org/m:1": "org/m:1", "": "asked", "two words": "asked", strings.Repeat("a", 201): "asked", "a\x1b[2J": "asked"} {
		if got := w.ModelName(in); got != want {
			t.Errorf("ModelName(%q) = %q, want %q", in, got, want)
		}
	}
}

// R-PLAN-7
func TestTokensAreKnownOnlyAsWholeCounts(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]llm.Count{
		"": {}, "null": {}, "0": llm.Known(0), "31": llm.Known(31), "-1": {}, "1.5": {}, "1e3": {}, `"7"`: {}, "true": {},
		"1000000000000": llm.Known(maxTokens), "1000000000001": {}, "99999999999999999999": {},
	} {
		if got := Tokens([]byte(in)); got != want {
			t.Errorf("Tokens(%s) = %s, want %s", in, got, want)
		}
	}
	if got := Sum(llm.Count{}, llm.Known(5)); got.IsKnown() {
		t.Errorf("an unknown total became %s", got)
	}
	if got := Sum(llm.Known(300), llm.Known(10), llm.Count{}, llm.Known(512)); got != llm.Known(822) {
		t.Errorf("Sum = %s, want 822", got)
	}
}

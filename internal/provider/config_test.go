package provider

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/secret"
)

// R-PLAN-10
func TestTheBaseURLIsJoinedWithTheResource(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com":                                  "https://api.openai.com/v1/chat/completions",
		"http://127.0.0.1:4010":                                   "http://127.0.0.1:4010/v1/chat/completions",
		"http://127.0.0.1:4010/":                                  "http://127.0.0.1:4010/v1/chat/completions",
		"http://127.0.0.1:4010/v1":                                "http://127.0.0.1:4010/v1/chat/completions",
		"http://127.0.0.1:4010/v1//":                              "http://127.0.0.1:4010/v1/chat/completions",
		"http://[::1]:11434":                                      "http://[::1]:11434/v1/chat/completions",
		"https://x.openai.azure.com/openai/v1":                    "https://x.openai.azure.com/openai/v1/chat/completions",
		"https://generativelanguage.googleapis.com/v1beta/openai": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
		"https://llm.example.com/proxy":                           "https://llm.example.com/proxy/v1/chat/completions",
		"https://llm.example.com/v1/chat/completions":             "https://llm.example.com/v1/chat/completions",
		"":                                 "",
		"api.openai.com/v1":                "",
		"ftp://api.openai.com":             "",
		"https://":                         "",
		"https://user:pass@api.openai.com": "",
		"https://api.openai.com/v1?key=1":  "",
		"https://api.openai.com/v1?":       "",
		"https://api.openai.com/v1#x":      "",
		"https://api.openai.com:port":      "",
		"https:api.openai.com":             "",
	} {
		got, err := endpoint(base, "chat/completions")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", base, got, err, want)
		}
	}
}

func TestValidateReportsEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	good := Config{Key: secret.New("sk-1"), Model: "m"}
	for name, c := range map[string]struct {
		change func(*Config)
		want   []string // nil: valid
	}{
		"the vendor's own address with a key": {func(*Config) {}, nil},
		"a local server without a key":        {func(c *Config) { c.BaseURL, c.Key = "http://127.0.0.1:11434", secret.String{} }, nil},
		"a model's path":                      {func(c *Config) { c.Model = "org/model:q4_K@main" }, nil},
		"no key":                              {func(c *Config) { c.Key = secret.String{} }, []string{"API key"}},
		"a key with its line end":             {func(c *Config) { c.Key = secret.New("sk-canary\n") }, []string{"copy it again"}},
		"no model":                            {func(c *Config) { c.Model = "" }, []string{"model"}},
		"a model with a space":                {func(c *Config) { c.Model = "my model" }, []string{"model"}},
		"a user in the base URL":              {func(c *Config) { c.BaseURL = "http://sk-canary@x" }, []string{"user name"}},
		"everything": {func(c *Config) {
			*c = Config{BaseURL: "sk-canary:", Timeout: -1, MaxOutput: -1, Dialect: "odd"}
		}, []string{"base URL", "model", "timeout", "token limit", "dialect"}},
	} {
		config := good
		c.change(&config)
		err := config.Validate()
		if (err == nil) != (c.want == nil) || (err != nil && fault.KindOf(err) != fault.Invalid) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, want := range c.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v doesn't mention %q", name, err, want)
			}
		}
		if text := fmt.Sprintf("%v %+v %#v %#v", err, err, err, config.Key); strings.Contains(text, "sk-canary") {
			t.Errorf("%s: shows a secret: %s", name, text)
		}
	}
}

var testVendor = Vendor{Name: "v", BaseURL: "https://api.example.com", Resource: "messages",
	Authorize: func(h http.Header, key secret.String) { h.Set("X-Key", key.Reveal()) }}

func TestTheDialectFollowsTheAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config Config
		want   bool // portable
	}{
		"no base URL":                     {Config{}, false},
		"the vendor's own, spelled out":   {Config{BaseURL: "https://api.example.com/v1/"}, false},
		"another address":                 {Config{BaseURL: "http://127.0.0.1:4010"}, true},
		"another, with the vendor's said": {Config{BaseURL: "http://127.0.0.1:4010", Dialect: DialectVendor}, false},
		"the vendor's, with portable":     {Config{Dialect: DialectPortable}, true},
	} {
		c.config.Key, c.config.Model = secret.New("k"), "m"
		w, err := NewWire(testVendor, c.config)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if w.Portable() != c.want || w.timeout != llm.DefaultTimeout {
			t.Errorf("%s: portable %v, timeout %s; want %v, %s", name, w.Portable(), w.timeout, c.want, time.Minute)
		}
	}
}

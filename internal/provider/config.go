package provider

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"interlock/internal/fault"
	"interlock/internal/llm"
	"interlock/internal/secret"
)

// Dialect says how much of a vendor's own vocabulary a request may use.
type Dialect string

// The dialects.
const (
	// DialectByURL is the zero value: the vendor's for the vendor's own
	// address, else portable.
	DialectByURL Dialect = ""
	// DialectVendor uses all that the vendor's API knows.
	DialectVendor Dialect = "vendor"
	// DialectPortable leaves out what compatible servers are known to refuse
	// or to ignore: strict tools and OpenAI's store.
	DialectPortable Dialect = "portable"
)

// Config is how to reach one model. The zero value lacks a Model and, for the
// vendor's own address, a Key.
type Config struct {
	// BaseURL is where a compatible server listens, with or without its
	// version path: http://127.0.0.1:11434 and http://127.0.0.1:11434/v1 are
	// the same. Empty: the vendor's own address.
	BaseURL string
	// Key may be empty only with a BaseURL; no credential is sent then.
	Key secret.String
	// Model is the vendor's name of the model.
	Model string
	// Timeout bounds a whole decision with its retries. Zero: llm.DefaultTimeout.
	Timeout time.Duration
	// MaxOutput bounds a reply in tokens. Zero: the client's default.
	MaxOutput int
	// Dialect: see its values.
	Dialect Dialect
	// Transport carries the requests. Nil: one of the client's own, which
	// honours HTTPS_PROXY. Redirects are never followed.
	Transport http.RoundTripper
}

// maxTimeout is longer than any vendor lets a reply take.
const maxTimeout = time.Hour

// Validate reports every problem of c at once, as one fault.Invalid.
func (c Config) Validate() error {
	var wrong fault.Problems
	if _, err := endpoint(c.BaseURL, "x"); c.BaseURL != "" && err != nil {
		wrong.Add("%s", err)
	}
	oddInKey := func(r rune) bool { return r <= ' ' || r > '~' }
	wrong.Require(!c.Key.Empty() || c.BaseURL != "", "set the provider's API key, or a base URL of a server that needs none")
	wrong.Require(!strings.ContainsFunc(c.Key.Reveal(), oddInKey), "the API key has a space or a character that no key has; copy it again, without its quotes and line end")
	wrong.Require(modelName.MatchString(c.Model), "set the model's name as the provider spells it")
	wrong.Require(c.Timeout >= 0 && c.Timeout <= maxTimeout, "set the timeout to at most %s, or to 0 for %s", maxTimeout, llm.DefaultTimeout)
	wrong.Require(c.MaxOutput >= 0, "set the reply's token limit above zero")
	wrong.Require(slices.Contains([]Dialect{DialectByURL, DialectVendor, DialectPortable}, c.Dialect), "set the dialect to vendor or portable, or leave it out")
	return wrong.Refuse("invalid_provider_settings", "the provider's settings")
}

// modelName is wide enough for "org/model:tag@revision" and paths of local
// files, and has no control character.
var modelName = regexp.MustCompile(`^[\x21-\x7e]{1,200}$`)

// version is a path segment that names an API version.
var version = regexp.MustCompile(`^v[0-9]+[a-z0-9]*$`)

// endpoint joins base and the resource path. A base whose path names no
// version gets "v1"; one that already ends in the resource is taken as it is.
func endpoint(base, resource string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Opaque != "":
		return "", fmt.Errorf("set the base URL to an address such as https://llm.example.com/v1")
	case u.User != nil:
		return "", fmt.Errorf("take the user name out of the base URL; the key has a setting of its own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("take the query and the fragment out of the base URL")
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/"+resource)
	if !slices.ContainsFunc(strings.Split(path, "/"), version.MatchString) {
		path += "/v1"
	}
	u.Path, u.RawPath = path+"/"+resource, ""
	return u.String(), nil
}

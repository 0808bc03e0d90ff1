package providertest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"interlock/internal/llm"
	"interlock/internal/provider"
	"interlock/internal/secret"
)

// requests checks what the vendor was sent.
func (s Subject) requests(t *testing.T) {
	if s.formed {
		s.formRequests(t)
		return
	}
	for name, f := range map[string]func(*testing.T){
		"force one call and no more [litellm 6456, litellm 18201]":                       s.forcesOneCall,
		"offer the tools as published [bifrost 3512, 1720, 4691, 3456]":                  s.offersTools,
		"ask for strictness only where the schema allows [dotnet 6266, vercel/ai 13789]": s.asksStrict,
		"keep to the portable dialect at another address":                                s.portable,
		"carry prompts whole": s.carriesPrompts,
		"carry a picture with its sniffed type [claude-code 12041]":            s.carriesPicture,
		"refuse a picture that the vendor would refuse [claude-code 11181]":    s.refusesPicture,
		"reach the API with and without the version in the base URL":           s.baseURLs,
		"send no credential where there is none":                               s.noKey,
		"ask a model that always thinks without force [oh-my-pi 341 and 6589]": s.choosesFreely,
		"know the models that always think":                                    s.knowsWhoChoosesFreely,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
}

// ask makes one good decision in w and returns the last request.
func (s Subject) ask(t *testing.T, w world, r llm.Request) Seen {
	t.Helper()
	d, err := w.caller.Decide(t.Context(), r)
	s.check(t, d, err, Want{Tool: "tap", Arguments: `{"x":3}`, Usage: fullUsage, Model: Model})
	seen := w.vendor.Requests()
	if len(seen) == 0 {
		t.Fatal("the vendor was asked nothing")
	}
	return seen[len(seen)-1]
}

func vendorDialect(c *provider.Config) { c.Dialect = provider.DialectVendor }

// R-PLAN-3
func (s Subject) forcesOneCall(t *testing.T) {
	for _, dialect := range []provider.Dialect{provider.DialectVendor, provider.DialectPortable} {
		w := s.world(t, func(c *provider.Config) { c.Dialect = dialect }, s.good())
		seen := s.ask(t, w, Request())
		thinking := map[string]string{"anthropic": "disabled"}[s.Shape.Provider]
		if !seen.Forced || !seen.Single || seen.Thinking != thinking || seen.Model != askedModel || seen.MaxTokens < 1 {
			t.Errorf("%s dialect: forced %v, single %v, thinking %q, model %q, at most %d tokens",
				dialect, seen.Forced, seen.Single, seen.Thinking, seen.Model, seen.MaxTokens)
		}
	}
}

func (s Subject) offersTools(t *testing.T) {
	seen := s.ask(t, s.world(t, nil, s.good()), Request())
	var want []SeenTool
	for _, spec := range offered.Specs() {
		if spec.Name == "wait" {
			spec.Parameters = []byte(`{"properties":{},"type":"object"}`)
		}
		want = append(want, SeenTool{Name: spec.Name, Description: spec.Description, Schema: spec.Parameters})
	}
	if diff := cmp.Diff(want, seen.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, word := range []string{`"custom"`, `null`, `"$defs"`} {
		if strings.Contains(string(seen.Body), word) {
			t.Errorf("the request says %s: %s", word, seen.Body)
		}
	}
}

// R-PLAN-12
func (s Subject) asksStrict(t *testing.T) {
	seen := s.ask(t, s.world(t, vendorDialect, s.good()), Request())
	got := map[string]bool{}
	for _, offer := range seen.Tools {
		got[offer.Name] = offer.Strict != nil && *offer.Strict
	}
	// OpenAI wants each property required; neither knows default.
	want := map[string]bool{"tap": s.Shape.Provider == "anthropic", "wait": false, "pick": false, "home": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("strict (-want +got):\n%s", diff)
	}
	if s.Shape.Provider == "openai" && (seen.Store == nil || *seen.Store) {
		t.Errorf("OpenAI was not told to store nothing: %s", seen.Body)
	}
}

// R-PLAN-10
func (s Subject) portable(t *testing.T) {
	seen := s.ask(t, s.world(t, nil, s.good()), Request())
	for _, word := range []string{`"strict"`, `"store"`} {
		if strings.Contains(string(seen.Body), word) {
			t.Errorf("the request says %s: %s", word, seen.Body)
		}
	}
}

func (s Subject) carriesPrompts(t *testing.T) {
	r := Request()
	r.System, r.User = "system \"quoted\"\n\t\\ é 🚀 </s>", "user\u2028\x00 "+strings.Repeat("long ", 20_000)
	seen := s.ask(t, s.world(t, nil, s.good()), r)
	if seen.System != r.System || seen.User != r.User {
		t.Errorf("system %q, user of %d bytes; want %q, %d", seen.System, len(seen.User), r.System, len(r.User))
	}
	r = Request()
	r.System = ""
	if seen := s.ask(t, s.world(t, nil, s.good()), r); seen.System != "" || strings.Contains(string(seen.Body), `"system"`) {
		t.Errorf("an empty system prompt was sent: %s", seen.Body)
	}
}

// picture returns a small picture in the format, padded to size bytes and of
// the given width.
func picture(t *testing.T, format string, width, size int) *llm.Image {
	t.Helper()
	var b bytes.Buffer
	canvas := image.NewGray(image.Rect(0, 0, width, 2))
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, canvas)
	case "jpeg":
		err = jpeg.Encode(&b, canvas, nil)
	case "gif":
		err = gif.Encode(&b, canvas, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.Write(make([]byte, max(0, size-b.Len())))
	i, err := llm.NewImage(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (s Subject) carriesPicture(t *testing.T) {
	for _, format := range []string{"png", "jpeg", "gif"} {
		r := Request()
		r.Image = picture(t, format, 3, 0)
		seen := s.ask(t, s.world(t, nil, s.good()), r)
		if seen.ImageType != "image/"+format || seen.ImageBase64 != base64.StdEncoding.EncodeToString(r.Image.Bytes()) || seen.User != r.User {
			t.Errorf("%s: got type %q with %d characters", format, seen.ImageType, len(seen.ImageBase64))
		}
	}
}

// R-PLAN-5: the vendor never sees it.
func (s Subject) refusesPicture(t *testing.T) {
	pictures := map[string]*llm.Image{}
	if s.Shape.Provider == "anthropic" {
		pictures["5 MiB of base64 and one byte [claude-code 11181]"] = picture(t, "png", 3, 5<<20*3/4+1)
		pictures["a side of 8001 pixels [claude-code 4778]"] = picture(t, "png", 8001, 0)
	} else {
		pictures["20 MB of base64 and one byte"] = picture(t, "png", 3, 15_000_001)
	}
	for name, p := range pictures {
		w := s.world(t, nil, s.good())
		r := Request()
		r.Image = p
		_, err := w.caller.Decide(t.Context(), r)
		if u := llm.AsUnavailable(err); err == nil || u.Reason != llm.BadRequest {
			t.Errorf("%s: got %v, want bad_request", name, err)
		}
		if n := len(w.vendor.Requests()); n != 0 {
			t.Errorf("%s: the vendor was asked %d times", name, n)
		}
	}
}

// R-PLAN-10
func (s Subject) baseURLs(t *testing.T) {
	for _, suffix := range []string{"", "/", "/v1", "/v1/", s.Shape.Path} {
		w := s.world(t, func(c *provider.Config) { c.BaseURL += suffix }, s.good())
		s.ask(t, w, Request())
	}
}

// R-PLAN-10: a local server needs no key.
func (s Subject) noKey(t *testing.T) {
	w := s.world(t, func(c *provider.Config) { c.Key = secret.String{} }, s.good())
	_, err := w.caller.Decide(t.Context(), Request())
	s.checkFailing(t, err, failing{want: llm.Auth}) // this one needs one
	header := w.vendor.Requests()[0].Header
	if header.Get("Authorization")+header.Get("X-Api-Key") != "" {
		t.Errorf("a credential was sent: %v", header)
	}
}

// R-PLAN-3: without force the reply is judged as always.
func (s Subject) choosesFreely(t *testing.T) {
	none := find(t, Recordings(s.Shape), "no call")
	w := s.world(t, nil, s.good())
	w.vendor.Unforceable = true
	r := Request()
	for i := range 2 {
		r.Key = fmt.Sprintf("decision %d", i)
		seen := s.ask(t, w, r)
		if seen.Forced || !seen.Single || seen.Thinking != "" {
			t.Errorf("decision %d: forced %v, single %v, thinking %q", i, seen.Forced, seen.Single, seen.Thinking)
		}
	}
	if n := len(w.vendor.Requests()); n != 3 {
		t.Errorf("the vendor was asked %d times for two decisions, want 3: what was learned is remembered", n)
	}
	w.vendor.Answer(func(Seen) Reply { return Reply{Body: none.Body} })
	r.Key = "decision without a call"
	_, err := w.caller.Decide(t.Context(), r)
	s.check(t, llm.Decision{}, err, none.Want)
}

// Models that the vendor's documents name are not asked in vain.
func (s Subject) knowsWhoChoosesFreely(t *testing.T) {
	if s.Shape.Provider != "anthropic" {
		return // no model of OpenAI's is known to refuse
	}
	for _, model := range []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1"} {
		w := s.world(t, func(c *provider.Config) { c.Model = model }, s.good())
		w.vendor.Unforceable = true
		s.ask(t, w, Request())
		if n := len(w.vendor.Requests()); n != 1 {
			t.Errorf("%s: the vendor was asked %d times, want once", model, n)
		}
	}
}

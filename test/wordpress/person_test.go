package wordpress_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The pages of the plugin and where its form goes.
const (
	askPage      = "/wp-admin/tools.php?page=interlock-bridge"
	settingsPage = "/wp-admin/options-general.php?page=interlock-bridge-settings"
	formHandler  = "/wp-admin/admin-post.php"
)

// The gateway's paths.
const (
	resolvePath = "/api/v1/bridge_platform/agent/resolve"
	lookupPath  = "/api/v1/abn_lookup/lookup_v1"
)

// person uses a site with a browser that runs no scripts and follows no
// redirect.
type person struct {
	t      testing.TB
	site   *wordpress
	client *http.Client
}

// page is one answer to a person.
type page struct {
	Status   int
	Location string
	Body     string
}

// visitor is somebody who is not signed in.
func (w *wordpress) visitor() *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &person{t: w.t, site: w, client: &http.Client{Jar: jar, Timeout: 2 * time.Minute, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// passwords of the accounts that testdata/site/install.php makes.
func passwordOf(name string) string { return name + " password of the tests" }

// signedIn is the person of that account: "admin" or "second", who
// are administrators, or "editor".
func (w *wordpress) signedIn(name string) *person {
	w.t.Helper()
	p := w.visitor()
	p.get("/wp-login.php") // for the cookie that shows that cookies work
	if got := p.post("/wp-login.php", url.Values{"log": {name}, "pwd": {passwordOf(name)}, "testcookie": {"1"}}); got.Status != http.StatusFound {
		w.t.Fatalf("%s could not sign in: %d %s", name, got.Status, got.Body)
	}
	return p
}

func (p *person) get(path string) page { return p.send(http.MethodGet, path, nil) }

func (p *person) post(path string, form url.Values) page { return p.send(http.MethodPost, path, form) }

func (p *person) send(method, path string, form url.Values) page {
	p.t.Helper()
	got, err := p.try(method, path, form)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return got
}

// try sends from any goroutine.
func (p *person) try(method, path string, form url.Values) (page, error) {
	req, err := http.NewRequest(method, p.site.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return page{}, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return page{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return page{Status: resp.StatusCode, Location: resp.Header.Get("Location"), Body: string(b)}, err
}

// session is the value of the cookie that says who is signed in.
func (p *person) session() string {
	p.t.Helper()
	at, err := url.Parse(p.site.url + "/wp-admin/")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range p.client.Jar.Cookies(at) {
		if strings.HasPrefix(c.Name, "wordpress_logged_in_") {
			value, err := url.QueryUnescape(c.Value)
			if err != nil {
				p.t.Fatal(err)
			}
			return value
		}
	}
	p.t.Fatal("nobody is signed in")
	return ""
}

var (
	formTag  = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)".*?</form>`)
	inputTag = regexp.MustCompile(`<input[^>]*>`)
	nameIn   = regexp.MustCompile(`\bname=["']([^"']*)["']`)
	valueIn  = regexp.MustCompile(`\bvalue=["']([^"']*)["']`)
)

// form returns the fields of the page's form that goes to the path, as they
// would be sent.
func (p page) form(t testing.TB, action string) url.Values {
	t.Helper()
	for _, f := range formTag.FindAllStringSubmatch(p.Body, -1) {
		if !strings.HasSuffix(f[1], action) {
			continue
		}
		fields := url.Values{}
		for _, input := range inputTag.FindAllString(f[0], -1) {
			name, value := nameIn.FindStringSubmatch(input), valueIn.FindStringSubmatch(input)
			if name != nil && value != nil {
				fields.Set(html.UnescapeString(name[1]), html.UnescapeString(value[1]))
			}
		}
		return fields
	}
	t.Fatalf("the page (%d) has no form that goes to %s:\n%s", p.Status, action, p.Body)
	return nil
}

// settle fills in the settings page and saves it. A field is changed where it
// is in the map.
func (p *person) settle(settings map[string]string) page {
	p.t.Helper()
	form := p.get(settingsPage).form(p.t, "/options.php")
	for name, value := range settings {
		form.Set("interlock_bridge_settings["+name+"]", value)
	}
	if got := p.post("/wp-admin/options.php", form); got.Status != http.StatusFound {
		p.t.Fatalf("the settings were answered %d: %s", got.Status, got.Body)
	}
	return p.get(settingsPage + "&settings-updated=true")
}

// asking is the form with the instruction, ready to be sent.
func (p *person) asking(instruction string) url.Values {
	p.t.Helper()
	form := p.get(askPage).form(p.t, formHandler)
	form.Set("instruction", instruction)
	return form
}

// ask sends an instruction and returns the page with the result.
func (p *person) ask(instruction string) page {
	p.t.Helper()
	got := p.post(formHandler, p.asking(instruction))
	if got.Status != http.StatusSeeOther || !strings.HasSuffix(got.Location, askPage) {
		p.t.Fatalf("the form was answered %d, to %q: %s", got.Status, got.Location, got.Body)
	}
	return p.get(askPage)
}

var resultTag = regexp.MustCompile(`(?s)<section id="interlock-bridge-result".*?</section>`)

// result is the card with the result, "" where the page has none.
func (p page) result() string { return resultTag.FindString(p.Body) }

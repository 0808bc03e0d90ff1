package wordpress_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"interlock/internal/app"
	"interlock/internal/bridge/site"
	"interlock/internal/waittest"
)

// secrets are what no browser may ever see: the credential, every line of the
// private key, and each part of every token that the gateway got.
func secrets(t testing.TB, w *wordpress, gateway *wire) map[string]string {
	t.Helper()
	all := map[string]string{"the GUID": guid, "a private key": "PRIVATE KEY", "where the key is": w.key.path}
	for i, line := range w.key.lines() {
		all[fmt.Sprintf("line %d of the key", i)] = line
	}
	for i, token := range tokens(gateway) {
		for n, part := range strings.Split(token, ".") {
			all[fmt.Sprintf("part %d of token %d", n, i)] = part
		}
	}
	return all
}

// tokens are those that the gateway was sent, in their order.
func tokens(gateway *wire) (out []string) {
	for _, e := range gateway.exchanges("/api/") {
		if token, ok := strings.CutPrefix(e.Header.Get("Authorization"), "Bearer "); ok {
			out = append(out, token)
		}
	}
	return out
}

// checkSecrets fails the test if a browser saw a secret, or if there was none
// to see.
func checkSecrets(t testing.TB, w *wordpress, gateway *wire) {
	t.Helper()
	sent := tokens(gateway)
	if len(sent) < 2 || !tokenLike.MatchString(sent[0]) {
		t.Fatalf("the gateway got the tokens %q, so nothing is proved", sent)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(sent))); len(unique) != len(sent) {
		t.Errorf("a token was used twice: %d of %d differ", len(unique), len(sent))
	}
	for _, found := range w.wire.tells(secrets(t, w, gateway)) {
		t.Errorf("a browser saw %s", found)
	}
}

// R-BRIDGE-1, R-BRIDGE-4, R-BRIDGE-6, R-BRIDGE-8, R-BRIDGE-9: from a site that
// knows nobody to the seed's example, answered on its page by the register, as
// an administrator does it.
func TestAnAdministratorAsksInABrowser(t *testing.T) {
	t.Parallel()
	abr := register(t)
	p := newPlane(t, app.ABN{Source: app.ABNWeb, BaseURL: abr.URL}, 100)
	w := newWordPress(t)
	b := newBrowser(t, w)
	b.signIn("admin")

	b.do("open the settings", chromedp.Navigate(w.url+settingsPage))
	jwk := read(b, "read the public key", chromedp.Value(chromedp.CSS("#interlock-bridge-jwk")))
	thumbprint := read(b, "read the thumbprint", chromedp.Text(chromedp.CSS("#interlock-bridge-thumbprint")))
	if registered := p.trust(jwk); registered.KID != thumbprint || thumbprint != site.Thumbprint(&w.key.private.PublicKey) {
		t.Errorf("the page's thumbprint is %s, the gateway's %s", thumbprint, registered.KID)
	}
	for name, value := range p.settings() {
		if value == "" {
			continue // as it is already
		}
		b.do("fill in "+name, chromedp.SetValue(chromedp.CSS("#interlock-bridge-"+name), value))
	}
	b.do("save the settings", chromedp.Click(chromedp.CSS("#submit")), chromedp.WaitVisible(chromedp.CSS("#setting-error-settings_updated")))
	b.picture("settings.png")

	answer := b.ask(asked, "answered", chromedp.Click(button))
	for _, want := range []string{"Registered", "AUSTRALIAN TAXATION OFFICE", "51 824 753 556", "Active since November 1, 1999", "Commonwealth Government Entity", "NSW 2640",
		"O'BRIEN & SONS, CAFÉ <b>É</b>", "Australian Business Register", "99 of 100 calls left", asked} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer does not show %q:\n%s", want, answer)
		}
	}
	b.picture("answer.png")
	if n := len(abr.Requests()); n != 1 {
		t.Errorf("the register was asked %d times", n)
	}

	before := len(p.calls())
	b.ask("Is ABN 51 824 753 556 registered?", "answered", chromedp.DoubleClick(button))
	if made := len(p.calls()) - before; made != 1 {
		t.Errorf("a double click made %d calls", made)
	}

	noMatch := b.ask("Is Woolworths registered?", "no_matching_tool", chromedp.Click(button))
	if !strings.Contains(noMatch, "No match") || !strings.Contains(noMatch, "The name of a business is not looked up.") {
		t.Errorf("a business name is answered with:\n%s", noMatch)
	}
	b.picture("no-match.png")
	if made := len(p.calls()) - before; made != 1 {
		t.Errorf("a business name led to %d calls", made-1)
	}
	b.checkQuiet()
	checkSecrets(t, w, p.wire)
	if stored := w.inside("stored.php"); tokenLike.MatchString(stored) || strings.Contains(stored, guid) || strings.Contains(stored, w.key.lines()[3]) {
		t.Errorf("the site stored a secret:\n%s", stored)
	}
}

// connectedTo returns a site's administrator after the set-up.
func connectedTo(t testing.TB, p *plane) (*wordpress, *person) {
	t.Helper()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	admin.settle(p.settings())
	p.trust(w.inside("public_key.php"))
	return w, admin
}

// siteOf is a site after the set-up that no server serves.
func siteOf(t testing.TB, p *plane) *wordpress {
	t.Helper()
	w := newSite(t)
	p.trust(w.inside("public_key.php"))
	settings, err := json.Marshal(p.settings())
	if err != nil {
		t.Fatal(err)
	}
	w.inside("settle.php", string(settings))
	return w
}

// R-BRIDGE-9: a form that is sent twice at once is one call, and so it is if it
// is sent again afterwards.
func TestAFormThatIsSentTwiceIsOneCall(t *testing.T) {
	t.Parallel()
	p := newPlane(t, app.ABN{Source: app.ABNSample}, 100)
	w, admin := connectedTo(t, p)
	form := admin.asking(asked)
	p.wire.meet(resolvePath, 2)
	var senders sync.WaitGroup
	for sent := range 2 {
		// The first is under way, and its worker busy, before the second is sent.
		waittest.Until(t, patience, "the form before has come to the gateway", func() bool { return p.wire.waiting() == sent })
		senders.Go(func() {
			if got, err := admin.try(http.MethodPost, formHandler, form); err != nil || got.Status != http.StatusSeeOther {
				t.Errorf("the form was answered %d (%v)", got.Status, err)
			}
		})
	}
	senders.Wait()
	got := admin.get(askPage).result()
	for _, want := range []string{`data-status="answered"`, "AUSTRALIAN TAXATION OFFICE", "Built-in sample records", "99 of 100 calls left"} {
		if !strings.Contains(got, want) {
			t.Errorf("the result does not show %q:\n%s", want, got)
		}
	}
	if calls := p.calls(); len(calls) != 1 || calls[0].Verdict != "ok" {
		t.Errorf("the log has the calls %+v", calls)
	}
	if n := len(p.wire.exchanges(lookupPath)); n != 2 {
		t.Errorf("the gateway was asked to call %d times, so the two were not under way at once", n)
	}
	admin.post(formHandler, form)
	if n := len(p.wire.exchanges(resolvePath)); n != 2 {
		t.Errorf("the form, sent again, was resolved again: %d times", n)
	}
	admin.ask(asked)
	if n := len(p.calls()); n != 2 {
		t.Errorf("a new form with the same words: %d calls, want 2", n)
	}
	checkSecrets(t, w, p.wire)
}

// R-BRIDGE-3, R-BRIDGE-5, R-BRIDGE-9: what the gateway refuses, an
// administrator reads in a sentence.
func TestRefusalsOfTheGatewayAreSaidClearly(t *testing.T) {
	t.Parallel()
	abr := register(t)
	p := newPlane(t, app.ABN{Source: app.ABNWeb, BaseURL: abr.URL}, 1)
	w, admin := connectedTo(t, p)
	says := func(name, instruction, want string) {
		t.Helper()
		if got := admin.ask(instruction).result(); !strings.Contains(got, want) {
			t.Errorf("%s: the result does not say %q:\n%s", name, want, got)
		}
	}
	says("a typing error", "Check ABN 51824753557", "cannot be an ABN")
	says("two numbers", "Check ABN 51824753556 or 53004085616", "several different numbers")
	says("a phone number", "Call +61 2 9999 9999", "Nothing in the instruction")
	says("nobody's number", "Check ABN 53004085616", "the register has no record of it")
	says("one call more than the quota", asked, "has used up its calls")

	suspended := true
	p.operate(http.MethodPatch, "/operator/v1/tenants/"+tenantID, map[string]any{"suspended": &suspended}, nil)
	says("a suspended tenant", asked, "Your organisation is suspended")
	suspended = false
	p.operate(http.MethodPatch, "/operator/v1/tenants/"+tenantID, map[string]any{"suspended": &suspended}, nil)
	p.operate(http.MethodDelete, "/operator/v1/tenants/"+tenantID+"/apps/abn_lookup", nil, nil)
	says("an app that is not enabled", asked, "is not enabled for your organisation")

	admin.settle(map[string]string{"audience": "somebody-else"})
	says("a token for somebody else", asked, "does not accept this site&#039;s signature")
	checkSecrets(t, w, p.wire)
}

// R-BRIDGE-9: the way from an instruction to an answer under whichever PHP the
// tests are given, without a server: it installs, activates and asks.
func TestTheSiteAsksWithoutABrowser(t *testing.T) {
	t.Parallel()
	p := newPlane(t, app.ABN{Source: app.ABNSample}, 100)
	w := siteOf(t, p)
	said := w.inside("ask.php", asked)
	var got struct {
		Status string
		Answer struct{ Status, ABN, Source string }
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil || got.Status != "answered" || got.Answer.Status != "found" || got.Answer.ABN != "51824753556" || got.Answer.Source != "sample" {
		t.Errorf("the site got %s (%v)", said, err)
	}
	if sent := tokens(p.wire); len(sent) != 2 {
		t.Errorf("the gateway got the tokens %q", sent)
	}
}

// R-BRIDGE-9
func TestSettingsThatAreWrongAreRefusedAndTheOldOnesStay(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	good := connected("https://gateway.example.org/interlock/")
	if got := admin.settle(good); !strings.Contains(got.Body, `value="https://gateway.example.org/interlock"`) || !strings.Contains(got.Body, "Settings saved.") {
		t.Errorf("good settings were not taken:\n%s", got.Body)
	}
	for name, c := range map[string]struct{ field, value, says string }{
		"plain http to another machine": {"gateway_url", "http://gateway.example.org", "The gateway URL was not saved"},
		"a script":                      {"gateway_url", "javascript:alert(1)", "The gateway URL was not saved"},
		"a password in the URL":         {"gateway_url", "https://a:b@gateway.example.org", "The gateway URL was not saved"},
		"a site id of another form":     {"site_id", "site_1", "The site id was not saved"},
		"markup as a tenant":            {"tenant_id", `"><script>1</script>`, "The tenant id was not saved"},
		"a kid with a space":            {"kid", "a b", "The key id was not saved"},
		"a long audience":               {"audience", strings.Repeat("a", 201), "The audience was not saved"},
	} {
		got := admin.settle(map[string]string{c.field: c.value})
		if !strings.Contains(got.Body, c.says) {
			t.Errorf("%s: the page does not say %q", name, c.says)
		}
		if kept := got.form(t, "/options.php").Get("interlock_bridge_settings[" + c.field + "]"); kept != strings.TrimSuffix(good[c.field], "/") {
			t.Errorf("%s: now %q is stored", name, kept)
		}
	}
}

// R-BRIDGE-9: a key that others could have is refused, and the page says how
// to mend it; a good one shows its public half only.
func TestAKeyFileThatIsNotSafeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if filepath.IsAbs(name) {
			path = name
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link.pem")
	if err := os.Symlink(write(filepath.Join(w.root, "wp-content", "linked.pem"), w.key.pem, 0o600), link); err != nil {
		t.Fatal(err)
	}
	public := w.inside("public_key.php")
	for name, c := range map[string]struct{ path, code string }{
		"no constant":                      {"", "key_not_named"},
		"a file that is not there":         {filepath.Join(dir, "none.pem"), "key_not_readable"},
		"a folder":                         {dir, "key_not_readable"},
		"a path that is not whole":         {"interlock.pem", "key_not_readable"},
		"a wrapper of PHP":                 {"php://input", "key_not_readable"},
		"a file that the group may read":   {write("group.pem", w.key.pem, 0o640), "key_too_open"},
		"a file that the world may read":   {write("world.pem", w.key.pem, 0o604), "key_too_open"},
		"a file that others may change":    {write("changed.pem", w.key.pem, 0o602), "key_too_open"},
		"a file in the web root":           {write(filepath.Join(w.root, "key.pem"), w.key.pem, 0o600), "key_in_web_root"},
		"a file under wp-content":          {write(filepath.Join(w.root, "wp-content", "key.pem"), w.key.pem, 0o600), "key_in_web_root"},
		"a link to a file in the web root": {link, "key_in_web_root"},
		"an empty file":                    {write("empty.pem", "", 0o600), "key_not_rsa"},
		"something else":                   {write("text.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0o600), "key_not_rsa"},
		"an elliptic curve key":            {write("ec.pem", ecKey(t), 0o600), "key_not_rsa"},
		"a public key":                     {write("public.pem", publicPEM(t, w.key), 0o600), "key_not_rsa"},
		"a key of 1024 bits":               {write("small.pem", smallKey(t), 0o600), "key_size"},
	} {
		if got := strings.TrimSpace(w.withKey(c.path, "key_state.php")); got != c.code {
			t.Errorf("%s: %q, want %q", name, got, c.code)
		}
	}
	if got := strings.TrimSpace(w.withKey(write("good.pem", w.key.pem, 0o400), "key_state.php")); got != "ok 2048" {
		t.Errorf("a good key that only its owner may read: %q", got)
	}
	var members map[string]string
	if err := json.Unmarshal([]byte(public), &members); err != nil || len(members) != 3 || members["kty"] != "RSA" {
		t.Errorf("the public key is %s (%v)", public, err)
	}
	page := w.signedIn("admin").get(settingsPage)
	for _, line := range w.key.lines() {
		if strings.Contains(page.Body, line) {
			t.Error("the settings page shows the private key")
		}
	}
	if !strings.Contains(page.Body, site.Thumbprint(&w.key.private.PublicKey)) {
		t.Error("the settings page does not show the key's thumbprint")
	}
}

// R-BRIDGE-9: without a connection the page says so, and nothing is sent.
func TestBeforeTheSetUpThePageSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	if got := admin.get(askPage); !strings.Contains(got.Body, "is not set up yet") {
		t.Errorf("the page does not say that it is not set up:\n%s", got.Body)
	}
	got := admin.ask(asked).result()
	if !strings.Contains(got, "Missing: Gateway URL, Site id, Tenant id.") {
		t.Errorf("the result is %s", got)
	}
}

var kept = regexp.MustCompile(`_transient_timeout_interlock_bridge_result_\d+ = (\d+)`)

// R-BRIDGE-9: a result is for the person who asked, for a minute.
func TestAResultIsKeptForOnePersonAndAMinute(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin, second := w.signedIn("admin"), w.signedIn("second")
	if got := admin.ask("what only one person asked").result(); !strings.Contains(got, "what only one person asked") {
		t.Fatalf("the result is %q", got)
	}
	if got := second.get(askPage); got.result() != "" || strings.Contains(got.Body, "what only one person asked") {
		t.Errorf("another administrator sees %q", got.result())
	}
	stored := w.inside("stored.php")
	all := kept.FindAllStringSubmatch(stored, -1)
	if len(all) != 1 {
		t.Fatalf("stored is\n%s", stored)
	}
	until, err := strconv.ParseInt(all[0][1], 10, 64)
	if left := time.Until(time.Unix(until, 0)); err != nil || left > time.Minute {
		t.Errorf("it is kept for another %v (%v)", left, err)
	}
}

// R-BRIDGE-9: what the plugin adds to the rest of the site: a text for the
// privacy policy, a link in the list of plugins, and nothing for anybody else.
func TestTheRestOfTheSiteIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	if got := admin.get("/wp-admin/options-privacy.php?tab=policyguide"); !strings.Contains(got.Body, "Nothing about visitors is collected or sent.") {
		t.Error("the guide to the privacy policy lacks the plugin's text")
	}
	if got := admin.get("/wp-admin/plugins.php"); !strings.Contains(got.Body, `/options-general.php?page=interlock-bridge-settings">Settings</a>`) {
		t.Error("the list of plugins has no link to the settings")
	}
	for _, path := range []string{"/wp-admin/index.php", "/wp-login.php", "/?rest_route=/"} {
		if got := w.visitor().get(path); strings.Contains(strings.ToLower(got.Body), "interlock-bridge") {
			t.Errorf("%s shows the plugin", path)
		}
	}
	if got := admin.get("/wp-admin/index.php"); got.Status != http.StatusOK || strings.Contains(got.Body, "/assets/interlock-bridge") {
		t.Errorf("the dashboard (%d) loads the plugin's files", got.Status)
	}
	for _, file := range []string{"includes/client.php", "includes/form.php", "uninstall.php", "interlock-bridge.php"} {
		if got := w.visitor().get("/wp-content/plugins/interlock-bridge/" + file); got.Body != "" {
			t.Errorf("%s called by itself says %q", file, got.Body)
		}
	}
}

// R-BRIDGE-9: uninstalled, the plugin leaves nothing behind, and takes nothing
// that is not its own.
func TestUninstallingTakesAwayWhatWasStored(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	admin := w.signedIn("admin")
	admin.settle(connected("https://gateway.example.org"))
	admin.post(formHandler, url.Values{"action": {"interlock_bridge_ask"}, "_wpnonce": {admin.asking("").Get("_wpnonce")}, "instruction": {" "}})
	if before := w.inside("stored.php"); !strings.Contains(before, "interlock_bridge_settings") || !strings.Contains(before, "interlock_bridge_result_") {
		t.Fatalf("nothing was stored before:\n%s", before)
	}
	w.inside("uninstall.php")
	if after := strings.TrimSpace(w.inside("stored.php")); after != "" {
		t.Errorf("still stored:\n%s", after)
	}
	if _, err := os.Stat(w.key.path); err != nil {
		t.Errorf("the key file: %v", err)
	}
}

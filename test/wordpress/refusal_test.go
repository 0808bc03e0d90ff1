package wordpress_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// R-BRIDGE-9
func TestOnlyAnAdministratorsOwnFormIsTaken(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	gateway := newStranger(t)
	gateway.will(says(http.StatusOK, "application/json", "{}"))
	admin, editor, visitor := w.signedIn("admin"), w.signedIn("editor"), w.visitor()
	admin.settle(connected(gateway.URL))
	const question = "Check whether ABN 51824753556 is registered."
	good := admin.asking(question)
	changed := func(change func(url.Values)) url.Values {
		form := url.Values{}
		for name, values := range good {
			form[name] = values
		}
		change(form)
		return form
	}
	for _, c := range []struct {
		name   string
		who    *person
		method string
		form   url.Values
		want   int
	}{
		{"an administrator with a wrong nonce", admin, http.MethodPost, changed(func(f url.Values) { f.Set("_wpnonce", "0123456789") }), 403},
		{"an administrator without a nonce", admin, http.MethodPost, changed(func(f url.Values) { f.Del("_wpnonce") }), 403},
		{"an administrator with the nonce of another form", admin, http.MethodPost, changed(func(f url.Values) {
			f.Set("_wpnonce", admin.get(settingsPage).form(t, "/options.php").Get("_wpnonce"))
		}), 403},
		{"an editor with an administrator's nonce", editor, http.MethodPost, good, 403},
		{"an editor with a nonce of their own", editor, http.MethodPost, changed(func(f url.Values) { f.Set("_wpnonce", w.inside("nonce.php", editor.session())) }), 403},
		{"a visitor with an administrator's nonce", visitor, http.MethodPost, good, 400},
		{"an administrator by GET", admin, http.MethodGet, nil, 405},
	} {
		path := formHandler
		if c.method == http.MethodGet {
			path += "?" + good.Encode()
		}
		if got := c.who.send(c.method, path, c.form); got.Status != c.want {
			t.Errorf("%s: answered %d, want %d\n%s", c.name, got.Status, c.want, got.Body)
		}
	}
	for _, path := range []string{askPage, settingsPage} {
		if got := editor.get(path); got.Status != http.StatusForbidden {
			t.Errorf("an editor at %s: answered %d, want 403", path, got.Status)
		}
		if got := visitor.get(path); got.Status != http.StatusFound || !strings.Contains(got.Location, "wp-login.php") {
			t.Errorf("a visitor at %s: answered %d to %q, want to be sent to sign in", path, got.Status, got.Location)
		}
	}
	if n := len(gateway.exchanges("")); n != 0 {
		t.Fatalf("the gateway was asked %d times by forms that were refused", n)
	}
	// Nonces made so are good: an administrator's is taken.
	made := changed(func(f url.Values) { f.Set("_wpnonce", w.inside("nonce.php", admin.session())) })
	if got := admin.post(formHandler, made); got.Status != http.StatusSeeOther {
		t.Errorf("an administrator with a nonce of their own: answered %d, so an editor's refusal proves nothing", got.Status)
	}
	gateway.forget()
	// The same form as its owner sends it is taken, so it was none of its fields.
	if got := admin.post(formHandler, good); got.Status != http.StatusSeeOther || len(gateway.exchanges("")) == 0 {
		t.Errorf("the form itself: answered %d, and the gateway was asked %d times", got.Status, len(gateway.exchanges("")))
	}
}

// R-BRIDGE-9
func TestAnInstructionThatIsNoneIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	gateway := newStranger(t)
	gateway.will(says(http.StatusOK, "application/json", "{}"))
	admin := w.signedIn("admin")
	admin.settle(connected(gateway.URL))
	for name, c := range map[string]struct{ instruction, says string }{
		"nothing":              {" \n\t ", "Write an instruction first."},
		"one byte too many":    {strings.Repeat("a", 4097), "too long"},
		"too many of two":      {strings.Repeat("é", 2049), "too long"},
		"a megabyte":           {strings.Repeat("a ", 1<<19), "too long"},
		"only what is markup":  {"<script>51824753556</script>", "Write an instruction first."},
		"not a text but bytes": {"\xff\xfe", "Write an instruction first."},
	} {
		got := admin.ask(c.instruction)
		if !strings.Contains(got.result(), c.says) {
			t.Errorf("%s: %q does not say %q", name, got.result(), c.says)
		}
	}
	list := admin.asking("")
	list["instruction[]"] = []string{"51824753556"}
	list.Del("instruction")
	admin.post(formHandler, list)
	if got := admin.get(askPage); !strings.Contains(got.result(), "Write an instruction first.") {
		t.Errorf("a list: %q", got.result())
	}
	if n := len(gateway.exchanges("")); n != 0 {
		t.Errorf("the gateway was asked %d times", n)
	}
}

package wordpress_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a tab of a real Chromium with a profile of its own.
type browser struct {
	t    testing.TB
	tab  context.Context
	site *wordpress

	mu    sync.Mutex
	asked []string // URLs that it requested; guarded by mu
	said  []string // errors and exceptions of its pages; guarded by mu
}

// patience is how long a browser may take for one thing on a busy machine.
const patience = time.Minute

// newBrowser starts Chromium for a site; it ends with the test.
func newBrowser(t testing.TB, w *wordpress) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t, "chromium", "chromium-browser", "google-chrome")),
		chromedp.NoSandbox, // as root there is none
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1200, 1000),
	)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	tab, endTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		chromedp.Cancel(tab) // waits until Chromium has gone
		endTab()
		endAllocator()
	})
	b := &browser{t: t, tab: tab, site: w}
	if err := chromedp.Listen(tab, b.hear); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	if _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		t.Fatalf("watch Chromium's requests: %v", err)
	}
	return b
}

// hear keeps what the tab tells of itself.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			b.said = append(b.said, "an error on the console")
		}
	}
}

// do runs steps in the tab.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// read runs one action that yields something.
func read[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.tab, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return v
}

// signIn signs in as a person would.
func (b *browser) signIn(name string) {
	b.t.Helper()
	b.do("sign in",
		chromedp.Navigate(b.site.url+"/wp-login.php"),
		// Not key by key: the page selects the field's text when it is ready.
		chromedp.SetValue(chromedp.CSS("#user_login"), name),
		chromedp.SetValue(chromedp.CSS("#user_pass"), passwordOf(name)),
		chromedp.Click(chromedp.CSS("#wp-submit")),
		chromedp.WaitVisible(chromedp.CSS("#wpadminbar")),
	)
}

// ask fills the form in, sends it by the press of the button, and returns the
// card with the result of that status.
func (b *browser) ask(instruction, status string, press chromedp.Action[chromedp.Void]) string {
	b.t.Helper()
	b.do("ask "+instruction,
		chromedp.Navigate(b.site.url+askPage),
		chromedp.SetValue(chromedp.CSS("#interlock-bridge-instruction"), instruction),
		// The card of the question before is not waited for.
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := chromedp.Evaluate[bool](`(document.getElementById("interlock-bridge-result")?.remove(), true)`)(ctx, t)
			return err
		}),
		press,
		chromedp.WaitVisible(chromedp.CSS(`#interlock-bridge-result[data-status="`+status+`"]`)),
	)
	return read(b, "read the result", chromedp.Text(chromedp.CSS("#interlock-bridge-result")))
}

// button is the one that sends the form.
var button = chromedp.CSS("#interlock-bridge-form button")

// picture keeps a screenshot of the whole page for people.
func (b *browser) picture(name string) {
	b.t.Helper()
	png := read(b, "take a picture", chromedp.FullScreenshot(100))
	path := filepath.Join(repository(b.t), ".cache", "wordpress", name)
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("a picture of the page is in %s", path)
}

// checkQuiet fails the test if a page complained, or if the browser asked
// anybody but the site for anything.
func (b *browser) checkQuiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		b.t.Errorf("the pages said: %q", b.said)
	}
	if len(b.asked) == 0 {
		b.t.Error("the browser's requests were not seen")
	}
	for _, url := range b.asked {
		if !strings.HasPrefix(url, b.site.url+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "blob:") {
			b.t.Errorf("the browser asked for %s", url)
		}
	}
}

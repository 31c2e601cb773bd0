package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// chromium is where the browser is. Without one the test is skipped, but in CI.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	testdb.Unavailable(t, "there is no Chromium: make setup installs Debian's, as does apt-get install chromium")
	return ""
}

// browser is a tab, used by its keyboard. It notes what no page of the console may do.
type browser struct {
	t    *testing.T
	ctx  context.Context
	home string
	load chan struct{} // a page has loaded

	mu       sync.Mutex
	also     string // another site that the test visits itself
	faults   []string
	expected int // a status that a form is answered with, and that the browser says once
}

// open starts a browser that has never been anywhere.
func open(t *testing.T, home string) *browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // whose sandbox root cannot have
	}
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, leave := chromedp.NewContext(allocated)
	t.Cleanup(leave)
	b := &browser{t: t, ctx: ctx, home: home, load: make(chan struct{}, 100)}
	b.run() // starts it
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	for _, domain := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		command(b, domain, cdp.Empty{})
	}
	command(b, page.Enable, page.EnableParams{})
	command(b, network.Enable, network.EnableParams{})
	late := time.AfterFunc(4*time.Minute, leave)
	t.Cleanup(func() { late.Stop() })
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, fault := range b.faults {
			t.Error(fault)
		}
	})
	return b
}

// note notes what the browser reports of the page: errors, what its policy forbids, and requests to
// other hosts.
func (b *browser) note(event any) {
	fault := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.faults = append(b.faults, fmt.Sprintf(format, args...))
	}
	switch e := event.(type) {
	case *page.EventLoadEventFired:
		b.load <- struct{}{}
	case *log.EventEntryAdded:
		if b.allowed(e.Entry.Text) {
			return
		}
		fault("the browser logged (%s, %s) %s at %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *runtime.EventConsoleAPICalled:
		fault("a page wrote to the console: %s", e.Type)
	case *runtime.EventExceptionThrown:
		fault("a page threw: %s", e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || u.Scheme != "data" && !b.knows(u.Scheme+"://"+u.Host) {
			fault("a request to %s", e.Request.URL)
		}
		if strings.Contains(e.Request.URL, "demo-") {
			fault("a token in an address: %s", e.Request.URL)
		}
	case *network.EventLoadingFailed:
		fault("%s failed to load: %s %s", e.Type, e.ErrorText, e.BlockedReason)
	}
}

// expect lets the browser say once that an answer had a status.
func (b *browser) expect(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = status
}

func (b *browser) allowed(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expected == 0 || !strings.Contains(text, fmt.Sprintf("status of %d", b.expected)) {
		return false
	}
	b.expected = 0
	return true
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// command speaks the browser's own protocol.
func command[P, R any](b *browser, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, c, params)
	if err != nil {
		b.t.Fatalf("%s: %v", c.Method, err)
	}
	return result
}

// eval asks the page something.
func eval[T any](b *browser, expression string) (value T) {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// visit types an address into the address bar.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.home + path))
	b.drain()
}

// leave goes to another site.
func (b *browser) leave(to string) {
	b.t.Helper()
	b.mu.Lock()
	b.also = to
	b.mu.Unlock()
	b.run(chromedp.Navigate(to))
}

// knows reports whether a site is the console's, or one that the test visits.
func (b *browser) knows(site string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return site == b.home || site == b.also
}

func (b *browser) drain() {
	for {
		select {
		case <-b.load:
		default:
			return
		}
	}
}

// tab moves the focus forward until it is on what a selector names, and checks on the way that it
// can be seen.
func (b *browser) tab(selector string) {
	b.t.Helper()
	for range 80 {
		b.run(chromedp.KeyEvent(kb.Tab))
		if eval[bool](b, `document.activeElement === document.body`) {
			continue // the browser's own part, which comes after the last element
		}
		if !eval[bool](b, `(e => e.matches(":focus-visible") && getComputedStyle(e).outlineStyle !== "none" && parseFloat(getComputedStyle(e).outlineWidth) >= 2)(document.activeElement)`) {
			b.t.Errorf("the focus cannot be seen on %s of %s", eval[string](b, `document.activeElement.outerHTML`), b.at())
		}
		if eval[bool](b, fmt.Sprintf(`document.activeElement.matches(%q)`, selector)) {
			return
		}
	}
	b.t.Fatalf("the keyboard does not reach %s of %s", selector, b.at())
}

// keys types.
func (b *browser) keys(text string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(text))
}

// enter presses Enter and waits for the page that it leads to.
func (b *browser) enter() {
	b.t.Helper()
	b.drain()
	b.keys(kb.Enter)
	select {
	case <-b.load:
	case <-time.After(30 * time.Second):
		b.t.Fatalf("Enter has no target from %s", b.at())
	}
}

// at is where the browser is.
func (b *browser) at() string {
	b.t.Helper()
	return eval[string](b, `location.pathname + location.search`)
}

// reads checks that the page shows some texts.
func (b *browser) reads(texts ...string) {
	b.t.Helper()
	shown := eval[string](b, `document.body.innerText`)
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			b.t.Errorf("%s does not show %q: %s", b.at(), text, shown)
		}
	}
}

// signIn signs in by the keyboard.
func (b *browser) signIn(token string) {
	b.t.Helper()
	b.tab("#token")
	b.keys(token)
	b.enter()
}

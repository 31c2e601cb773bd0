package browser

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// documentation is the site of a page that mcpgen docs --html writes for packages of this
// repository.
func documentation(t *testing.T, packages ...string) (url string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "docs.html")
	cmd := exec.Command("go", append([]string{"run", "./cmd/mcpgen", "docs", "--html", file},
		packages...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, file)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// shown are the names of the sections, or of the rows of the matrix, that the page shows.
func (b *browser) shown(elements string) []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("`+elements+
		`")].filter(e => e.checkVisibility()).map(e => e.textContent)`)
}

// textOfWindow returns the texts of the page that the window shows.
const textOfWindow = `(() => {
	const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	const range = document.createRange(), shown = [];
	while (nodes.nextNode()) {
		range.selectNodeContents(nodes.currentNode);
		const box = range.getBoundingClientRect();
		if (box.width > 0 && box.bottom > 0 && box.top < innerHeight) {
			shown.push(nodes.currentNode.data);
		}
	}
	return shown.join("\n");
})()`

// The page of mcpgen docs is searched and filtered by role, by the keyboard alone. The browser
// refuses what its policy forbids, and requests nothing else.
func TestDocumentationIsSearchedAndFiltered(t *testing.T) {
	b := open(t, documentation(t, "./examples/team/directory", "./examples/workspace/..."))
	b.visit("/")
	all := b.shown("section h3 code")
	if !slices.Contains(all, "promote_to_manager") || !slices.Contains(all, "create") {
		t.Fatalf("the page shows %q", all)
	}
	count := func(want string) {
		t.Helper()
		if got := eval[string](b, `document.querySelector("#count").textContent`); got != want {
			t.Errorf("the page counts %q, want %q", got, want)
		}
	}
	hold := func(want ...string) {
		t.Helper()
		for _, elements := range []string{"section h3 code", "tr[data-section] a"} {
			if got := b.shown(elements); !slices.Equal(got, want) {
				t.Errorf("%s: the page shows %q, want %q", elements, got, want)
			}
		}
	}
	b.tab("#search")
	b.keys("ONBOARD person")
	hold("create", "get_by_id", "update")
	heads := func(want ...string) {
		t.Helper()
		got := b.shown("table:has(tr[data-section]) thead th:first-child")
		if !slices.Equal(got, want) {
			t.Errorf("the heads of the matrix are %q, want %q", got, want)
		}
	}
	heads("tool")
	b.tab("#caller")
	b.keys("Member")
	hold("create", "get_by_id", "update")
	if got := eval[string](b, `document.querySelector("#caller").value`); got != "Member" {
		t.Errorf("the caller is %q", got)
	}
	b.keys(kb.Home)
	b.keys(kb.ArrowDown) // anonymous
	hold()
	heads()
	eval[bool](b,
		`(s => { s.value = ""; return s.dispatchEvent(new Event("input", {bubbles: true})); })(document.querySelector("#search"))`)
	if got := b.shown("section h3 code"); !slices.Contains(got, "get_public_info") ||
		slices.Contains(got, "create") {
		t.Errorf("an anonymous caller may use %q", got)
	}
	b.visit("/")
	hold(all...)
	b.tab(`a[href="#1-tool-create"]`)
	b.keys("\r")
	if got := eval[string](b,
		`document.querySelector(":target h3 code").textContent`); got != "create" {
		t.Errorf("the link leads to %q", got)
	}
	count(eval[string](b, `(n => n + " of " + n)(document.querySelectorAll("section").length)`))
}

func TestDocumentationFitsItsWindow(t *testing.T) {
	b := open(t, documentation(t, "./examples/team/directory"))
	for _, scheme := range []string{"dark", "light"} {
		command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		for _, width := range []int64{320, 1000} {
			b.run(chromedp.EmulateViewport(width, 800))
			b.visit("/")
			if wide := eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the page is %d wide in a window of %d", wide, width)
			}
		}
	}
	b.tab("#caller")
	b.keys("Member")
	b.tab(`a[href="#1-tool-create"]`)
	eval[bool](b, `document.activeElement.blur() === undefined`)
	b.picture("docs-html", b.window(), eval[string](b, textOfWindow))
}

package browser

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

var pictures = flag.Bool("pictures", false,
	"write docs/pictures/console-*.png and docs-html.png, and their texts")

// Every page at the width of a desk and of a small telephone, by day and by night: none is wider
// than the window, and pictures of all go to screenshots/, for people to look at.
func TestPagesFitTheirWindow(t *testing.T) {
	w := serve(t)
	w.furnish(t)
	b := open(t, w.url)
	if err := os.MkdirAll("screenshots", 0o777); err != nil {
		t.Fatal(err)
	}
	type shot struct{ name, path string }
	look := func(shots []shot) {
		for i, scheme := range []string{"light", "dark"} {
			command(b, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{
						{Name: "prefers-color-scheme", Value: scheme}}})
			for j, width := range []int64{1280, 500, 320} {
				if !*pictures && i != j%2 { // the colours have no width
					continue
				}
				b.run(chromedp.EmulateViewport(width, 800))
				for _, s := range shots {
					b.visit(s.path)
					if wide := eval[int64](b,
						`document.documentElement.scrollWidth`); wide > width {
						t.Errorf("%s is %d wide in a window of %d", s.path, wide, width)
					}
					for _, name := range eval[[]string](b, brokenNames) {
						t.Errorf("%s, %d wide: %s breaks within a word", s.path, width, name)
					}
					file := fmt.Sprintf("screenshots/%s-%d-%s.png", s.name, width, scheme)
					if err := os.WriteFile(file, b.shoot(), 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	look([]shot{{"sign-in", "/console/sign-in"},
		{"sign-in-refused", "/console/sign-in?problem=refused"}})
	b.visit("/console")
	b.signIn(tokenAda)
	w.fill(t)
	look([]shot{
		{"overview", "/console"}, {"matrix", "/console/matrix"},
		{"principal", "/console/principal?show=1&subject=mel&role=Member"},
		{"tools", "/console/tools"},
		{"catalogs", "/console/catalogs"}, {"catalog-new", "/console/catalogs/new"},
		{"catalog", "/console/catalogs/1?done=catalog-saved"},
		{"catalog-delete", "/console/catalogs/1/delete"},
		{"declared", "/console/declared?name=onboarding"}, {"orgs", "/console/orgs"},
		{"org", "/console/orgs/1"}, {"team", "/console/teams/1"}, {"member", "/console/members/1"},
		{"requests", "/console/requests"}, {"request", "/console/requests/1"},
		{"request-denied", "/console/requests/2"}, {"grants", "/console/grants"},
		{"grant-new", "/console/grants/new?client=reporting-agent"},
		{"revoke",
			"/console/grants/revoke?issuer=team&client=reporting-agent&type=file.read&resource=public/reports/**"}, {"audit", "/console/audit"}, {"event", "/console/audit/1"},
		{"clients", "/console/clients"},
		{"suggestion", "/console/clients/suggestion?client=reporting-agent&issuer=team"},
		{"block", "/console/clients/block?client=reporting-agent&issuer=team"},
		{"boundary", "/console/boundaries/1"}, {"boundary-new", "/console/boundaries/new"},
	})
}

// The pictures in docs/pictures show what the console shows. The text of each is in a file beside
// it. The times of a page are not part of its text.
func TestPicturesOfTheConsoleAreCurrent(t *testing.T) {
	w := serve(t)
	w.furnish(t)
	w.fill(t)
	b := open(t, w.url)
	b.visit("/console")
	b.signIn(tokenAda)
	mel := mcptest.Connect(t, w.url+"/mcp", tokenMel, "")
	for _, call := range []mcp.CallToolParams{{Name: "get_all"}, {Name: "promote_to_manager"},
		{Name: "create", Arguments: map[string]string{
			"name": "Grace Hopper", "email": "grace@example.org"}}} {
		_, _ = mel.CallTool(t.Context(), &call)
	}
	for _, p := range []struct {
		name, path string
		width      int64
	}{
		{"matrix", "/console/matrix", 1000}, {"catalogs", "/console/catalogs", 1000},
		{"requests", "/console/requests", 1280}, {"clients", "/console/clients", 1000},
		{"audit", "/console/audit?type=tool_called", 1280},
	} {
		b.run(chromedp.EmulateViewport(p.width, 480))
		b.visit(p.path)
		b.picture("console-"+p.name, b.shoot(), eval[string](b, `document.body.innerText`))
	}
}

// moments matches what differs between two runs of a page.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?Z?`)

// picture compares the text of a picture with that of the one in docs/pictures, and writes both
// there if the flag is set. Otherwise it writes the picture to screenshots/.
func (b *browser) picture(name string, data []byte, shown string) {
	b.t.Helper()
	reduced := reduce(b.t, data)
	if len(reduced) > 150<<10 {
		b.t.Errorf("the picture %s has %d bytes", name, len(reduced))
	}
	var text strings.Builder
	for line := range strings.Lines(shown) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			text.WriteString(moments.ReplaceAllString(line, "*") + "\n")
		}
	}
	dir, committed := "screenshots", filepath.FromSlash("../../docs/pictures/"+name+".txt")
	if *pictures {
		dir = filepath.Dir(committed)
		if err := os.WriteFile(committed, []byte(text.String()), 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), reduced, 0o666); err != nil {
		b.t.Fatal(err)
	}
	want, err := os.ReadFile(committed)
	if err != nil {
		b.t.Fatal(err)
	}
	if text.String() != string(want) {
		b.t.Errorf("the picture %s shows\n%s\nbut the page has\n%s\nRun make browser PICTURES=1.",
			name, want, &text)
	}
}

// brokenNames are the names of a page's tables that a line ends in, and not between two of their
// words: each word is a text of its own, and is drawn in one box.
const brokenNames = `[...document.querySelectorAll("tbody th .name, tbody th.name")].filter(name => [...name.childNodes].some(word => {
	const range = document.createRange();
	range.selectNodeContents(word);
	return word.nodeType === Node.TEXT_NODE && new Set([...range.getClientRects()].map(r => r.top)).size > 1;
})).map(name => name.textContent)`

// A name of one long word leaves room for what the matrix says beside it, on a small telephone too.
func TestMatrixHasRoomBesideALongName(t *testing.T) {
	w := serve(t)
	b := open(t, w.url)
	b.visit("/console/matrix")
	b.signIn(tokenAda)
	b.run(chromedp.EmulateViewport(320, 800))
	b.visit("/console/matrix")
	wide := eval[float64](
		b,
		`(name => { name.textContent = "x".repeat(60); return name.closest("th").getBoundingClientRect().width; })(document.querySelector(".matrix tbody th .name"))`)
	if wide > 200 {
		t.Errorf("the name takes %g of 320", wide)
	}
}

// Two operators save one catalog: the second one is shown both, and what was typed is still there.
func TestConflictLosesNothing(t *testing.T) {
	w := serve(t)
	w.furnish(t)
	b := open(t, w.url)
	b.visit("/console/catalogs/1")
	b.signIn(tokenAda)
	if at := b.at(); at != "/console/catalogs/1" {
		t.Fatal(at)
	}
	c, err := w.store.Catalog(t.Context(), everywhere, 1)
	if err != nil {
		t.Fatal(err)
	}
	theirs := "Written by somebody else meanwhile."
	if _, err := w.store.UpdateCatalog(t.Context(), everywhere, 1, c.Version, patched(theirs),
		audit.Event{Principal: "mara"}); err != nil {
		t.Fatal(err)
	}
	b.tab("#description")
	b.keys("Mine: ")
	b.tab(`form[action="/console/catalogs/1"] button`)
	b.expect(409)
	b.enter()
	b.reads("Another user has saved this catalog", theirs, "Mine: ")
	if typed := eval[string](b, `document.querySelector("#description").value`); typed == theirs ||
		typed == "" {
		t.Errorf("what was typed is %q by now", typed)
	}
	if err := os.MkdirAll("screenshots", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("screenshots/conflict-1280-light.png", b.shoot(), 0o666); err != nil {
		t.Fatal(err)
	}
	b.tab(`form[action="/console/catalogs/1"] button`)
	b.enter()
	b.reads("The catalog is saved")
	if c, err = w.store.Catalog(t.Context(), everywhere, 1); err != nil || c.Version != 3 ||
		c.Description == theirs {
		t.Errorf("%+v, %v", c, err)
	}
}

// shoot is a picture of the whole page.
func (b *browser) shoot() []byte {
	b.t.Helper()
	yes := true
	return command(b, page.CaptureScreenshot,
		page.CaptureScreenshotParams{Format: "png", CaptureBeyondViewport: &yes}).Data
}

// window is a picture of what the window shows.
func (b *browser) window() []byte {
	b.t.Helper()
	return command(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "png"}).Data
}

// reduce writes a picture with the 255 colours that it has most of, each pixel with the nearest
// one.
func reduce(t *testing.T, data []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	bounds, count := full.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - int(b.R)<<16 - int(b.G)<<8 - int(b.B)
	})
	var palette color.Palette
	for _, c := range all[:min(len(all), 255)] {
		palette = append(palette, c)
	}
	small, nearest := image.NewPaletted(bounds, palette), map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			small.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(
		&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

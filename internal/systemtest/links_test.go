package systemtest

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// kinds are the folders of pages below docs. A page is of one kind.
var kinds = []string{"docs/tutorial", "docs/howto", "docs/reference", "docs/explanation"}

const index = "docs/index.md"

// page is what a Markdown file links to, and what can be linked to in it.
type page struct {
	links   []string // as written
	anchors map[string]bool
	titles  int // headings of level 1
}

var (
	markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))
	htmlID   = regexp.MustCompile(`\b(?:id|name)="([^"]+)"`)
	htmlLink = regexp.MustCompile(`\b(?:href|src|srcset)="([^"\s]+)"`)
)

// parse reads a page by the rules of GitHub.
func parse(source []byte) page {
	p := page{anchors: map[string]bool{}}
	html := func(raw string) {
		for _, m := range htmlID.FindAllStringSubmatch(raw, -1) {
			p.anchors[m[1]] = true
		}
		for _, m := range htmlLink.FindAllStringSubmatch(raw, -1) {
			p.links = append(p.links, m[1])
		}
	}
	ast.Walk(markdown.Parser().Parse(text.NewReader(source)),
		func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if !entering {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.Link:
				p.links = append(p.links, string(n.Destination))
			case *ast.Image:
				p.links = append(p.links, string(n.Destination))
			case *ast.RawHTML:
				html(string(n.Segments.Value(source)))
			case *ast.HTMLBlock:
				html(string(n.Lines().Value(source)))
			case *ast.Heading:
				if n.Level == 1 {
					p.titles++
				}
				p.add(slug(words(n, source)))
			}
			return ast.WalkContinue, nil
		})
	return p
}

// add adds the anchor of a heading. GitHub numbers those that are there already.
func (p page) add(anchor string) {
	numbered := anchor
	for i := 1; p.anchors[numbered]; i++ {
		numbered = fmt.Sprint(anchor, "-", i)
	}
	p.anchors[numbered] = true
}

// words returns the text of a node, code included.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Value(source))
		case *ast.String:
			b.Write(c.Value)
		default:
			b.WriteString(words(c, source))
		}
	}
	return b.String()
}

// slug is the anchor that GitHub gives a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// pagesOf reads the Markdown files of the repository, by their paths with slashes.
func pagesOf(t *testing.T, root string) map[string]page {
	t.Helper()
	pages := map[string]page{}
	for name := range strings.Lines(testrepo.Output(t, root,
		"git ls-files -co --exclude-standard *.md")) {
		name = strings.TrimSpace(name)
		source, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed
		}
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = parse(source)
	}
	return pages
}

// target returns the file of the repository that a link of a page leads to, and the anchor in it.
// ok is false for links to other sites.
func target(from, link string) (file, anchor string, ok bool) {
	u, err := url.Parse(link)
	if err == nil && (u.Scheme != "" || u.Host != "") {
		return "", "", false
	}
	if err != nil {
		return link, "", true
	}
	if u.Path == "" {
		return from, u.Fragment, true
	}
	return path.Join(path.Dir(from), u.Path), u.Fragment, true
}

func TestLinksOfPagesLeadSomewhere(t *testing.T) {
	root := testrepo.Root(t)
	pages := pagesOf(t, root)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range pages[name].links {
			file, anchor, ok := target(name, link)
			if !ok {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil ||
				strings.HasPrefix(file, "..") {
				t.Errorf("%s links to %s, which does not exist", name, link)
			} else if to, known := pages[file]; anchor != "" && (!known || !to.anchors[anchor]) {
				t.Errorf("%s links to %s, and %s has no such heading", name, link, file)
			}
		}
	}
}

func TestPagesAreOfOneKindAndReachable(t *testing.T) {
	pages := pagesOf(t, testrepo.Root(t))
	reached := map[string]bool{index: true}
	for next := []string{index}; len(next) > 0; next = next[1:] {
		for _, link := range pages[next[0]].links {
			file, _, ok := target(next[0], link)
			if _, is := pages[file]; ok && is && !reached[file] {
				reached[file] = true
				next = append(next, file)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if !strings.HasPrefix(name, "docs/") {
			continue
		}
		if name != index && !slices.Contains(kinds, path.Dir(name)) {
			t.Errorf("%s is in none of the folders %v", name, kinds)
		}
		if !reached[name] {
			t.Errorf("no chain of links leads from %s to %s", index, name)
		}
		if pages[name].titles != 1 {
			t.Errorf("%s has %d headings of level 1, not one", name, pages[name].titles)
		}
	}
}

func TestSlugsAreThoseOfGitHub(t *testing.T) {
	p := parse([]byte("# Names, icons and `_meta`\n\n## //mcp:tool\n\n## A\n\n## A\n\n" +
		"## GET /api/v1/{id}\n\n<a id=\"x\"></a>\n\n| a |\n|---|\n| [b](c.md#d) |\n\n" +
		"```\n# no heading\n[no](link)\n```\n"))
	want := []string{"a", "a-1", "get-apiv1id", "mcptool", "names-icons-and-_meta", "x"}
	if got := slices.Sorted(maps.Keys(p.anchors)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !slices.Equal(p.links, []string{"c.md#d"}) || p.titles != 1 {
		t.Errorf("got %q, %d titles", p.links, p.titles)
	}
	for link, want := range map[string]string{
		"b.md#c": "docs/howto/b.md#c", "../x.md": "docs/x.md#", "#here": "docs/howto/a.md#here",
		"https://example.com": "",
	} {
		file, anchor, ok := target("docs/howto/a.md", link)
		if got := file + "#" + anchor; ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %s, %v", link, got, ok)
		}
	}
}

// Command site writes the documentation as a static site, and llms.txt.
//
//	go run . -root ../.. -o ../../bin/site
//
// Pages are docs/ and the Markdown files at the root. The navigation is docs/index.md, and llms.txt
// lists the same pages: that of the repository by their files, and that of the site by their
// addresses. A test of internal/systemtest checks the links of the pages.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// index is the page that has the navigation, and the first page of the site.
const index = "docs/index.md"

func main() {
	root := flag.String("root", ".", "`folder` of the repository")
	out := flag.String("o", "bin/site", "`folder` of the site")
	source := flag.String("source", "https://github.com/mcpgen/mcpgen/blob/main/",
		"`URL` of files that are no pages")
	flag.Parse()
	if err := run(*root, *out, *source); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes the site, and llms.txt of the repository.
func run(root, out, source string) error {
	s, err := read(os.DirFS(root))
	if err != nil {
		return err
	}
	// It is made before the links become those of the site.
	list := s.list(s.sections(), func(file string) string { return file })
	files, err := s.render(source)
	if err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(root, "llms.txt"), list, 0o666)
}

// site is the documentation of a repository.
type site struct {
	root  fs.FS
	pages map[string]*page // by path in the repository
}

// page is one Markdown file.
type page struct {
	source []byte
	tree   ast.Node
	title  string
}

// The pages are our own, so HTML in them, such as an anchor, is kept.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()))

func read(root fs.FS) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			source, err := fs.ReadFile(root, name)
			if err != nil {
				return nil, err
			}
			s.pages[name] = parse(source)
		}
	}
	if s.pages[index] == nil {
		return nil, fmt.Errorf("there is no %s", index)
	}
	return s, nil
}

func parse(source []byte) *page {
	ids := &headingIDs{seen: map[string]bool{}}
	tree := markdown.Parser().Parse(text.NewReader(source),
		parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	p := &page{source: source, tree: tree}
	for n := range descendants(tree) {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			p.title = plain(h, source)
			break
		}
	}
	return p
}

// target is where a link leads: a file of the repository and an anchor. External links have none.
func target(from, link string) (file, anchor string, internal bool) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", "", false
	}
	file, anchor, _ = strings.Cut(link, "#")
	if file == "" {
		return from, anchor, true
	}
	return path.Join(path.Dir(from), file), anchor, true
}

//go:embed style.css
var style []byte

var layout = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · mcpgen</title>
<link rel="stylesheet" href="{{.Up}}style.css">
</head>
<body>
<main>
{{.Body}}</main>
<nav>
<p><a href="{{.Up}}index.html">mcpgen</a></p>
{{range .Sections}}<h2>{{.Title}}</h2>
<ul>
{{range .Entries}}<li><a href="{{.Href}}"{{if .Here}} aria-current="page"{{end}}>{{.Title}}</a></li>
{{end}}</ul>
{{end}}</nav>
</body>
</html>
`))

// output is the path of a page in the site: docs/ is its root.
func output(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md") + ".html"
}

// relative returns the link from one file of the site to another.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// address returns the link from a file of the site to a file of the repository, which may be a
// page.
func (s *site) address(here, file, source string) string {
	if s.pages[file] == nil {
		return source + file
	}
	return relative(here, output(file))
}

// render returns the files of the site by their paths.
func (s *site) render(source string) (map[string][]byte, error) {
	sections := s.sections()
	files := map[string][]byte{"style.css": style, "llms.txt": s.list(sections,
		func(file string) string { return s.address("", file, source) })}
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p, here := s.pages[name], output(name)
		s.rewrite(name, source, files)
		var body bytes.Buffer
		if err := markdown.Renderer().Render(&body, p.source, p.tree); err != nil {
			return nil, err
		}
		var nav []section
		for _, sec := range sections {
			linked := section{Title: sec.Title}
			for _, e := range sec.Entries {
				e.Href, e.Here = s.address(here, e.file, source), e.file == name
				linked.Entries = append(linked.Entries, e)
			}
			nav = append(nav, linked)
		}
		var whole bytes.Buffer
		if err := layout.Execute(&whole, map[string]any{"Title": p.title, "Up": relative(here, ""),
			"Body": template.HTML(body.String()), "Sections": nav}); err != nil {
			return nil, err
		}
		files[here] = whole.Bytes()
	}
	return files, nil
}

// rewrite makes the links of a page links of the site, and adds the pictures of the page to files.
func (s *site) rewrite(name, source string, files map[string][]byte) {
	here := output(name)
	for n := range descendants(s.pages[name].tree) {
		link := destination(n)
		if link == nil {
			continue
		}
		file, anchor, internal := target(name, string(*link))
		if !internal {
			continue
		}
		var href string
		if _, image := n.(*ast.Image); image {
			content, err := fs.ReadFile(s.root, file)
			if err != nil {
				continue // the test of links reports it
			}
			picture := strings.TrimPrefix(file, "docs/")
			files[picture] = content
			href = relative(here, picture)
		} else {
			href = s.address(here, file, source)
		}
		if anchor != "" {
			href += "#" + anchor
		}
		*link = []byte(href)
	}
}

package main

import (
	"fmt"
	"iter"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// section is a heading of the index with the pages below it.
type section struct {
	Title   string
	Entries []entry
}

// entry is a page of the index. Note is the rest of its line.
type entry struct {
	Title, Note string
	Href        string // in the site
	Here        bool   // it is the page itself
	file        string
}

// sections reads the index: second-level headings, and the list items that begin with a link.
func (s *site) sections() []section {
	p := s.pages[index]
	var all []section
	for n := range descendants(p.tree) {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				all = append(all, section{Title: plain(n, p.source)})
			}
		case *ast.ListItem:
			block := n.FirstChild()
			link, ok := block.FirstChild().(*ast.Link)
			if !ok || len(all) == 0 {
				continue
			}
			file, _, internal := target(index, string(link.Destination))
			if !internal {
				continue
			}
			title := plain(link, p.source)
			note := strings.TrimPrefix(plain(block, p.source), title)
			last := &all[len(all)-1]
			last.Entries = append(last.Entries, entry{Title: title, file: file,
				Note: strings.TrimSpace(strings.TrimPrefix(note, ":"))})
		}
	}
	return all
}

// list returns llms.txt (llmstxt.org): the pages of the index with the links that address returns
// for their paths in the repository.
func (s *site) list(sections []section, address func(file string) string) []byte {
	var b strings.Builder
	b.WriteString("# mcpgen\n\n")
	p := s.pages[index]
	for n := range descendants(p.tree) {
		if block, ok := n.(*ast.Paragraph); ok {
			fmt.Fprintf(&b, "> %s\n", strings.ReplaceAll(plain(block, p.source), "\n", "\n> "))
			break
		}
	}
	for _, sec := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n", sec.Title)
		for _, e := range sec.Entries {
			fmt.Fprintf(&b, "- [%s](%s)", e.Title, address(e.file))
			if e.Note != "" {
				fmt.Fprintf(&b, ": %s", e.Note)
			}
			b.WriteByte('\n')
		}
	}
	return []byte(b.String())
}

// headingIDs makes the anchors that GitHub makes, so that links work in both places.
type headingIDs struct{ seen map[string]bool }

func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(string(value)))
	unique := id
	for i := 1; h.seen[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", id, i)
	}
	h.seen[unique] = true
	return []byte(unique)
}

func (h *headingIDs) Put(value []byte) { h.seen[string(value)] = true }

// descendants yields the nodes below a node, each before its children.
func descendants(n ast.Node) iter.Seq[ast.Node] {
	return func(yield func(ast.Node) bool) {
		_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && !yield(n) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// destination is where a link or picture leads; nil for other nodes.
func destination(n ast.Node) *[]byte {
	switch n := n.(type) {
	case *ast.Link:
		return &n.Destination
	case *ast.Image:
		return &n.Destination
	}
	return nil
}

// plain returns the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for n := range descendants(n) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(n.Value)
		}
	}
	return b.String()
}

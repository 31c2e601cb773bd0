package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func small() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		"docs/index.md": "# Docs\n\nOne sentence.\nAnother.\n\n## Guides\n\n" +
			"- [First `tool`](howto/first.md): a note\n\n## Project\n\n- [Read me](../README.md)\n",
		"docs/howto/first.md": "# First tool\n\n## A `b` (c), d\n\n![a](../pictures/a.svg)\n\n" +
			"[index](../index.md) [above](#a-b-c-d) [code](../../main.go) [web](https://go.dev) " +
			"<a id=\"x\"></a>\n",
		"docs/pictures/a.svg":     "<svg/>",
		"README.md":               "# Read me\n\n[first](docs/howto/first.md#a-b-c-d)\n",
		"examples/shop/README.md": "# No page",
		"main.go":                 "package main",
	} {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return files
}

func TestPagesLinkEachOther(t *testing.T) {
	s, err := read(small())
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.render("https://example.org/")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 6 {
		t.Errorf("%d files, want three pages, a picture, style.css and llms.txt", len(files))
	}
	for name, wants := range map[string][]string{
		"howto/first.html": {`<title>First tool · mcpgen</title>`, `id="a-b-c-d"`, `href="#a-b-c-d"`,
			`href="../index.html"`, `href="https://example.org/main.go"`, `href="https://go.dev"`,
			`<a id="x"></a>`,
			`src="../pictures/a.svg"`, `<a href="../howto/first.html" aria-current="page">First tool</a>`,
			`href="../README.html"`},
		"README.html": {`href="howto/first.html#a-b-c-d"`},
		"llms.txt": {"# mcpgen\n\n> One sentence.\n> Another.\n\n## Guides\n\n" +
			"- [First tool](docs/howto/first.md): a note\n\n## Project\n\n- [Read me](README.md)\n"},
	} {
		for _, want := range wants {
			text := strings.ReplaceAll(string(files[name]), `href="../howto/first.html#`, `href="#`)
			if !strings.Contains(text, want) {
				t.Errorf("%s does not have %s:\n%s", name, want, text)
			}
		}
	}
}

// TestListOfPagesIsCurrent compares llms.txt of this repository with docs/index.md.
func TestListOfPagesIsCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	s, err := read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := s.list(s.sections()); string(got) != string(want) {
		t.Errorf("llms.txt is not current: run make site.\nIt is\n%s\nwant\n%s", got, want)
	}
}

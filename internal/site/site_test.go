package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func small() fstest.MapFS {
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		"docs/index.md": "# Docs\n\nOne sentence.\nAnother.\n\n## Guides\n\n" +
			"- [First `tool`](howto/first.md): a note\n\n## Project\n\n- [Read me](../README.md)\n" +
			"- [Shop](../examples/shop/README.md)\n",
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
			`href="../README.html"`, `href="https://example.org/examples/shop/README.md"`},
		"README.html": {`href="howto/first.html#a-b-c-d"`},
		"llms.txt": {"# mcpgen\n\n> One sentence.\n> Another.\n\n## Guides\n\n" +
			"- [First tool](howto/first.html): a note\n\n## Project\n\n- [Read me](README.html)\n" +
			"- [Shop](https://example.org/examples/shop/README.md)\n"},
	} {
		for _, want := range wants {
			text := strings.ReplaceAll(string(files[name]), `href="../howto/first.html#`, `href="#`)
			if !strings.Contains(text, want) {
				t.Errorf("%s does not have %s:\n%s", name, want, text)
			}
		}
	}
}

// The command lists the pages of the repository by their files, and not by those of the site.
func TestRunWritesTheListOfTheRepository(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, small()); err != nil {
		t.Fatal(err)
	}
	if err := run(root, filepath.Join(t.TempDir(), "site"), "https://example.org/"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "llms.txt"))
	if want := "- [First tool](docs/howto/first.md): a note\n\n## Project\n\n" +
		"- [Read me](README.md)\n- [Shop](examples/shop/README.md)\n"; err != nil ||
		!strings.HasSuffix(string(got), want) {
		t.Errorf("%v\n%s\nwant the end\n%s", err, got, want)
	}
}

// TestListOfPagesIsCurrent compares llms.txt of this repository with docs/index.md, and follows the
// links of each llms.txt.
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
	want := s.list(s.sections(), func(file string) string { return file })
	if string(got) != string(want) {
		t.Errorf("llms.txt is not current: run make site.\nIt is\n%s\nwant\n%s", got, want)
	}
	files, err := s.render("https://example.org/")
	if err != nil {
		t.Fatal(err)
	}
	inRepository := links(got)
	if len(inRepository) < 40 {
		t.Errorf("llms.txt has %d links", len(inRepository))
	}
	for _, link := range inRepository {
		if _, err := os.Stat(filepath.Join(root, link)); err != nil {
			t.Error(err)
		}
	}
	for _, link := range links(files["llms.txt"]) {
		if files[link] == nil && !strings.HasPrefix(link, "https://example.org/") {
			t.Errorf("llms.txt of the site links to %s, which is no file of the site", link)
		}
	}
}

// links returns where the links of a Markdown text lead.
func links(text []byte) (all []string) {
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllSubmatch(text, -1) {
		all = append(all, string(link[1]))
	}
	return all
}

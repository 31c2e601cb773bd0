package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestReadmeIsShort holds the README to 8 kB and to its order.
func TestReadmeIsShort(t *testing.T) {
	readme := page(t, "README.md")
	if len(readme) > 8000 {
		t.Errorf("README.md has %d bytes, want at most 8000", len(readme))
	}
	want := []string{"Why", "Quick start", "What a caller sees", "Features", "Connect a client",
		"Status", "Documentation"}
	var got []string
	for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(readme, -1) {
		got = append(got, heading[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("README.md has the sections %q, want %q", got, want)
	}
}

// TestDocsQuoteTheTeamExample holds the directives and signatures that a tutorial shows of the
// example to those that the example has.
func TestDocsQuoteTheTeamExample(t *testing.T) {
	_, rest, found := strings.Cut(page(t, "docs/tutorial/database.md"),
		"From the team example:\n\n```go\n")
	quoted, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the tutorial quotes nothing of the team example")
	}
	source := page(t, "examples/team/directory/resources.go")
	for declaration := range strings.SplitSeq(strings.TrimSpace(quoted), "\n\n") {
		if !strings.Contains(source, declaration+" {\n") {
			t.Errorf("the example has no\n%s", declaration)
		}
	}
}

// page returns a file of the repository.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testrepo.Root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the text between two markers of a page.
func section(t *testing.T, name, marker string) string {
	t.Helper()
	_, rest, found := strings.Cut(page(t, name), "<!-- "+marker+" -->\n")
	text, _, closed := strings.Cut(rest, "<!-- /"+marker+" -->")
	if !found || !closed {
		t.Fatalf("%s has no section %q", name, marker)
	}
	return text
}

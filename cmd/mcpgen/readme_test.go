package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/schema"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestReadmeExampleBuilds generates for, builds, vets and tests the first Go example of the README.
func TestReadmeExampleBuilds(t *testing.T) {
	root := testrepo.Root(t)
	_, rest, found := strings.Cut(readme(t), "```go\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no Go example")
	}
	dir := t.TempDir()
	if err := testrepo.WriteModule(root, "example.com/shop", dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(example), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"go generate ./...", "gofmt -l .", "go build ./...",
		"go vet ./...", "go test ./...", "go tool mcpgen check ./..."} {
		if out := testrepo.Output(t, dir, command); command == "gofmt -l ." && out != "" {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestReadmeListsTheDirectives holds the README to the table that parses them.
func TestReadmeListsTheDirectives(t *testing.T) {
	var b strings.Builder
	b.WriteString("| directive | place | purpose |\n|---|---|---|\n")
	for _, s := range directive.Specs() {
		b.WriteString("| `" + strings.ReplaceAll(s.Synopsis(), "|", `\|`) + "` | " + s.Where() +
			" | " + s.Purpose + " |\n")
	}
	testrepo.Section(t, *update, "README.md", "directives", b.String())
}

// TestSchemaPageListsTheRules holds the page for users to the one place that names every difference
// from the Reflector.
func TestSchemaPageListsTheRules(t *testing.T) {
	var b strings.Builder
	b.WriteString("| rule | arguments | results | why |\n|---|:-:|:-:|---|\n")
	mark := map[bool]string{true: " ✓ |", false: " |"}
	for _, r := range schema.Rules() {
		why := strings.NewReplacer("|", `\|`, "<", `\<`).Replace(r.Why)
		b.WriteString("| " + r.Name + " |" + mark[r.Inputs] + mark[r.Outputs] + " " + why + " |\n")
	}
	testrepo.Section(t, *update, filepath.Join("docs", "schemas.md"), "rules", b.String())
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testrepo.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReadmeQuotesTheTeamExample holds the directives and signatures that the README shows of the
// example to those that the example has.
func TestReadmeQuotesTheTeamExample(t *testing.T) {
	_, rest, found := strings.Cut(readme(t), "From the team example:\n\n```go\n")
	quoted, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README quotes nothing of the team example")
	}
	source, err := os.ReadFile(filepath.Join(
		testrepo.Root(t), "examples", "team", "directory", "resources.go"))
	if err != nil {
		t.Fatal(err)
	}
	for declaration := range strings.SplitSeq(strings.TrimSpace(quoted), "\n\n") {
		if !strings.Contains(string(source), declaration+" {\n") {
			t.Errorf("the example has no\n%s", declaration)
		}
	}
}

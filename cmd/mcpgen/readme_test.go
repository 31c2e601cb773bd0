package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/directive"
)

// TestReadmeExampleBuilds generates for, builds, vets and tests the first Go example of the README.
func TestReadmeExampleBuilds(t *testing.T) {
	root := repository(t)
	_, rest, found := strings.Cut(readme(t), "```go\n")
	example, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no Go example")
	}
	dir := t.TempDir()
	if err := writeModule(root, "example.com/shop", dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte(example), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"go generate ./...", "gofmt -l .", "go build ./...", "go vet ./...", "go test ./...", "go tool mcpgen check ./..."} {
		if out := output(t, dir, command); command == "gofmt -l ." && out != "" {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestReadmeShowsTheDemo holds the README to what `make demo` prints, moments aside.
func TestReadmeShowsTheDemo(t *testing.T) {
	root := repository(t)
	bin := t.TempDir()
	output(t, root, "go build -o "+bin+" ./examples/team ./examples/team/tour ./cmd/mcpgen")
	demo := output(t, root, filepath.Join(bin, "tour")+" "+filepath.Join(bin, "team")) + "\n" +
		output(t, root, filepath.Join(bin, "mcpgen")+" matrix ./examples/team/...")
	section(t, "demo", "```\n$ make demo\n"+demo+"```\n")
}

// TestReadmeListsTheDirectives holds the README to the table that parses them.
func TestReadmeListsTheDirectives(t *testing.T) {
	var b strings.Builder
	b.WriteString("| directive | stands on | says |\n|---|---|---|\n")
	for _, s := range directive.Specs() {
		b.WriteString("| `" + strings.ReplaceAll(s.Synopsis(), "|", `\|`) + "` | " + s.Where() + " | " + s.Says + " |\n")
	}
	section(t, "directives", b.String())
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d(T[\d:]+)?`)

// section compares what stands between two markers of the README; -update writes it.
func section(t *testing.T, name, want string) {
	t.Helper()
	text := readme(t)
	opening, closing := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(text, opening)
	got, after, closed := strings.Cut(rest, closing)
	if !found || !closed {
		t.Fatalf("the README has no section %q", name)
	}
	if moment.ReplaceAllString(got, "") == moment.ReplaceAllString(want, "") {
		return
	}
	if *update {
		if err := os.WriteFile(readmeFile(t), []byte(before+opening+want+closing+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the README is not true; run this test with -update.\nIt says:\n%s\nbut it is:\n%s", got, want)
}

func readmeFile(t *testing.T) string { return filepath.Join(repository(t), "README.md") }

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(readmeFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// output runs a command of space-separated words and returns what it prints to standard output.
func output(t *testing.T, dir, command string) string {
	t.Helper()
	words := strings.Fields(command)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", command, err, out, &stderr)
	}
	return string(out)
}

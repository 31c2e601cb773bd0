package systemtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// block is a fenced code block of a page, without its indentation.
type block struct{ page, language, text string }

var (
	fenced        = regexp.MustCompile("(?ms)^( *)```(\\w+)\n(.*?)^ *```$")
	packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)
)

// blocks returns the code blocks of the pages in docs/howto.
func blocks(t *testing.T) (all []block) {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(testrepo.Root(t), "docs", "howto", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
			plain := regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[3], "")
			all = append(all, block{strings.TrimSuffix(filepath.Base(page), ".md"), m[2], plain})
		}
	}
	return all
}

// TestHowtoProgramsBuild generates for, vets and tests the how-to pages' Go files, which are the
// blocks with a package clause, and the files in testdata/howto, in one scratch module.
func TestHowtoProgramsBuild(t *testing.T) {
	root, dir := testrepo.Root(t), t.TempDir()
	if err := testrepo.WriteModule(root, "example.com/howto", dir,
		"examples/team", "examples/workspace", "runtime/boundary/stored",
		"runtime/identity/oidc"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/howto")); err != nil {
		t.Fatal(err)
	}
	for i, b := range blocks(t) {
		clause := packageClause.FindStringSubmatch(b.text)
		if b.language != "go" || clause == nil {
			continue
		}
		suffix := ".go"
		if strings.Contains(b.text, "\t\"testing\"\n") {
			suffix = "_test.go"
		}
		file := filepath.Join(dir, b.page, clause[1], fmt.Sprint("block", i, suffix))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Packages without a test of their own have the generated one, which only compares hashes.
	tested, err := fs.Glob(os.DirFS(dir), "*/*/*_test.go")
	if err != nil || len(tested) == 0 {
		t.Fatal(tested, err)
	}
	for i, file := range tested {
		tested[i] = "./" + path.Dir(file)
	}
	for _, command := range []string{"gofmt -l .", "go tool mcpgen ./...", "go vet ./...",
		"go test -vet=off " + strings.Join(slices.Compact(tested), " ")} {
		if out := testrepo.Output(t, dir, command); command == "gofmt -l ." && out != "" {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestHowtoExcerptsAreOfPrograms finds each part of a Go block without a package clause in a file
// of testdata/howto/PAGE. The parts stand between lines that end with "…". A signature may lack its
// body.
func TestHowtoExcerptsAreOfPrograms(t *testing.T) {
	trimmed := func(text string) string {
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(strings.TrimSpace(line), " {"); line != "" {
				kept.WriteString("\n" + line)
			}
		}
		return kept.String() + "\n"
	}
	programs := map[string]string{}
	for _, b := range blocks(t) {
		if b.language != "go" || packageClause.MatchString(b.text) {
			continue
		}
		if _, read := programs[b.page]; !read {
			files, err := filepath.Glob(filepath.Join("testdata", "howto", b.page, "*", "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				programs[b.page] += trimmed(string(text))
			}
		}
		for _, part := range regexp.MustCompile(`(?m)^.*…$`).Split(b.text, -1) {
			if part = trimmed(part); part != "\n" && !strings.Contains(programs[b.page], part) {
				t.Errorf("testdata/howto/%s has no excerpt%s", b.page, part)
			}
		}
	}
}

// TestHowtoFilesParse reads the YAML, the JSON and the shell commands of the how-to pages.
func TestHowtoFilesParse(t *testing.T) {
	for _, b := range blocks(t) {
		var err error
		switch b.language {
		case "json":
			err = json.Unmarshal([]byte(b.text), new(any))
		case "yaml":
			documents := yaml.NewDecoder(strings.NewReader(b.text))
			for err == nil {
				err = documents.Decode(new(any))
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
		case "sh":
			parser := exec.Command("sh", "-n")
			parser.Stdin = strings.NewReader(b.text)
			var out []byte
			if out, err = parser.CombinedOutput(); err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", b.page, err, b.text)
		}
	}
}

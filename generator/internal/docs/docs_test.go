package main

import (
	"go/ast"
	"go/constant"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestPagesAreCurrent leaves out the help of the commands in the quick run: that builds
// mcpgen-openapi and mcpgen-prove, with their libraries.
func TestPagesAreCurrent(t *testing.T) {
	if all := pages; testing.Short() {
		t.Cleanup(func() { pages = all })
		pages = slices.Clone(all)
		pages = slices.DeleteFunc(pages, func(p page) bool { return p.name == "command-line.md" })
	}
	if err := run(opened(t), true); err != nil {
		t.Error(err)
	}
}

var once = sync.OnceValues(func() (*repository, error) { return open("../../..") })

func opened(t *testing.T) *repository {
	t.Helper()
	r, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFillReplacesSectionsOnly(t *testing.T) {
	sections := map[string]section{"a": func(*repository) string { return "new\n" }}
	const page = "before\n<!-- a -->\nold\n<!-- /a -->\nafter\n"
	r := &repository{}
	got := fill(page, r, sections)
	if want := strings.Replace(page, "old", "new", 1); len(r.faults) > 0 || got != want {
		t.Errorf("got %q, %v", got, r.faults)
	}
	for _, page := range []string{"no section\n", page + "<!-- b -->\n<!-- /b -->\n"} {
		r := &repository{}
		if fill(page, r, sections); len(r.faults) == 0 {
			t.Errorf("no error for %q", page)
		}
	}
}

func TestHelpIsMarkdown(t *testing.T) {
	const help = "diff compares\ntwo files\n\ndiffs are:\n\n  - a\n\ndiff --lists compares lists."
	const want = "diff compares two files.\n\nDiffs are:\n\n```\n  - a\n```\n\n" +
		"diff --lists compares lists.\n\n"
	if got := paragraphs(help, "diff"); got != want {
		t.Errorf("got %q", got)
	}
}

func TestCommentsAreSplit(t *testing.T) {
	for comment, want := range map[string][2]string{
		"A bounds it. Zero is 5. More.": {"A bounds it. More.", "Zero is 5."},
		"A is a [Type]. Nil is none":    {"A is a `Type`.", "Nil is none."},
		"A is needed. Required.":        {"A is needed.", "Required."},
		"A has no such sentence":        {"A has no such sentence.", ""},
	} {
		if meaning, empty := split(comment); meaning != want[0] || empty != want[1] {
			t.Errorf("%q: got %q and %q", comment, meaning, empty)
		}
	}
}

func TestConstantsHaveTheirValues(t *testing.T) {
	r := opened(t)
	for name, want := range map[string]string{
		"defaultTaskTTL": "30m", "defaultRecheck": "1m", "defaultMaxBody": "4 MiB",
		"defaultMaxSessions": "1,024",
	} {
		v, timed := r.read("runtime").must(name)
		if got := shown(v, timed, name == "defaultMaxBody"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// The walk from New finds each error of the files that check options and toolsets.
func TestThePageOfStartsHasEveryError(t *testing.T) {
	r := opened(t)
	page := refusals("new", false)(r) + refusals("new", true)(r) + refusals("adopt", false)(r)
	s := body{source: r.read("runtime")}
	checked := 0
	for _, file := range s.Syntax {
		name := filepath.Base(s.Fset.Position(file.Pos()).Filename)
		if !slices.Contains([]string{"options.go", "groups.go", "compose.go"}, name) {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			noted := &startWalk{errors: map[string]string{}}
			if noted.note(s.message(call.Args[0])); len(noted.errors) != 1 {
				return true
			}
			for fault := range noted.errors {
				if strings.HasPrefix(types.ExprString(call.Fun), "p.add") && fault != "" {
					checked++
					if !strings.Contains(page, code(fault)) {
						t.Errorf("the page lacks %q", fault)
					}
				}
			}
			return true
		})
	}
	if checked < 20 {
		t.Errorf("only %d errors were found", checked)
	}
}

// Codes that packages other than wire make come from go-sdk's constants.
func TestTheReferenceHasEveryCodeOfTheRuntime(t *testing.T) {
	root := testrepo.Root(t)
	selector := regexp.MustCompile(`\b(?:jsonrpc|mcp)\.(Code[A-Z]\w+)`)
	own := regexp.MustCompile(`(?m)^\s*(code[A-Z]\w+) += `)
	used := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "runtime"), func(path string, d fs.DirEntry,
		err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range selector.FindAllSubmatch(text, -1) {
			used[string(m[1])] = true
		}
		if filepath.Base(filepath.Dir(path)) == "wire" {
			for _, m := range own.FindAllSubmatch(text, -1) {
				used[string(m[1])] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range protocolCodes {
		listed[c.name] = true
	}
	for _, c := range ownCodes {
		listed[c.name] = true
	}
	if !maps.Equal(used, listed) {
		t.Errorf("the runtime uses %v, and the table has %v", used, listed)
	}
	for _, c := range ownCodes { // JSON-RPC 2.0, section 5.1
		if v, _ := opened(t).read("runtime/internal/wire").value(c.name); v == nil {
			t.Error("there is no", c.name)
		} else if n, _ := constant.Int64Val(v); -32768 <= n && n <= -32000 {
			t.Errorf("%s is %d, which JSON-RPC reserves", c.name, n)
		}
	}
}

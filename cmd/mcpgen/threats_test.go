package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var (
	threatLine = regexp.MustCompile(`^(\d+)\. `)
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`)
	testName   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+(?:/[a-z0-9-]+)?)`")
)

// TestThreatsNameTheirTests checks that every numbered line of docs/explanation/threats.md names
// tests, and that every named test exists. `TestScenarios/x` is the file x.txtar of the runtime.
func TestThreatsNameTheirTests(t *testing.T) {
	root := testrepo.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "threats.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t, root)
	owned := 0
	for _, line := range items(string(text)) {
		number := threatLine.FindStringSubmatch(line)[1]
		named := testName.FindAllStringSubmatch(line, -1)
		if len(named) == 0 && !strings.Contains(line, "Not served yet") {
			t.Errorf("line %s names no test", number)
		}
		for _, n := range named {
			if !tests[n[1]] {
				t.Errorf("line %s names %s, which does not exist", number, n[1])
			}
		}
		if len(named) > 0 {
			owned++
		}
	}
	const mainJob = 21 // lines 1 to 4, 6 to 20, 23 and 29 of the threat list
	if owned < mainJob {
		t.Errorf("%d lines name tests, want at least %d", owned, mainJob)
	}
}

// items are the numbered items of a Markdown text, each on one line.
func items(text string) []string {
	var all []string
	open := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case threatLine.MatchString(line):
			all, open = append(all, line), true
		case open && strings.HasPrefix(line, "   "):
			all[len(all)-1] += " " + strings.TrimSpace(line)
		default:
			open = false
		}
	}
	return all
}

func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range testFunc.FindAllSubmatch(text, -1) {
			tests[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := filepath.Glob(filepath.Join(root, "runtime", "testdata", "scenario", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scenarios {
		tests["TestScenarios/"+strings.TrimSuffix(filepath.Base(path), ".txtar")] = true
	}
	return tests
}

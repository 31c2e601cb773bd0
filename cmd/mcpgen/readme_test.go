package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestReadmeIsShort holds the README to 8 kB, without comments, and to its order.
func TestReadmeIsShort(t *testing.T) {
	readme := regexp.MustCompile(`<!--.*?-->`).ReplaceAllString(page(t, "README.md"), "")
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

// TestReadmeStartsWithThreeCommands holds that the whole start stands before the first section: get
// it, see it, test it. The address of the clone is one word, which make fresh replaces.
func TestReadmeStartsWithThreeCommands(t *testing.T) {
	before, _, _ := strings.Cut(page(t, "README.md"), "\n## ")
	start := regexp.MustCompile("(?s)<!-- start -->\n```sh\n(.*?)\n```\n.*?\n```sh\n(.*?)\n```\n" +
		"<!-- /start -->\n").FindStringSubmatch(before)
	if start == nil {
		t.Fatalf("no start:\n%s", before)
	}
	var commands []string
	for command := range strings.SplitSeq(start[1], "\n") {
		command, _, _ = strings.Cut(command, " #")
		commands = append(commands, command)
	}
	want := []string{"git clone https://" + testrepo.Module + " && cd mcpgen", "make demo",
		"make test"}
	if !slices.Equal(commands, want) {
		t.Errorf("README.md starts with %q, want %q", commands, want)
	}
	for _, command := range []string{"mcpgen init ", "go run .", "make test"} {
		if !strings.Contains(start[2], command) {
			t.Errorf("a service of one's own does not need %q:\n%s", command, start[2])
		}
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

// TestQuestionsAreAnswered holds that the README links an answer to each question of a new user,
// directly, and that the page has the heading of the answer.
func TestQuestionsAreAnswered(t *testing.T) {
	readme := page(t, "README.md")
	for _, q := range []struct{ question, link, heading string }{
		{"How do I add a role?", "docs/howto/roles.md", "How do I add a role"},
		{"Why is my tool not listed?", "docs/howto/troubleshooting.md", "Why is my tool not listed"},
		{"How do I switch a tool off?", "docs/howto/catalogs.md", "Switch a tool off"},
		{"How do I call an API as the caller?", "docs/howto/calling-upstream.md",
			"Calling another service as the caller"},
		{"How do I test it?", "docs/howto/testing.md", "How do I test it"},
		{"How do I deploy it?", "docs/howto/systemd.md", "How do I deploy it with systemd"},
		{"What does MCP015 mean?", "docs/reference/diagnostics.md", "MCP015"},
		{"How do I connect Claude Code?", "docs/howto/clients.md", "Claude Code"},
		{"How do I migrate an AddTool server?", "docs/howto/existing-mcp-server.md", "1. Adopt"},
		{"What happens when the database is down?", "docs/howto/postgresql.md",
			"What happens when the database is down"},
		{"How do I rotate the audit key?", "docs/howto/audit.md", "How do I rotate the audit key"},
		{"What does a hidden tool answer?", "docs/explanation/security-model.md",
			"What a hidden tool returns"},
	} {
		if !strings.Contains(readme, "]("+q.link) {
			t.Errorf("%s README.md does not link %s", q.question, q.link)
		}
		text, err := os.ReadFile(filepath.Join(testrepo.Root(t), filepath.FromSlash(q.link)))
		if err != nil {
			t.Errorf("%s %v", q.question, err)
		} else if !strings.Contains(string(text), "# "+q.heading+"\n") {
			t.Errorf("%s %s has no heading %q", q.question, q.link, q.heading)
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

// TestManifestPageHasTheQuickStart compares the example of the page with the manifest of the quick
// start, from which the page leaves out tools.
func TestManifestPageHasTheQuickStart(t *testing.T) {
	_, rest, _ := strings.Cut(page(t, "docs/reference/manifest.md"), "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	type manifest = map[string]any
	var shown, served manifest
	if err := json.Unmarshal([]byte(example), &shown); err != nil {
		t.Fatal(err)
	}
	err := json.Unmarshal([]byte(page(t, "examples/quickstart/mcp.manifest.json")), &served)
	if err != nil {
		t.Fatal(err)
	}
	tools, all := shown["tools"].([]any), served["tools"].([]any)
	if len(tools) == 0 {
		t.Error("the example has no tool")
	}
	served["tools"] = slices.DeleteFunc(all, func(tool any) bool {
		return !slices.ContainsFunc(tools, func(one any) bool {
			return one.(manifest)["name"] == tool.(manifest)["name"]
		})
	})
	if !reflect.DeepEqual(shown, served) {
		t.Errorf("the page has\n%v\nand the example\n%v", shown, served)
	}
}

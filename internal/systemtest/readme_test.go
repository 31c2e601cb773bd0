package systemtest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var update = flag.Bool("update", false,
	"write what make demo and make tour print into golden files and the README")

// TestHowtoServerOfAnIssuerIsMade builds the server of docs/howto/oidc.md, and the adapters of
// docs/howto/mirroring-permissions.md. The server has a service user of the host.
func TestHowtoServerOfAnIssuerIsMade(t *testing.T) {
	root := testrepo.Root(t)
	dir := t.TempDir()
	if err := testrepo.WriteModule(root, "example.com/netops", dir,
		"examples/inventory", "runtime/identity/oidc"); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"netops_test.go": `package netops

import (
	"log/slog"
	"testing"
	"testing/fstest"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/runtime/capability/static"
)

func TestServerIsMade(t *testing.T) {
	inventory, err := dcim.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer inventory.Close()
	for user, made := range map[string]bool{"svc-nightly": true, "somebody": false} {
		host, err := static.OpenFS(fstest.MapFS{"a.yaml": {
			Data: []byte("users: {" + user + ": {}}")}}, "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		_, err = newServer(host, dcim.Toolset(inventory), slog.New(slog.DiscardHandler))
		if (err == nil) != made {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func TestAdaptersAreMadeWithoutAConnection(t *testing.T) {
	if _, err := djangoHost(); err != nil {
		t.Error(err)
	}
	if _, err := netboxHost(); err != nil {
		t.Error(err)
	}
	t.Setenv("MCP_TOKEN", "a token of at least thirty-two bytes")
	if _, err := codeHost(); err != nil {
		t.Error(err)
	}
}
`}
	for name, page := range map[string]string{"oidc": "docs/howto/oidc.md",
		"adapter": "docs/howto/mirroring-permissions.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(text), "<!-- "+name+" -->\n```go\n")
		snippet, _, closed := strings.Cut(rest, "```\n<!-- /"+name+" -->")
		if !found || !closed {
			t.Fatalf("%s has no Go example %q", page, name)
		}
		files[name+".go"] = snippet
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"gofmt -l .", "go vet ./...", "go test ./..."} {
		if out := testrepo.Output(t, dir, command); command == "gofmt -l ." && out != "" {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestDemoAndTourPrintTheirGoldenOutput compares what `make demo` and `make tour` print with golden
// files. The README has the first two paragraphs of the demo.
func TestDemoAndTourPrintTheirGoldenOutput(t *testing.T) {
	root, bin := testrepo.Root(t), filepath.Dir(program(t, "demo"))
	run := func(name string, arguments ...string) string {
		words := append([]string{filepath.Join(bin, name)}, arguments...)
		return testrepo.Output(t, root, "env", words...)
	}

	demo := run("demo", filepath.Join(bin, "mcpgen"))
	compare(t, "demo.golden", demo)
	lines := strings.Split(demo, "\n")
	for _, line := range lines {
		if len(line) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if len(lines) > 60 {
		t.Errorf("%d lines", len(lines))
	}
	start, _, _ := strings.Cut(demo, "\n\n2. ")
	testrepo.Section(t, *update, "README.md", "demo", "```\n$ make demo\n"+start+"\n```\n")

	compare(t, "tour.golden", strings.Join([]string{run("tour", filepath.Join(bin, "team")),
		run("mcpgen", "matrix", "./examples/team/..."),
		run("visit", filepath.Join(bin, "inventory")),
		run("flow", filepath.Join(bin, "workspace"))}, "\n"))
}

// random matches what differs between runs: dates, and identifiers of chains.
var random = regexp.MustCompile(`\d{4}-\d\d-\d\d|\b[0-9a-f]{32}\b`)

// compare compares an output with a file in examples/testdata.
func compare(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join(testrepo.Root(t), "examples", "testdata", name)
	got = random.ReplaceAllLiteralString(got, "*")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the output is\n%s\nwant\n%s\nIf it is right, run this test with -update.", got,
			want)
	}
}

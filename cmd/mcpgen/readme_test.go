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
	"github.com/mcpgen/mcpgen/generator/schema"
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
	for _, command := range []string{"go generate ./...", "gofmt -l .", "go build ./...",
		"go vet ./...", "go test ./...", "go tool mcpgen check ./..."} {
		if out := output(t, dir, command); command == "gofmt -l ." && out != "" {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestReadmeServerOfAnIssuerIsMade builds the README's examples of runtime/identity/oidc and of the
// adapters over databases, and the source over HTTP of docs/howto/mirroring-permissions.md. It
// makes a server with a service user of the host.
func TestReadmeServerOfAnIssuerIsMade(t *testing.T) {
	root := repository(t)
	dir := t.TempDir()
	if err := writeModule(root, "example.com/netops", dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"netops_test.go": `package netops

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/static"
)

var _ capability.Source = endpoint{}

func TestSourceOverHTTPDeniesWithAnError(t *testing.T) {
	replies := map[string]func(http.ResponseWriter){
		"ada": func(w http.ResponseWriter) {
			io.WriteString(w, "{\"id\":\"7\",\"permissions\":[\"dcim.view_device\"]}")
		},
		"o/k?":   func(w http.ResponseWriter) { io.WriteString(w, "{\"id\":\"8\"}") },
		"broken": func(w http.ResponseWriter) { w.WriteHeader(500) },
		"torn": func(w http.ResponseWriter) {
			io.WriteString(w, "{\"permissions\":[\"dcim.view_device\"")
		},
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := replies[r.URL.Path[len("/mcp-permissions/"):]]
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(401)
		} else if reply == nil {
			w.WriteHeader(404)
		} else {
			reply(w)
		}
	}))
	defer host.Close()
	e := endpoint{host.URL + "/mcp-permissions/", "secret", host.Client()}
	for user, want := range map[string]struct {
		id               string
		has, fails, none bool
	}{
		"ada": {"7", true, false, false}, "o/k?": {"8", false, false, false},
		"broken": {"", false, true, false}, "torn": {"", false, true, false},
		"bob": {"", false, true, true}, "": {"", false, true, true},
	} {
		p := access.Principal{User: user}
		set, err := e.Capabilities(t.Context(), p)
		if set.Has("dcim.view_device") != want.has || (err != nil) != want.fails ||
			errors.Is(err, capability.ErrNoUser) != want.none {
			t.Errorf("%s: %v, %v", user, set, err)
		}
		if u, err := e.Resolve(t.Context(), p); u.ID != want.id || (err != nil) != want.fails {
			t.Errorf("%s: %v, %v", user, u, err)
		}
	}
	e.token = "other"
	_, err := e.Capabilities(t.Context(), access.Principal{User: "ada"})
	if err == nil || errors.Is(err, capability.ErrNoUser) {
		t.Error(err)
	}
	if got, err := e.MapAction("dcim.view_device"); got != "dcim.view_device" || err != nil {
		t.Error(got, err)
	}
	if _, err := e.MapAction("view_device"); err == nil {
		t.Error("a permission without an app was accepted")
	}
}

func TestServerIsMade(t *testing.T) {
	inventory, err := dcim.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer inventory.Close()
	for user, made := range map[string]bool{"svc-nightly": true, "somebody": false} {
		host, err := static.OpenFS(fstest.MapFS{"a.yaml": {Data: []byte("users: {" + user + ": {}}")}}, "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newServer(host, dcim.Toolset(inventory), slog.New(slog.DiscardHandler)); (err == nil) != made {
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
}
`}
	for name, page := range map[string]string{"oidc": "README.md", "adapter": "README.md",
		"source": "docs/howto/mirroring-permissions.md"} {
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
		if out := output(t, dir, command); command == "gofmt -l ." && out != "" {
			t.Errorf("%s: %s", command, out)
		}
	}
}

// TestReadmeShowsTheDemo holds the README to what `make demo` prints, moments aside.
func TestReadmeShowsTheDemo(t *testing.T) {
	root := repository(t)
	bin := t.TempDir()
	output(
		t, root, "go build -o "+bin+
			" ./examples/team ./examples/team/tour ./examples/inventory "+
			"./examples/inventory/visit ./examples/workspace ./examples/workspace/flow "+
			"./cmd/mcpgen")
	demo := output(t, root, filepath.Join(bin, "tour")+" "+filepath.Join(bin, "team")) + "\n" +
		output(t, root, filepath.Join(bin, "mcpgen")+" matrix ./examples/team/...") + "\n" +
		output(t, root, filepath.Join(bin, "visit")+" "+filepath.Join(bin, "inventory")) + "\n" +
		output(t, root, filepath.Join(bin, "flow")+" "+filepath.Join(bin, "workspace"))
	section(t, "README.md", "demo", "```\n$ make demo\n"+demo+"```\n")
}

// TestReadmeListsTheDirectives holds the README to the table that parses them.
func TestReadmeListsTheDirectives(t *testing.T) {
	var b strings.Builder
	b.WriteString("| directive | stands on | says |\n|---|---|---|\n")
	for _, s := range directive.Specs() {
		b.WriteString("| `" + strings.ReplaceAll(s.Synopsis(), "|", `\|`) + "` | " + s.Where() +
			" | " + s.Says + " |\n")
	}
	section(t, "README.md", "directives", b.String())
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
	section(t, filepath.Join("docs", "schemas.md"), "rules", b.String())
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d(T[\d:]+)?`)

// section compares what stands between two markers of a page; -update writes it.
func section(t *testing.T, page, name, want string) {
	t.Helper()
	file := filepath.Join(repository(t), page)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	opening, closing := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(text, opening)
	got, after, closed := strings.Cut(rest, closing)
	if !found || !closed {
		t.Fatalf("%s has no section %q", page, name)
	}
	if moment.ReplaceAllString(got, "") == moment.ReplaceAllString(want, "") {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+opening+want+closing+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not true; run this test with -update.\nIt says:\n%s\nbut it is:\n%s", page, got,
		want)
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(t), "README.md"))
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

// TestReadmeQuotesTheTeamExample holds the directives and signatures that the README shows of the
// example to those that the example has.
func TestReadmeQuotesTheTeamExample(t *testing.T) {
	_, rest, found := strings.Cut(readme(t), "From the team example:\n\n```go\n")
	quoted, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README quotes nothing of the team example")
	}
	source, err := os.ReadFile(filepath.Join(
		repository(t), "examples", "team", "directory", "resources.go"))
	if err != nil {
		t.Fatal(err)
	}
	for declaration := range strings.SplitSeq(strings.TrimSpace(quoted), "\n\n") {
		if !strings.Contains(string(source), declaration+" {\n") {
			t.Errorf("the example has no\n%s", declaration)
		}
	}
}

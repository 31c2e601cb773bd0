package main

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/internal/testserver"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// passed are the checks of the suite that have to pass, by protocol version, out of those that the
// version requires and those of its extensions. A check that is required fails only if
// expected-failures.yaml contains it.
var passed = map[string]int{"2025-11-25": 84, "2026-07-28": 197}

// TestConformance runs the server scenarios of the official suite, which make npm installs, on
// one endpoint for all versions.
func TestConformance(t *testing.T) {
	run := suite(t)
	quiet := runtime.Options{Logger: slog.New(slog.DiscardHandler)}
	public, err := newServer(quiet)
	if err != nil {
		t.Fatal(err)
	}
	const token = "a-token-of-the-conformance-suite"
	lists := &Lists{host: &host{allows: map[string]bool{}}}
	quiet.Identity = identity.Static(map[string]access.Principal{identity.HashToken(token): {
		Subject: caller.Subject, User: caller.User, Roles: []string{"Member"}}})
	guarded, err := serverOf(quiet, lists, forMembers(Toolset(lists)))
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]*runtime.Server{"public": public, "bearer": guarded} {
		web := httptest.NewServer(server.Handler())
		defer web.Close()
		endpoint := web.URL
		if name == "bearer" {
			refusesWithoutToken(t, web.URL+"/mcp")
			endpoint = withToken(t, web.URL, token)
		}
		for version, want := range passed {
			t.Run(name+"/"+version, func(t *testing.T) {
				var r report
				for range attempts {
					r = run(t, endpoint+"/mcp", version, "--expected-failures", "expected-failures.yaml")
					if r.err == nil && r.passed >= want {
						t.Logf("%d passed, %d failed", r.passed, r.failed)
						return
					}
				}
				t.Errorf("%v: %d checks passed, want %d:\n%s", r.err, r.passed, want, r.output)
			})
		}
	}
}

// forMembers returns a toolset that serves the same to members, and nothing to others.
func forMembers(set toolset.Toolset) toolset.Toolset {
	g := set.Generated()
	g.Table.Roles = access.DefaultRoles()
	for _, rules := range [][]access.Rule{g.Table.Rules, g.Table.Prompts, g.Table.Resources} {
		for i := range rules {
			rules[i].Public, rules[i].MinRole = false, []string{"Member"}
			if !rules[i].Permission.Required() {
				rules[i].Permission = access.NoPermission()
			}
		}
	}
	return toolset.NewToolset(g)
}

// withToken returns the URL of a proxy that adds a token: the suite cannot send one.
func withToken(t *testing.T, target, token string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the server checks it
			r.Out.Header.Set("Authorization", "Bearer "+token)
		}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func refusesWithoutToken(t *testing.T, endpoint string) {
	t.Helper()
	res, err := http.Post(endpoint, "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a caller without a token gets %s", res.Status)
	}
}

// TestAdoptedConformance compares go-sdk's own conformance server, which needs two processes for
// all versions, with the same server behind [runtime.Adopt], on one endpoint. In no scenario may
// the latter pass fewer checks.
func TestAdoptedConformance(t *testing.T) {
	run := suite(t)
	bin := t.TempDir()
	const bare = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", bare).Output()
	if err != nil {
		t.Fatal(err)
	}
	server, main := filepath.Join(bin, "server.go"), filepath.Join(bin, "main.go")
	copied(t, filepath.Join(strings.TrimSpace(string(folder)), "main.go"), server,
		"func main() {", "func bare() {", "http.ListenAndServe(", "listenAndServe(")
	copied(t, filepath.Join("testdata", "adopted", "main.go"), main)
	program := filepath.Join(bin, "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, server, main)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	adopted := start(t, program, "-adopt")
	for version := range passed {
		t.Run(version, func(t *testing.T) {
			stateless := "-stateless=" + strconv.FormatBool(version == "2026-07-28")
			alone := run(t, start(t, program, stateless), version)
			var guarded report
			var worse []string
			for range attempts {
				guarded, worse = run(t, adopted, version), nil
				for _, name := range slices.Sorted(maps.Keys(alone.scenarios)) {
					a, g := alone.scenarios[name], guarded.scenarios[name]
					if g.passed < a.passed || g.failed > a.failed {
						worse = append(worse, fmt.Sprintf("%s: alone %+v, adopted %+v", name, a, g))
					}
				}
				if worse == nil {
					break
				}
			}
			if worse != nil {
				t.Error(strings.Join(worse, "\n"))
			}
			t.Logf("alone %d passed, %d failed; adopted %d passed, %d failed", alone.passed, alone.failed,
				guarded.passed, guarded.failed)
		})
	}
}

// counts are how many checks have passed and failed.
type counts struct{ passed, failed int }

// report is what the suite reports.
type report struct {
	counts
	scenarios map[string]counts
	output    string
	err       error // a check failed or has a warning, and is not an expected failure
}

// attempts is how often the suite runs at most. Its scenario server-stateless waits one second for
// events, and reports a warning if a busy machine takes longer.
const attempts = 3

var scenarioLine = regexp.MustCompile(`(?m)^(?:[✓✗] (\S+)|Total): (\d+) passed, (\d+) failed`)

// suite returns the func that runs the suite. It fails the test if the suite has not run.
func suite(t *testing.T) func(*testing.T, string, string, ...string) report {
	testdb.Full(t, "an npm package")
	index, node := testdb.Npm(t, "@modelcontextprotocol/conformance/dist/index.js")
	return func(t *testing.T, endpoint, version string, options ...string) report {
		cmd := exec.CommandContext(t.Context(), node, append([]string{index, "server",
			"--url", endpoint, "--requirements", version}, options...)...)
		out, err := cmd.CombinedOutput()
		r := report{scenarios: map[string]counts{}, output: string(out), err: err}
		for _, line := range scenarioLine.FindAllStringSubmatch(r.output, -1) {
			var c counts
			c.passed, _ = strconv.Atoi(line[2])
			c.failed, _ = strconv.Atoi(line[3])
			if line[1] == "" {
				r.counts = c
			} else {
				r.scenarios[line[1]] = c
			}
		}
		if r.passed == 0 {
			t.Fatalf("%v:\n%s", err, out)
		}
		return r
	}
}

// copied copies a source file, with replaced parts.
func copied(t *testing.T, from, to string, replaced ...string) {
	t.Helper()
	source, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(replaced...).Replace(string(source))
	if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the server until the test ends, and returns its URL.
func start(t *testing.T, program string, flags ...string) string {
	t.Helper()
	cmd := exec.Command(program, append(flags, "-http", "127.0.0.1:0")...)
	return testserver.Run(t, cmd).Base + "/mcp"
}

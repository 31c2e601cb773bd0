package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/internal/testserver"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/sandbox"
)

const served = "WORKSPACE_SERVE"

func TestMain(m *testing.M) {
	sandbox.Main()
	if args := os.Getenv(served); args != "" {
		if err := run(context.Background(), strings.Split(args, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is the example as a process of its own.
type process struct {
	*testserver.Process
	data string
}

// start runs the example over files of the test's.
func start(t testing.TB, args ...string) process {
	t.Helper()
	data := t.TempDir()
	for name, text := range map[string]string{"public/hello.txt": "hello",
		"files/plan.md": "the plan", "files/secret/key.md": "the key"} {
		name = filepath.Join(data, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return process{testserver.Start(t, served, append([]string{"-data", data}, args...)...), data}
}

func (p process) must(t testing.TB, want int, caller, method, path string,
	body any) map[string]any {
	t.Helper()
	return p.Must(t, want, "demo-"+caller, method, path, body)
}

// callText is the result of a call: its text, and "!" before it where it is an error.
func callText(t testing.TB, session *mcp.ClientSession, tool string, arguments any) string {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	if res.IsError {
		return "!" + mcptest.Text(res)
	}
	return mcptest.Text(res)
}

type arguments = map[string]any

// page is a web server of the test's, and how tools name it.
func page(t testing.TB) (address, host string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a page")
	}))
	t.Cleanup(web.Close)
	u, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	return web.URL + "/", u.Host
}

// wanted are calls that nobody is granted by default, with what grants them and what comes of them
// then.
func wanted(t testing.TB) []struct {
	tool, kind, resource string
	arguments            arguments
	named, granted       string
} {
	address, host := page(t)
	return []struct {
		tool, kind, resource string
		arguments            arguments
		named, granted       string
	}{
		{"read_file", "file.read", "files/*.md", arguments{"path": "files/plan.md"},
			"files/plan.md", `"the plan"`},
		{"write_file", "file.write", "files/new.md", arguments{"path": "files/new.md",
			"text": "new"}, "files/new.md", `{"path":"files/new.md","bytes":3}`},
		{"list_files", "file.read", "files/secret", arguments{"path": "files/secret"},
			"files/secret", `[{"name":"key.md"}]`},
		{"run_command", "system.command", "tr a-z *",
			arguments{"argv": []string{"tr", "a-z", "A-Z"}}, "tr a-z A-Z",
			`{"output":"","code":0}`},
		{"fetch_url", "net.connect", host, arguments{"url": address}, address,
			`{"status":200,"type":"text/plain; charset=utf-8","text":"a page"}`},
	}
}

// TestWholeFlow takes each tool from refused to requested, approved, working, revoked and refused
// again, on both engines: what is decided in the console counts for the next call.
func TestWholeFlow(t *testing.T) {
	for engine, database := range testdb.Stores {
		t.Run(engine, func(t *testing.T) {
			p := start(t, "-store", database(t))
			for _, w := range wanted(t) {
				robin := mcptest.Connect(t, p.Base+"/mcp", "demo-robin", "")
				kim := mcptest.Connect(t, p.Base+"/mcp", "demo-kim", "")
				refused := fmt.Sprintf(
					"!permission_denied: %s %q: no grant allows it; request it with the tool request_permission",
					w.kind, w.named)
				restricted, fields := true, url.Values{"resource": {w.resource}, "note": {"fine"},
					"lasts": {"8h"}}
				if strings.HasPrefix(w.kind, "file.") { // tools that are not isolated
					refused += " and restricted=false"
					restricted = false
					fields.Set("unrestricted", "on")
				}
				if got := callText(t, robin, w.tool, w.arguments); got != refused {
					t.Fatalf("%s before: %s", w.tool, got)
				}
				var asked struct{ ID, Status string }
				answer := callText(t, robin, "request_permission", arguments{"type": w.kind,
					"resource": w.resource, "restricted": restricted, "reason": "for the report",
					"tool": w.tool})
				if err := json.Unmarshal([]byte(answer), &asked); err != nil ||
					asked.Status != "open" {
					t.Fatalf("%s: %s, %v", w.tool, answer, err)
				}
				p.console(t, "/requests/"+asked.ID+"/approve", fields)
				if got := callText(t, robin, w.tool, w.arguments); got != w.granted {
					t.Fatalf("%s, approved: %s", w.tool, got)
				}
				if got := callText(t, kim, w.tool, w.arguments); got != refused {
					t.Errorf("%s, by somebody else: %s", w.tool, got)
				}
				if got := callText(t, robin, "list_permissions", nil); !strings.Contains(got,
					fmt.Sprintf(`"resource":%q,"restricted":%t`, w.resource, restricted)) ||
					!strings.Contains(got, `"status":"approved"`) ||
					!strings.Contains(got, fmt.Sprintf(`{"name":%q,"allow":[{"kind":%q,`, w.tool,
						w.kind)) ||
					!strings.Contains(got, `"granted":true`) {
					t.Errorf("%s: %s", w.tool, got)
				}
				p.must(t, 200, "olga", "POST", "/admin/mcp/grants/revoke",
					arguments{"issuer": "workspace", "client": "robin", "type": w.kind,
						"resource": w.resource, "reason": "done"})
				if got := callText(t, robin, w.tool, w.arguments); got != refused {
					t.Errorf("%s, revoked: %s", w.tool, got)
				}
			}
			p.audited(t)
		})
	}
}

// console posts a form of the console as olga.
func (p process) console(t testing.TB, path string, form url.Values) {
	t.Helper()
	req, err := http.NewRequest("POST", p.Base+"/console"+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.AddCookie(&http.Cookie{Name: "mcpgen-console", Value: "demo-olga"})
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s: %s", path, res.Status)
	}
}

// audited holds the trail of the flow against what happened.
func (p process) audited(t testing.TB) {
	t.Helper()
	events := p.must(t, 200, "olga", "GET", "/admin/audit/events?limit=200", nil)["items"].([]any)
	count := map[string]int{}
	for _, item := range events {
		e := item.(map[string]any)["event"].(map[string]any)
		count[fmt.Sprint(e["event_type"], " ", e["status"], " ", e["failure"], " ",
			e["axis"], " ", e["action"])]++
	}
	for what, want := range map[string]int{"tool_called failed denied grant <nil>": 15,
		"changed success <nil> <nil> request permission": 5,
		"changed success <nil> <nil> approve request":    5,
		"changed success <nil> <nil> revoke permission":  5} {
		if count[what] != want {
			t.Errorf("%d events %q, want %d of %v", count[what], what, want, count)
		}
	}
}

func TestDefaultsAreEverybodys(t *testing.T) {
	p := start(t)
	for _, user := range []string{"robin", "kim", "olga"} {
		session := mcptest.Connect(t, p.Base+"/mcp", "demo-"+user, "")
		for _, test := range []struct {
			tool      string
			arguments arguments
			want      string
		}{
			{"read_file", arguments{"path": "public/hello.txt"}, `"hello"`},
			{"list_files", arguments{"path": "public"}, `[{"name":"hello.txt"}]`},
			{"run_command", arguments{"argv": []string{"echo", "a;", "b"}},
				`{"output":"a; b\n","code":0}`},
			{"write_file", arguments{"path": "public/hello.txt", "text": ""},
				`!permission_denied: file.write "public/hello.txt"`},
			{"read_file", arguments{"path": "public/../files/plan.md"},
				`!permission_denied: file.read`},
			{"run_command", arguments{"argv": []string{"sh", "-c", "echo"}},
				`!permission_denied: system.command`},
			{"fetch_url", arguments{"url": "https://example.com/"},
				`!permission_denied: net.connect`},
		} {
			if got := callText(t, session, test.tool, test.arguments); !strings.HasPrefix(got,
				test.want) {
				t.Errorf("%s: %s %v: %s, want %s", user, test.tool, test.arguments, got, test.want)
			}
		}
	}
}

// TestCommandsHaveADirectoryOfTheirOwn: what a client leaves is there in its next call, and in
// nobody else's.
func TestCommandsHaveADirectoryOfTheirOwn(t *testing.T) {
	p := start(t)
	for _, user := range []string{"robin", "kim"} {
		p.must(t, 201, "olga", "POST", "/admin/mcp/grants", arguments{"issuer": "workspace",
			"client": user, "type": "system.command", "resource": "touch *", "reason": "test"})
		p.must(t, 201, "olga", "POST", "/admin/mcp/grants", arguments{"issuer": "workspace",
			"client": user, "type": "system.command", "resource": "ls **", "reason": "test"})
		session := mcptest.Connect(t, p.Base+"/mcp", "demo-"+user, "")
		if got := callText(t, session, "run_command",
			arguments{"argv": []string{"touch", "mark-of-" +
				user}}); got != `{"output":"","code":0}` {
			t.Fatal(got)
		}
		if got := callText(t, session, "run_command",
			arguments{"argv": []string{"ls"}}); got != fmt.Sprintf(
			`{"output":"mark-of-%s\n","code":0}`, user) {
			t.Error(got)
		}
		// The server's own files are out of reach, whatever the grant on the command.
		if got := callText(t, session, "run_command",
			arguments{"argv": []string{"ls", p.data}}); !strings.Contains(got,
			"Permission denied") {
			t.Error(got)
		}
	}
}

func TestToolsAreListedToAgents(t *testing.T) {
	p := start(t)
	want := []string{"clear_workspace", "fetch_url", "list_files", "list_permissions", "read_file",
		"request_permission", "run_command", "write_file"}
	if got := mcptest.Tools(t, mcptest.Connect(t, p.Base+"/mcp", "demo-robin",
		"")); !slices.Equal(got, want) {
		t.Error(got)
	}
}

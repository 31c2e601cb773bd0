// Package grafana_test compares github.com/grafana/mcp-grafana, which is built on mcp-go, with the
// port of its tools to mcpgen in package ported.
package grafana_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/testdata/adopters/grafana/original"
	"github.com/mcpgen/mcpgen/testdata/adopters/grafana/ported"
)

// serviceAccount is the token for Grafana that belongs to each caller of the port.
const serviceAccount = "glsa_of_the_caller"

var update = flag.Bool("update", false, "write testdata/lists.golden")

// repository is the root of it.
var repository = filepath.Join("..", "..", "..")

// service is both servers in front of one Grafana.
type service struct {
	upstream *upstream
	original *mcp.ClientSession
	server   *runtime.Server
	ported   string // its URL
}

func start(t *testing.T) service {
	s := service{upstream: newUpstream(t)}
	t.Setenv("GRAFANA_URL", s.upstream.URL)
	old := httptest.NewServer(original.Handler())
	t.Cleanup(old.Close)
	s.original = connect(t, old.URL+"/mcp")
	server, err := runtime.New(runtime.Options{
		Identity: identity.Bearer(verify),
		Logger:   slog.New(slog.DiscardHandler),
		Texts:    runtime.TextOptions{Descriptions: ported.Descriptions()},
	}, ported.Toolset(ported.New(s.upstream.URL)))
	if err != nil {
		t.Fatal(err)
	}
	s.server, s.ported = server, mcptest.Serve(t, server)
	return s
}

// verify takes the name of a role for a token. Each caller has a token for Grafana of its own.
func verify(_ context.Context, token string) (identity.Identity, error) {
	role, other := strings.CutSuffix(token, "-elsewhere")
	value := serviceAccount
	if other {
		value = "glsa_of_another"
	}
	return identity.Identity{
		Principal: access.Principal{Issuer: "test", Subject: token, Roles: []string{role}},
		Value:     identity.NewValue(identity.NewToken(value)),
	}, nil
}

// connect is a stock client of the original, with the token for Grafana in a header.
func connect(t *testing.T, url string) *mcp.ClientSession {
	client := mcp.NewClient(&mcp.Implementation{Name: "adopter", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: header{}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type header struct{}

func (header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Grafana-Service-Account-Token", serviceAccount)
	return http.DefaultTransport.RoundTrip(r)
}

// calls has at least one call of each tool of the port.
var calls = []struct {
	tool, args string
	fails      bool
}{
	{tool: "search_dashboards", args: `{"query":"cpu","limit":1}`},
	{tool: "search_folders", args: `{"query":"ops"}`},
	{tool: "search_folders", args: `{}`},
	{tool: "create_folder", args: `{"title":"Lab","uid":"lab"}`},
	{tool: "create_folder", args: `{"title":""}`, fails: true},
	{tool: "list_teams", args: `{"query":"comp"}`},
	{tool: "list_teams", args: `{}`},
	{tool: "list_users_by_org", args: `{}`},
	{tool: "list_all_roles", args: `{"delegatableOnly":true}`},
	{tool: "list_all_roles", args: `{}`},
	{tool: "get_role_details", args: `{"roleUID":"r1"}`},
	{tool: "get_role_details", args: `{"roleUID":"unknown"}`, fails: true},
	{tool: "get_role_assignments", args: `{"roleUID":"r1"}`},
	{tool: "list_user_roles", args: `{"userIds":[1,2]}`},
	{tool: "list_team_roles", args: `{"teamIds":[3]}`},
	{tool: "get_resource_permissions", args: `{"resource":"dashboards","resourceId":"cpu"}`},
	{tool: "get_resource_description", args: `{"resourceType":"dashboards"}`},
	{tool: "get_annotations", args: `{"from":1,"to":1700000000001,"tags":["ci","x"],"matchAny":true}`},
	{tool: "create_annotation", args: `{"text":"deploy","time":1700000000000,"data":{"a":[1]}}`},
	{tool: "create_annotation", args: `{"format":"graphite","what":"deploy","when":170}`},
	{tool: "create_annotation", args: `{"tags":["ci"]}`, fails: true},
	{tool: "update_annotation", args: `{"id":9,"text":"rollback","timeEnd":5}`},
	{tool: "update_annotation", args: `{"id":8,"text":"rollback"}`, fails: true},
	{tool: "get_annotation_tags", args: `{"tag":"ci","limit":"5"}`},
	{tool: "list_datasources", args: `{"type":"LOKI","limit":5}`},
	{tool: "list_datasources", args: `{}`},
	{tool: "get_datasource", args: `{"uid":"prom"}`},
	{tool: "get_datasource", args: `{}`, fails: true},
	{tool: "generate_deeplink", args: `{"resourceType":"panel","dashboardUid":"cpu","panelId":1,
		"timeRange":{"from":"now-1h","to":"now"}}`},
	{tool: "get_dashboard_by_uid", args: `{"uid":"cpu"}`},
	{tool: "get_dashboard_by_uid", args: `{"uid":"unknown"}`, fails: true},
	{tool: "get_dashboard_summary", args: `{"uid":"cpu"}`},
	{tool: "get_dashboard_property", args: `{"uid":"cpu","jsonPath":"$.panels[*].title"}`},
	{tool: "get_dashboard_panel_queries", args: `{"uid":"cpu","variables":{"host":"a"}}`},
	{tool: "update_dashboard", args: `{"uid":"cpu","message":"m","operations":[
		{"op":"replace","path":"$.title","value":"CPU 2"}]}`},
	{tool: "update_dashboard", args: `{"uid":"cpu"}`, fails: true},
	{tool: "list_snapshots", args: `{"query":"before","limit":3}`},
	{tool: "get_snapshot", args: `{"key":"k5"}`},
	{tool: "create_snapshot", args: `{"dashboard":{"title":"CPU"},"expires":3600}`},
	{tool: "delete_snapshot", args: `{"key":"k5"}`},
	{tool: "delete_snapshot", args: `{"key":"unknown"}`, fails: true},
	{tool: "user_info", args: `{}`},
}

// TestCalls calls each tool of both servers with the same arguments. The texts of the results are
// equal, byte for byte, and so are the requests to Grafana, the caller's token included.
func TestCalls(t *testing.T) {
	s := start(t)
	session := mcptest.Connect(t, s.ported, "Admin", "")
	called := map[string]bool{}
	for _, c := range calls {
		called[c.tool] = true
		t.Run(c.tool, func(t *testing.T) {
			params := &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.args)}
			s.upstream.take()
			want, err := s.original.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			requests := s.upstream.take()
			got, err := session.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if got.IsError != want.IsError || want.IsError != c.fails {
				t.Errorf("error %v, the original has %v, want %v", got.IsError, want.IsError, c.fails)
			}
			if g, w := text(t, got), text(t, want); g != w {
				t.Errorf("text\n%s\nthe original has\n%s", g, w)
			}
			if got.StructuredContent != nil || want.StructuredContent != nil {
				t.Errorf("structured content %v and %v", got.StructuredContent, want.StructuredContent)
			}
			if now := s.upstream.take(); !slices.Equal(now, requests) {
				t.Errorf("requests\n%s\nthe original sends\n%s",
					strings.Join(now, "\n"), strings.Join(requests, "\n"))
			}
		})
	}
	for _, name := range mcptest.Tools(t, session) {
		if !called[name] {
			t.Errorf("no call of %s", name)
		}
	}
	if len(called) < 15 {
		t.Errorf("%d tools are compared", len(called))
	}
}

func text(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("%d contents", len(result.Content))
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// TestRoles: a caller lists and calls the tools of its role. A call of another tool has the answer
// of a tool that does not exist, and no request reaches Grafana.
func TestRoles(t *testing.T) {
	s := start(t)
	all := mcptest.Tools(t, mcptest.Connect(t, s.ported, "Admin", ""))
	for role, denied := range map[string][]string{
		"Viewer": {
			"create_annotation", "create_folder", "create_snapshot", "delete_snapshot",
			"get_datasource", "get_resource_description", "get_resource_permissions",
			"get_role_assignments", "get_role_details", "list_all_roles", "list_team_roles",
			"list_user_roles", "list_users_by_org", "update_annotation", "update_dashboard",
		},
		"Member": {
			"get_resource_description", "get_resource_permissions", "get_role_assignments",
			"get_role_details", "list_all_roles", "list_team_roles", "list_user_roles",
			"list_users_by_org",
		},
		"Admin": nil,
	} {
		session := mcptest.Connect(t, s.ported, role, "")
		listed := mcptest.Tools(t, session)
		for _, name := range all {
			if slices.Contains(listed, name) == slices.Contains(denied, name) {
				t.Errorf("%s lists %q, denied %q", role, listed, denied)
				break
			}
		}
		s.upstream.take()
		for _, name := range denied {
			unknown := strings.Repeat("x", len(name))
			got, want := refusal(t, session, name), refusal(t, session, unknown)
			if got != strings.ReplaceAll(want, unknown, name) {
				t.Errorf("%s calls %s: %s, an unknown tool has %s", role, name, got, want)
			}
		}
		if requests := s.upstream.take(); len(requests) > 0 {
			t.Errorf("%s: requests %q", role, requests)
		}
	}
}

func refusal(t *testing.T, session *mcp.ClientSession, tool string) string {
	t.Helper()
	result, err := session.CallTool(t.Context(),
		&mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(`{}`)})
	if err == nil {
		t.Fatalf("%s is called: %v", tool, result)
	}
	return err.Error()
}

// TestCredential: calls of Grafana have the token of the caller, not of another one.
func TestCredential(t *testing.T) {
	s := start(t)
	params := &mcp.CallToolParams{Name: "list_teams", Arguments: json.RawMessage(`{"query":""}`)}
	for caller, token := range map[string]string{
		"Viewer": serviceAccount, "Viewer-elsewhere": "glsa_of_another",
	} {
		session := mcptest.Connect(t, s.ported, caller, "")
		s.upstream.take()
		result, err := session.CallTool(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		requests := s.upstream.take()
		if len(requests) != 1 || !strings.Contains(requests[0], " Bearer "+token+" ") {
			t.Errorf("%s: requests %q", caller, requests)
		}
		if strings.Contains(text(t, result), token) {
			t.Errorf("%s: the result has the token: %s", caller, text(t, result))
		}
	}
}

// TestLists compares both lists of the ported tools, as they are sent. The port has output=none.
func TestLists(t *testing.T) {
	s := start(t)
	admin := access.Principal{Issuer: "test", Subject: "Admin", Roles: []string{"Admin"}}
	now := listOver(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return s.server.RunIO(ctx, in, out, admin)
	})
	old := originalList(t)
	for name := range old {
		if now[name] == nil {
			delete(old, name)
		}
	}
	dir := t.TempDir()
	compare(t, write(t, dir, "old.json", old), write(t, dir, "now.json", now), "lists.golden")
}

// TestWholeList imports all tools of the original, and fills in a rule. It compares the list of the
// server that mcpgen makes of them.
func TestWholeList(t *testing.T) {
	all := originalList(t)
	if len(all) < 100 {
		t.Errorf("the original has %d tools", len(all))
	}
	dir := t.TempDir()
	old := write(t, dir, "old.json", all)
	scratch(t, dir)
	mcpgen(t, dir, "import", "--dir", "whole", old)
	file := filepath.Join(dir, "whole", "tools.go")
	create(t, file, strings.ReplaceAll(read(t, file), "minrole=FILL_IN", "minrole=Viewer"))
	mcpgen(t, dir, "./whole")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "whole.exe", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	now := listOver(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		command := exec.CommandContext(ctx, filepath.Join(dir, "whole.exe"))
		command.Stdin, command.Stdout = in, out
		return command.Run()
	})
	compare(t, old, write(t, dir, "now.json", now), "whole.golden")
}

// scratch makes a module with the versions of the repository's go.mod, whose packages other tests
// build as well.
func scratch(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	const name = "github.com/mcpgen/mcpgen"
	module := strings.Replace(read(t, filepath.Join(root, "go.mod")), name, "example.com/scratch", 1)
	create(t, filepath.Join(dir, "go.mod"), module+
		"\nrequire "+name+" v0.0.0\nreplace "+name+" => "+strconv.Quote(root)+"\n")
	create(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	create(t, filepath.Join(dir, "main.go"), wholeMain)
	if err := os.Mkdir(filepath.Join(dir, "whole"), 0o777); err != nil {
		t.Fatal(err)
	}
}

const wholeMain = `package main

import (
	"context"
	"log"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"

	"example.com/scratch/whole"
)

func main() {
	server, err := runtime.New(runtime.Options{Identity: identity.Static(nil)}, whole.Toolset())
	if err != nil {
		log.Fatal(err)
	}
	caller := access.Principal{Issuer: "test", Subject: "ada", Roles: []string{"Viewer"}}
	if err := server.RunStdio(context.Background(), caller); err != nil {
		log.Fatal(err)
	}
}
`

// texts are the descriptions in a line of mcpgen diff, which the golden files do not have.
var texts = regexp.MustCompile(`(?m)( description): .*$`)

// compare checks the differences of two lists, and that the second is at most 1.1 times as long.
func compare(t *testing.T, old, now, golden string) {
	t.Helper()
	differences := texts.ReplaceAllString(mcpgen(t, ".", "diff", "--lists", old, now), "$1")
	golden = filepath.Join("testdata", golden)
	if *update {
		create(t, golden, differences)
	}
	if differences != read(t, golden) {
		t.Errorf("%s has other differences; now\n%s", golden, differences)
	}
	before, after := len(read(t, old)), len(read(t, now))
	t.Logf("%d and %d bytes, ratio %.3f", before, after, float64(after)/float64(before))
	if float64(after) > 1.1*float64(before) {
		t.Errorf("%d bytes, the original has %d", after, before)
	}
}

// list has the tools of a server as JSON, by name.
type list map[string]json.RawMessage

func originalList(t *testing.T) list {
	return listOver(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return mcpgo.NewStdioServer(original.Server()).Listen(ctx, in, out)
	})
}

// listOver lists the tools of a server over stdio. It keeps their bytes, which an SDK does not.
func listOver(
	t *testing.T, serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error,
) list {
	t.Helper()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serverOut.CloseWithError(serve(ctx, serverIn, serverOut))
	}()
	defer func() {
		in.Close()
		out.Close()
		cancel()
		<-ended
	}()
	responses := json.NewDecoder(out)
	var response struct {
		Result struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		} `json:"result"`
	}
	for _, messages := range []string{initialize, listTools} {
		if _, err := io.WriteString(in, messages); err != nil {
			t.Fatal(err)
		}
		if err := responses.Decode(&response); err != nil {
			t.Fatal(err)
		}
	}
	if response.Result.NextCursor != "" {
		t.Fatal("the list has a second page")
	}
	tools := list{}
	for _, text := range response.Result.Tools {
		var tool struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(text, &tool); err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = text
	}
	return tools
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"adopter","version":"1"}}}` + "\n"
	listTools = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}` + "\n"
)

// write writes a list in the order of names.
func write(t *testing.T, dir, name string, tools list) string {
	t.Helper()
	var sorted []json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		sorted = append(sorted, tools[name])
	}
	var content strings.Builder
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"tools": sorted}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	create(t, path, content.String())
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func create(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// mcpgen runs the command, and returns its output. The exit code 1 of diff is no failure.
func mcpgen(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(commandDir, "mcpgen"), args...)
	var out, failure bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = dir, &out, &failure
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && args[0] == "diff" {
		err = nil
	}
	if err != nil {
		t.Fatalf("mcpgen %q: %v\n%s", args, err, failure.String())
	}
	return out.String()
}

// commandDir has the command, which TestMain builds with the versions of the repository.
var commandDir string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "adopter")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	commandDir = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "mcpgen"),
		"github.com/mcpgen/mcpgen/cmd/mcpgen")
	if out, err := build.CombinedOutput(); err != nil {
		slog.Error(string(out), "err", err)
		return 1
	}
	return m.Run()
}

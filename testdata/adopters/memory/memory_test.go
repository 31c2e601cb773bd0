package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// original is the package of the server that this package ports.
const original = "github.com/modelcontextprotocol/go-sdk/examples/server/memory"

// binary is the original, built by TestMain.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "memory")
	build := exec.Command("go", "build", "-o", binary, original)
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// start connects go-sdk's client to the original, which keeps its graph in a file.
func start(t *testing.T, file string) *mcp.ClientSession {
	t.Helper()
	transport := &mcp.CommandTransport{Command: exec.Command(binary, "-memory", file)}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// options have a token for each role, which is the role's name.
func options() runtime.Options {
	principals := map[string]access.Principal{}
	for _, role := range access.DefaultRoles()[0] {
		principals[identity.HashToken(role)] = access.Principal{Subject: role, Roles: []string{role}}
	}
	return runtime.Options{Identity: identity.Static(principals),
		Logger: slog.New(slog.DiscardHandler)}
}

// serve returns the URL of the port, which keeps its graph in a file.
func serve(t *testing.T, file string) string {
	t.Helper()
	server, err := runtime.New(options(), Toolset(Open(file)))
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Serve(t, server)
}

// call returns the result of a call as JSON values.
func call(t *testing.T, session *mcp.ClientSession, tool, arguments string) any {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	result.Meta = nil // it names the server
	return values(t, result)
}

// values is what a value is in JSON, with an empty list in place of null: go-sdk sends a nil slice
// as null, and mcpgen sends it as []. The version of a build without one is empty, as in go-sdk.
func values(t *testing.T, v any) (decoded any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		text = bytes.ReplaceAll(text, []byte(`":null`), []byte(`":[]`))
		text = bytes.ReplaceAll(text, []byte(`"version":"(devel)"`), []byte(`"version":""`))
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// calls use each tool, and each way in which it ends.
var calls = []struct{ tool, arguments string }{
	{"read_graph", `{}`},
	{"create_entities", `{"entities":[
		{"name":"Ada","entityType":"Person","observations":["writes programs"]},
		{"name":"Engine","entityType":"machine","observations":[]},
		{"name":"Ada","entityType":"twice","observations":[]},
		{"name":"Loom","entityType":"machine","observations":["takes cards"]}]}`},
	{"create_entities", `{"entities":[{"name":"Ada","entityType":"x","observations":[]}]}`},
	{"create_entities", `{"entities":[]}`},
	{"create_relations", `{"relations":[{"from":"Ada","to":"Engine","relationType":"programs"},
		{"from":"Engine","to":"Loom","relationType":"resembles"},
		{"from":"Ada","to":"Engine","relationType":"programs"},
		{"from":"Ada","to":"nobody","relationType":"knows"}]}`},
	{"add_observations", `{"observations":[
		{"entityName":"Engine","contents":["has a mill","is ADA's"]},
		{"entityName":"Ada","contents":["writes programs"]}]}`},
	{"add_observations", `{"observations":[{"entityName":"Ada","contents":["lost"]},
		{"entityName":"nobody","contents":["unknown"]}]}`},
	{"read_graph", `{}`},
	{"search_nodes", `{"query":"aDa"}`},
	{"search_nodes", `{"query":"MACHINE"}`},
	{"search_nodes", `{"query":"missing"}`},
	{"open_nodes", `{"names":["Engine","Loom","missing"]}`},
	{"open_nodes", `{"names":[]}`},
	{"delete_observations", `{"deletions":[
		{"entityName":"Engine","contents":[],"observations":["has a mill","never known"]},
		{"entityName":"Loom","contents":["takes cards"]},
		{"entityName":"nobody","contents":[],"observations":["x"]}]}`},
	{"delete_relations", `{"relations":[{"from":"Ada","to":"nobody","relationType":"knows"},
		{"from":"Ada","to":"Ada","relationType":"missing"}]}`},
	{"read_graph", `{}`},
	{"delete_entities", `{"entityNames":["Engine","missing"]}`},
	{"read_graph", `{}`},
}

// Both servers have the same results, and leave the same file after each call.
func TestResultsAreThoseOfTheOriginal(t *testing.T) {
	dir := t.TempDir()
	theirs, ours := filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	before, after := start(t, theirs), mcptest.Connect(t, serve(t, ours), "Admin", "")
	for i, c := range calls {
		want, got := call(t, before, c.tool, c.arguments), call(t, after, c.tool, c.arguments)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d %s: result\n%v, want\n%v", i, c.tool, got, want)
		}
		wantFile, gotFile := read(t, theirs), read(t, ours)
		if !bytes.Equal(gotFile, wantFile) {
			t.Errorf("%d %s: file\n%s, want\n%s", i, c.tool, gotFile, wantFile)
		}
	}
}

// read returns the text of a file, which may not exist.
func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return text
}

func TestListsDifferAsDescribed(t *testing.T) {
	listed, err := start(t, filepath.Join(t.TempDir(), "file")).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(listed)
	if err != nil {
		t.Fatal(err)
	}
	diff := exec.Command("go", "tool", "mcpgen", "diff", "--lists", "-", serve(t, ""),
		"--header", "Authorization: Bearer Admin")
	diff.Stdin = bytes.NewReader(before)
	got, _ := diff.Output() // it fails if the lists differ
	if want := read(t, "testdata/lists.diff"); string(got) != string(want) {
		t.Errorf("testdata/lists.diff has\n%s, want\n%s", want, got)
	}
}

// roles are the tools that each role sees, in addition to those of the role before it.
var roles = []struct {
	role  string
	tools string
}{
	{"Viewer", "open_nodes read_graph search_nodes"},
	{"Member", "add_observations create_entities create_relations"},
	{"Manager", "delete_entities delete_observations delete_relations"},
}

func TestRolesBoundWhatCallersSeeAndUse(t *testing.T) { checkRoles(t, serve(t, "")) }

func checkRoles(t *testing.T, url string) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range roles {
		for _, tool := range strings.Fields(r.tools) {
			seen[tool] = true
		}
		client := &recorder{token: r.role}
		session := client.connect(t, url)
		listed := mcptest.Tools(t, session)
		if len(listed) != len(seen) {
			t.Errorf("%s is listed %q, want %v", r.role, listed, seen)
		}
		for _, tool := range listed {
			if !seen[tool] {
				t.Errorf("%s is listed %s", r.role, tool)
			}
		}
		for _, others := range roles {
			for _, tool := range strings.Fields(others.tools) {
				if seen[tool] {
					continue
				}
				got := client.result(t, session, tool)
				if want := client.result(t, session, "no_such_tool"); got != want {
					t.Errorf("%s calls %s:\n%s\nunknown tool:\n%s", r.role, tool, got, want)
				}
			}
		}
	}
}

// recorder keeps the last HTTP answer to a caller.
type recorder struct {
	token string
	last  string
}

func (r *recorder) connect(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: r}, DisableStandaloneSSE: true}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	var text bytes.Buffer
	header := response.Header.Clone()
	header.Del("Date")
	if err := header.Write(&text); err != nil {
		return nil, err
	}
	r.last = response.Status + "\n" + text.String() + "\n" + string(body)
	return response, nil
}

// result is the HTTP response to a refused call: status, headers and body. The name of the tool is
// TOOL in it, and so are the id of the request and the length of the body left out.
func (r *recorder) result(t *testing.T, session *mcp.ClientSession, tool string) string {
	t.Helper()
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err == nil {
		t.Fatalf("%s calls %s without an error", r.token, tool)
	}
	return normal(t, r.last, tool)
}

func normal(t *testing.T, answer, tool string) string {
	t.Helper()
	head, body, _ := strings.Cut(answer, "\r\n\n")
	var lines []string
	for line := range strings.SplitSeq(head, "\n") {
		if !strings.HasPrefix(line, "Content-Length:") {
			lines = append(lines, line)
		}
	}
	before, id, found := strings.Cut(body, `"id":`)
	if !found || !strings.Contains(body, tool) {
		t.Fatalf("an answer without id or name: %s", body)
	}
	_, after, _ := strings.Cut(id, ",")
	return strings.Join(lines, "\n") + strings.ReplaceAll(before+after, tool, "TOOL")
}

// bridge is a go-sdk server with the tools of the original, whose own server value is in a main
// package: each call goes on to the original's process.
func bridge(t *testing.T, session *mcp.ClientSession) *mcp.Server {
	t.Helper()
	server := mcp.NewServer(session.InitializeResult().ServerInfo, nil)
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (
			*mcp.CallToolResult, error) {
			return session.CallTool(ctx, &mcp.CallToolParams{
				Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	return server
}

// adopt returns the URL of the original behind the guard, with the rules of the port's table.
func adopt(t *testing.T, options runtime.Options, file string, sets ...toolset.Toolset) string {
	t.Helper()
	texts := map[string]string{}
	for _, r := range roles {
		for _, tool := range strings.Fields(r.tools) {
			texts[tool] = "minrole=" + r.role
		}
	}
	rules, err := access.ParseRules(access.DefaultRoles(), texts)
	if err != nil {
		t.Fatal(err)
	}
	server, err := runtime.Adopt(bridge(t, start(t, file)), options, rules, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Serve(t, server)
}

// Step 1 of the migration: the original behind the guard. Its lists and results stay.
func TestAdopt(t *testing.T) {
	dir := t.TempDir()
	url := adopt(t, options(), filepath.Join(dir, "adopted"))
	checkRoles(t, url)
	before, after := start(t, filepath.Join(dir, "theirs")), mcptest.Connect(t, url, "Admin", "")
	for i, c := range calls {
		want, got := call(t, before, c.tool, c.arguments), call(t, after, c.tool, c.arguments)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d %s: result\n%v, want\n%v", i, c.tool, got, want)
		}
	}
}

// Step 2: the toolset replaces tools of the adopted server, some first. All use the same file.
func TestAdoptAndMove(t *testing.T) {
	file := filepath.Join(t.TempDir(), "graph")
	o := options()
	o.Adopt.Replace = true
	session := mcptest.Connect(t, adopt(t, o, file, Toolset(Open(file))), "Admin", "")
	for _, c := range calls {
		call(t, session, c.tool, c.arguments)
	}
	theirs := filepath.Join(t.TempDir(), "theirs")
	before := start(t, theirs)
	for _, c := range calls {
		call(t, before, c.tool, c.arguments)
	}
	if got, want := read(t, file), read(t, theirs); !bytes.Equal(got, want) {
		t.Errorf("the file has\n%s, want\n%s", got, want)
	}
}

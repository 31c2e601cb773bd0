package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// TestMain lets the test binary be the server that a stdio client starts.
func TestMain(m *testing.M) {
	if args := os.Getenv("TEAM_SERVE"); args != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := run(ctx, strings.Split(args, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// callers are everybody who may come; "nobody" has no token.
var callers = []string{"nobody", "vera", "mel", "mara", "olga", "ada"}

// expected is written by hand from the prose of the example, and from nothing that decides:
// who may use which tool.
var expected = map[string][]string{
	"get_public_info":    {"nobody", "vera", "mel", "mara", "olga", "ada"},
	"get_by_id":          {"vera", "mel", "mara", "olga", "ada"},
	"get_all":            {"vera", "mel", "mara", "olga", "ada"},
	"create":             {"mel", "mara", "olga", "ada"},
	"update":             {"mel", "mara", "olga", "ada"},
	"promote_to_manager": {"ada"},
}

// arguments make every call valid.
var arguments = map[string]any{
	"get_public_info":    map[string]any{},
	"get_by_id":          map[string]any{"id": 1},
	"get_all":            map[string]any{},
	"create":             map[string]any{"name": "Ada Lovelace", "email": "ada@example.org"},
	"update":             map[string]any{"id": 1, "email": "hopper@example.org"},
	"promote_to_manager": map[string]any{"id": 1},
}

// missing is the reason that a denied caller gets under forbid.
var missing = map[string]string{
	"get_by_id":          "authentic",
	"get_all":            "authentic",
	"create":             "Member",
	"update":             "Member",
	"promote_to_manager": "Admin",
}

var eras = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func TestEveryToolHasAnExpectation(t *testing.T) {
	for _, tool := range toolsOfManifest(t) {
		for _, table := range []map[string]bool{keys(expected), keys(arguments)} {
			if !table[tool] {
				t.Errorf("tool %s has no expectation: write down who may use it", tool)
			}
		}
	}
	if got := len(toolsOfManifest(t)); got != len(expected) {
		t.Errorf("%d tools are served, %d are expected", got, len(expected))
	}
}

func TestEveryPromptAndResourceHasAnExpectation(t *testing.T) {
	prompts, resources := offersOfManifest(t)
	for kind, lists := range map[string][2][]string{
		"prompt":                {prompts, sortedKeys(expectedPrompts)},
		"arguments of a prompt": {prompts, sortedKeys(promptArguments)},
		"resource":              {resources, sortedKeys(expectedResources)},
		"URI of a resource":     {resources, sortedKeys(uris)},
		"completed part": {[]string{"team://people/{id} id", "team://ranks/{rank} rank",
			"welcome name", "welcome tone"}, completedParts()},
		"unlike what is refused": {slices.Sorted(slices.Values(append(prompts, resources...))),
			append(sortedKeys(missingOffers), "team://handbook")},
	} {
		want := lists[1]
		slices.Sort(want)
		if !slices.Equal(lists[0], want) {
			t.Errorf("%s: %v are served and %v are expected: write down who may use them", kind,
				lists[0], want)
		}
	}
}

func TestCountsOfTheRoles(t *testing.T) {
	// Viewer 2, Member and Manager 4, Admin 5, Auditor none, and the public one for each.
	want := map[string]int{"nobody": 1, "vera": 3, "mel": 5, "mara": 5, "olga": 5, "ada": 6}
	url := serveHTTP(t, runtime.Options{Anonymous: true})
	for _, caller := range callers {
		session := connectHTTP(t, url, caller, "")
		if got := len(list(t, session)); got != want[caller] {
			t.Errorf("%s sees %d tools, want %d", caller, got, want[caller])
		}
	}
}

func TestEveryRoleAndToolOverHTTP(t *testing.T) {
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		url := serveHTTP(t, runtime.Options{Anonymous: true,
			Access: runtime.AccessOptions{Denial: denial}})
		for _, era := range eras {
			for _, caller := range callers {
				t.Run(fmt.Sprintf("%s/%s/%s", denialName(denial), era, caller), func(t *testing.T) {
					session := connectHTTP(t, url, caller, era)
					visit(t, session, caller, denial, false)
					visitOffers(t, session, caller, denial, false)
				})
			}
		}
	}
}

// stdio runs the server as a process of a client.
func stdio(flags ...string) *mcp.CommandTransport {
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "TEAM_SERVE="+strings.Join(flags, "\n"))
	return &mcp.CommandTransport{Command: server}
}

func TestEveryRoleAndToolOverStdio(t *testing.T) {
	file := newDirectory(t)
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		for _, era := range eras {
			for _, caller := range callers {
				t.Run(fmt.Sprintf("%s/%s/%s", denialName(denial), era, caller), func(t *testing.T) {
					session := connect(t, stdio("-anonymous", "-db", file, "-denial",
						denialName(denial), "-stdio", caller), era)
					visit(t, session, caller, denial, false)
					visitOffers(t, session, caller, denial, false)
				})
			}
		}
	}
}

func TestNoTokenIsRefusedWhereNobodyIsAdmitted(t *testing.T) {
	url := serveHTTP(t, runtime.Options{})
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	_, err := client.Connect(t.Context(), transport(url, "nobody"), nil)
	if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("connecting without a token: %v, want 401 Unauthorized", err)
	}
}

// With -list-all, everything is listed, and refusals are those of -denial forbid.
func TestListAllListsEverythingAndAllowsNoMore(t *testing.T) {
	flags := []string{"-anonymous", "-list-all", "-db", newDirectory(t)}
	web := start(t, flags...)
	for _, caller := range callers {
		for _, session := range []*mcp.ClientSession{connectHTTP(t, web.Base+"/mcp", caller, ""),
			connect(t, stdio(append(flags, "-stdio", caller)...), "")} {
			visit(t, session, caller, access.Forbid, true)
			visitOffers(t, session, caller, access.Forbid, true)
		}
	}
}

func TestPathOfTheEndpointIsAFlag(t *testing.T) {
	url := start(t, "-path", "/team").Base // whole: it does not end with the default path
	if got := list(t, connectHTTP(t, url, "ada", "")); !strings.HasSuffix(url, "/team") ||
		len(got) != len(expected) {
		t.Errorf("%s: %v", url, got)
	}
}

// visit compares what a session lists and what each call gets with the expectations.
func visit(t *testing.T, session *mcp.ClientSession, caller string, denial access.Denial,
	listAll bool) {
	listed := list(t, session)
	for tool, who := range expected {
		may := slices.Contains(who, caller)
		if got := slices.Contains(listed, tool); got != (may || listAll) {
			t.Errorf("%s lists %s: %t, want %t", caller, tool, got, may)
		}
		res, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: tool, Arguments: arguments[tool]})
		switch {
		case may:
			if err != nil || res.IsError {
				t.Errorf("%s calls %s: %v %v", caller, tool, text(res), err)
			}
		case denial == access.Forbid:
			if err != nil || !res.IsError || !strings.Contains(text(res), "403") ||
				!strings.Contains(text(res), missing[tool]) {
				t.Errorf("%s calls %s and gets %q %v, want 403 and %q", caller, tool, text(res),
					err, missing[tool])
			}
		default:
			_, unknown := session.CallTool(t.Context(),
				&mcp.CallToolParams{Name: "no_such_tool", Arguments: arguments[tool]})
			if err == nil || unknown == nil {
				t.Errorf("%s calls %s: %q, want an error", caller, tool, text(res))
				continue
			}
			if got, want := wire(t, err), wire(t, unknown); got.Code != want.Code ||
				got.Message != strings.ReplaceAll(want.Message, "no_such_tool", tool) ||
				string(got.Data) != string(want.Data) {
				t.Errorf("%s calls hidden %s and gets %+v, an unknown tool gets %+v", caller, tool,
					got, want)
			}
		}
	}
}

func serveHTTP(t *testing.T, options runtime.Options) (url string) {
	t.Helper()
	dir, err := directory.Open(t.Context(), "Orange", newDirectory(t))
	if err != nil {
		t.Fatal(err)
	}
	if options.Identity == nil {
		options.Identity = identity.Static(tokens())
	}
	server, err := runtime.New(options, directory.Toolset(dir))
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		dir.Close()
	})
	return web.URL + "/mcp"
}

// newDirectory is a file with one person in it.
func newDirectory(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "team.db")
	dir, err := directory.Open(t.Context(), "Orange", file)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := dir.Create(t.Context(), directory.NewPerson{
		Name: "Grace Hopper", Email: "grace@example.org"}); err != nil {
		t.Fatal(err)
	}
	return file
}

func connectHTTP(t *testing.T, url, caller, era string) *mcp.ClientSession {
	t.Helper()
	return connect(t, transport(url, caller), era)
}

func connect(t *testing.T, transport mcp.Transport, era string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport,
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if got := session.InitializeResult().ProtocolVersion; era != "" && got != era {
		t.Fatalf("the session speaks %s, want %s", got, era)
	}
	return session
}

func list(t *testing.T, session *mcp.ClientSession) []string {
	t.Helper()
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func text(res *mcp.CallToolResult) string {
	if res == nil || len(res.Content) == 0 {
		return ""
	}
	if c, ok := res.Content[0].(*mcp.TextContent); ok {
		return c.Text
	}
	return ""
}

func wire(t *testing.T, err error) *jsonrpc.Error {
	t.Helper()
	var w *jsonrpc.Error
	if !errors.As(err, &w) {
		t.Fatalf("%v is no JSON-RPC error", err)
	}
	return w
}

func denialName(d access.Denial) string {
	if d == access.Forbid {
		return "forbid"
	}
	return "conceal"
}

func keys[V any](m map[string]V) map[string]bool {
	set := make(map[string]bool, len(m))
	for k := range m {
		set[k] = true
	}
	return set
}

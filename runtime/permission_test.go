package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// purse is a source of grants that the test fills.
type purse struct {
	mu   sync.Mutex
	held map[isolate.Client][]grant.Grant
	at   uint64
}

func (p *purse) Grants(_ context.Context, issuer, client string) ([]grant.Grant, uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[isolate.Client{Issuer: issuer, ID: client}], p.at, nil
}

func (p *purse) Changes(context.Context) <-chan grant.Change { return nil }

// put is all that a client has from now on.
func (p *purse) put(client isolate.Client, permissions ...grant.Permission) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[isolate.Client][]grant.Grant{}
	}
	p.at++
	p.held[client] = nil
	for i, perm := range permissions {
		p.held[client] = append(p.held[client], grant.Grant{ID: fmt.Sprintf("%d.%d", p.at, i),
			Permission: perm, Issuer: client.Issuer, Client: client.ID})
	}
}

// named is what the tools of these tests take.
type named struct {
	Path  string   `json:"path"`
	To    string   `json:"to"`
	Argv  []string `json:"argv"`
	Host  string   `json:"host"`
	Queue string   `json:"queue"`
}

// permitting is a toolset whose one tool needs permissions, as generated code has it.
func permitting(tool toolset.Tool,
	handle func(context.Context, named) (string, error)) toolset.Toolset {
	bound := map[string]*toolset.Named{}
	var order []string
	for _, a := range tool.Allow {
		if bound[a.Argument] == nil {
			bound[a.Argument] = &toolset.Named{Argument: a.Argument}
			order = append(order, a.Argument)
		}
		bound[a.Argument].Kinds = append(bound[a.Argument].Kinds, a.Kind)
	}
	tool.Input = `{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string"},"to":{"type":"string"},"argv":{"type":"array","items":{"type":"string"}},"host":{"type":"string"},"queue":{"type":"string"}}}`
	tool.Call = func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		var in named
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return toolset.Result{}, err
		}
		values := map[string][]string{"path": {in.Path}, "to": {in.To}, "argv": in.Argv,
			"host": {in.Host}, "queue": {in.Queue}}
		var all []toolset.Named
		for _, name := range order {
			n := *bound[name]
			n.Values = values[name]
			all = append(all, n)
		}
		ctx, err := call.Allow(ctx, all...)
		if err != nil {
			return toolset.Result{}, err
		}
		return toolset.Structured(handle(ctx, in))
	}
	return toolsetOf([]toolset.Tool{tool}, access.Rule{Tool: tool.Name, Public: true})
}

func roots(t testing.TB, files map[string]string) *grant.Roots {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files["a.md"] != "" {
		if err := os.Link(filepath.Join(dir, "a.md"), filepath.Join(dir, "linked")); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := grant.OpenRoots(map[string]string{"docs": dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return opened
}

func readAll(ctx context.Context, _ named) (string, error) {
	f, err := grant.File(ctx, "path")
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(f)
	return string(text), err
}

var reading = toolset.Tool{Name: "read",
	Allow: []toolset.Allow{{Kind: grant.FileRead, Argument: "path"}}}

func client(user string) isolate.Client {
	p := principalOf(user)
	return isolate.Client{Issuer: p.Issuer, ID: p.ClientID()}
}

// callText is the result of a call: its text, and "!" before it where it is an error.
func callText(t testing.TB, session *mcp.ClientSession, tool, arguments string) string {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool,
		Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return "!" + text
	}
	return text
}

func TestFilesOfACallAreClosedWhenItsHandlerEnds(t *testing.T) {
	p := &purse{}
	p.put(client("Member"), grant.Permission{Type: grant.FileRead, Resource: "docs/**",
		Unrestricted: true})
	for name, end := range map[string]func(){"returns": func() {}, "panics": func() { panic("!") },
		"is late": func() { <-time.After(time.Hour) }} {
		synctest.Test(t, func(t *testing.T) {
			files := make(chan *os.File, 1)
			s := newServer(t, runtime.Options{Grants: runtime.GrantOptions{
				Source: p,
				Roots:  roots(t, map[string]string{"a": "A"}),
			}},
				permitting(reading, func(ctx context.Context, _ named) (string, error) {
					f, err := grant.File(ctx, "path")
					files <- f
					end()
					return "", err
				}))
			callText(t, connectIO(t, s, principalOf("Member"), ""), "read", `{"path":"docs/a"}`)
			time.Sleep(2 * time.Hour)
			if _, err := (<-files).Stat(); err == nil {
				t.Errorf("the handler %s, and its file is open", name)
			}
		})
	}
}

// running has a tool that runs a command, and then connects to another port than the one that its
// argument names.
func running() toolset.Toolset {
	return permitting(toolset.Tool{Name: "run", Allow: []toolset.Allow{{Kind: grant.SystemCommand,
		Argument: "argv"}, {Kind: grant.NetConnect, Argument: "host"}}},
		func(ctx context.Context, _ named) (string, error) {
			cmd, err := grant.Command(ctx, "argv")
			if err != nil {
				return "", err
			}
			dialer, err := grant.Connect(ctx, "host")
			if err != nil {
				return "", err
			}
			if _, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:80"); err == nil ||
				!strings.Contains(err.Error(), grant.Code) {
				return "", fmt.Errorf("another port: %v", err)
			}
			out, err := cmd.Output()
			return string(out), err
		})
}

// askingReader is a tool that reads a file by a grant and then asks. first runs before it asks.
func askingReader(tool toolset.Tool, first func()) toolset.Toolset {
	tool.Name, tool.Allow, tool.Elicits = "read", reading.Allow, true
	return permitting(tool, func(ctx context.Context, in named) (string, error) {
		text, err := readAll(ctx, in)
		if err != nil {
			return "", err
		}
		first()
		form, err := runtime.Elicit[nameForm](ctx, "who", "Your name?")
		return text + form.Name, err
	})
}

func TestDefaultsThatAllowNothingAreLoggedAtStart(t *testing.T) {
	var logged journal
	tool := toolset.Tool{Name: "push",
		Allow: []toolset.Allow{{Kind: "queue.push", Argument: "queue"}}}
	newServer(t, runtime.Options{Logger: logged.logger(),
		Grants: runtime.GrantOptions{Defaults: []grant.Permission{
			{Type: "queue.push", Resource: "mail", Unrestricted: true},
			{Type: "queue.push", Resource: "post"},
			{Type: "queue.psuh", Resource: "mail", Unrestricted: true},
			{Type: "db.read", Resource: "prices", Unrestricted: true},
			{Type: grant.SystemCommand, Resource: "echo **"},
		}}}, permitting(tool, readAll))
	text := logged.String()
	if n := strings.Count(text, "Options.Grants.Defaults"); n != 3 ||
		!strings.Contains(text, "no tool has queue.psuh; did you mean queue.push?") ||
		!strings.Contains(text, `no tool has db.read"`) ||
		!strings.Contains(text, "queue.push post restricted has no effect, because no tool with "+
			"queue.push is isolated: set Unrestricted") {
		t.Error(text)
	}
}

// TestServerNamesItsRoots: by them, and by nothing of where they are, an admin learns what can be
// granted.
func TestServerNamesItsRoots(t *testing.T) {
	if got := runtime.Administer(newServer(t, runtime.Options{Grants: runtime.GrantOptions{
		Roots: roots(t, nil)}}, toolsetOf(nil))).Roots(); len(got) != 1 || got[0] != "docs" {
		t.Error(got)
	}
	none := runtime.Administer(newServer(t, runtime.Options{}, toolsetOf(nil)))
	if got := none.Roots(); len(got) != 0 {
		t.Error(got)
	}
}

// box is a sandbox without walls, which keeps what it was asked for.
type box struct {
	start   error
	isolate func(context.Context, isolate.Call) (json.RawMessage, error)

	mu      sync.Mutex
	started []isolate.Start
	inside  int
}

type insideKey struct{}

func (b *box) Start(s isolate.Start) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s)
	return b.start
}

func (b *box) Enter(ctx context.Context, _ isolate.Client) (context.Context, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inside++
	return context.WithValue(ctx, insideKey{}, true), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inside--
	}
}

func (b *box) Isolate(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	return b.isolate(ctx, call)
}

// reached is a [toolset.LimitError].
type reached string

func (r reached) Error() string   { return "the tool reached its limit on " + string(r) }
func (r reached) Reached() string { return string(r) }

// apart is a toolset whose one tool runs in a process of its own, as generated code has it.
func apart(tool toolset.Tool) toolset.Toolset {
	tool.Isolate = "example.com/apart." + tool.Name
	tool.Input = `{"type":"object"}`
	tool.Call = func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		return toolset.Structured(call.Isolated(ctx))
	}
	return toolsetOf([]toolset.Tool{tool}, access.Rule{Tool: tool.Name, Authenticated: true})
}

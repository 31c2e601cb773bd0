// Package clients drives the servers of examples/conformance, team, inventory and testdata/results
// with stock clients, and writes docs/reference/clients.md: what works in which client.
package clients

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// features are the columns of the table.
var features = []string{"list", "call", "results", "null", "denied", "list_changed", "subscribe",
	"progress", "log", "cancel", "elicit", "two rounds", "complete", "task", "bearer", "OAuth"}

// cells are what came of the features of a client: works, none, or an error.
type cells map[string]string

const (
	works = "works"
	none  = "none" // the client has no such feature
)

// client is a row of the table. run drives it and returns the version of the protocol.
type client struct {
	name, module string // module is a Go module or an npm package, whose version the page has
	version      string // of the protocol, if the client lets its user choose
	run          func(t *testing.T, c client, at endpoints) (version string, found cells)
}

// clients are the rows of the table.
func clients() (list []client) {
	for _, version := range []string{
		"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		list = append(list, client{"go-sdk", goSDKModule, version, inGo(connectGoSDK)})
	}
	for _, version := range []string{
		"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		list = append(list, client{"mcp-go", mcpGoModule, version, inGo(connectMCPGo)})
	}
	return append(list,
		client{"TypeScript SDK 1", "@modelcontextprotocol/sdk", "", inNode("sdk-1")},
		client{"TypeScript SDK 2", "@modelcontextprotocol/client", "2025-11-25", inNode("sdk-2")},
		client{"TypeScript SDK 2", "@modelcontextprotocol/client", "2026-07-28", inNode("sdk-2-modern")},
		client{"Inspector CLI", "@modelcontextprotocol/inspector", "2025-11-25", inspector("legacy")},
		client{"Inspector CLI", "@modelcontextprotocol/inspector", "2026-07-28", inspector("modern")},
		client{"mcp-remote", "mcp-remote", "", inGo(connectMCPRemote)},
		client{"@ai-sdk/mcp", "@ai-sdk/mcp", "", inNode("ai-sdk")},
		client{"@openai/agents", "@openai/agents", "", inNode("agents")},
	)
}

var write = flag.Bool("write", false, "write docs/reference/clients.md")

// TestClients runs every client, and compares the table with docs/reference/clients.md.
func TestClients(t *testing.T) {
	list := clients()
	found := make([]cells, len(list))
	shared := serve(t)
	var wait sync.WaitGroup
	for i := range list {
		wait.Go(func() {
			at := shared
			at.conformance = start(t, "conformance", "-addr", "127.0.0.1:0")
			version, outcome := list[i].run(t, list[i], at)
			if list[i].version != "" && version != "" && version != list[i].version {
				t.Errorf("%s: protocol version %s, want %s", list[i].name, version, list[i].version)
			}
			list[i].version, found[i] = version, outcome
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	page := writePage(t, list, found)
	file := filepath.Join("..", "..", "docs", "reference", "clients.md")
	old, err := os.ReadFile(file)
	switch {
	case *write:
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil || string(old) != page:
		t.Errorf("%s differs from what the clients did: run make clients. It would be:\n%s", file, page)
	}
}

// TestStdio runs clients over stdio, where nothing but the transport differs.
func TestStdio(t *testing.T) {
	list := []client{
		{"go-sdk", goSDKModule, "2026-07-28", inGo(connectGoSDK)},
		{"go-sdk", goSDKModule, "2025-11-25", inGo(connectGoSDK)},
		{"mcp-go", mcpGoModule, "2026-07-28", inGo(connectMCPGo)},
		{"mcp-go", mcpGoModule, "2025-11-25", inGo(connectMCPGo)},
		{"TypeScript SDK 1", "", "", inNode("sdk-1")},
		{"TypeScript SDK 2", "", "2025-11-25", inNode("sdk-2")},
		{"TypeScript SDK 2", "", "2026-07-28", inNode("sdk-2-modern")},
	}
	for _, c := range list {
		t.Run(c.name+" "+c.version, func(t *testing.T) {
			t.Parallel()
			at := endpoints{conformance: []string{filepath.Join(bin, "conformance"), "-stdio"}}
			_, found := c.run(t, c, at)
			for _, feature := range []string{"list", "call", "progress", "cancel"} {
				if found[feature] != works {
					t.Errorf("%s: %s", feature, found[feature])
				}
			}
		})
	}
}

// endpoints are the servers that a client is driven against: a URL, or a command.
type endpoints struct {
	conformance []string
	team        []string // with tokens
	inventory   []string // with OAuth
	typed       []string // testdata/results, of a toolset
	adopted     []string // testdata/results, of a go-sdk server
}

// serve starts the servers that all clients share.
func serve(t *testing.T) endpoints {
	dir := t.TempDir()
	issuer := startProvider(t)
	inventory := start(t, "inventory", "-http", "127.0.0.1:0", "-seed", "-issuer", issuer,
		"-db", filepath.Join(dir, "inventory.db"), "-user-claim", "host_user", "-role-claim", "roles",
		"-scope", "tools")
	return endpoints{
		team: start(t, "team", "-addr", "127.0.0.1:0", "-db", filepath.Join(dir, "team.db")),
		// The resource and the audience of tokens have the query that each client has in its URL.
		inventory: []string{inventory[0] + "?catalog=night%20shift&readonly=true"},
		typed:     start(t, "results"),
		adopted:   start(t, "results", "-adopt"),
	}
}

// start starts the server of an example, and returns its URL.
func start(t *testing.T, example string, args ...string) []string {
	return []string{process(t, exec.Command(filepath.Join(bin, example), args...), "serving ")}
}

// startProvider starts the OpenID provider of provider.mjs, and returns its issuer.
func startProvider(t *testing.T) string {
	cmd := nodeCommand(t, "--input-type=module", "--eval", script(t, "provider.mjs"))
	stdin, err := cmd.StdinPipe() // open until the test ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	return "http://" + process(t, cmd, "http://")
}

// process starts a command, and returns the rest of the first line of its output that begins so.
func process(t *testing.T, cmd *exec.Cmd, begin string) string {
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), begin); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Errorf("%v: no line %q", cmd, begin)
	return ""
}

// fault is why a cell fails: whose fault it is, and the part of the error that proves it.
type fault struct{ whose, why, evidence string }

// sessions stands for every version before 2026-07-28 in a key of faults.
const sessions = "sessions"

// faults are the cells that fail, by client, version and feature. "*" stands for every client or
// version. The test fails if another cell fails, or one of these works.
var faults = map[[3]string]fault{
	{"mcp-go", sessions, "cancel"}: {"mcp-go", "Over HTTP it only closes the stream of the call. " +
		"In versions with sessions, notifications/cancelled cancels a call.",
		"the call is not cancelled on the server"},
	{"Inspector CLI", stateless, "null"}: {"Inspector", "It takes structured content that is null " +
		"for none.", "declares an output schema but returned no structured content"},
	{"mcp-remote", "*", "cancel"}: {"mcp-remote", "It sends notifications/cancelled in a request of " +
		"its own. In 2026-07-28 over HTTP, a client cancels by closing the stream of the call.",
		"the call is not cancelled on the server"},
}

// faultOf returns the fault of a cell, and its key.
func faultOf(c client, feature string) (key [3]string, f fault, ok bool) {
	versions := []string{c.version, "*"}
	if c.version != "2026-07-28" {
		versions = []string{c.version, sessions, "*"}
	}
	for _, name := range []string{c.name, "*"} {
		for _, version := range versions {
			key := [3]string{name, version, feature}
			if f, ok := faults[key]; ok {
				return key, f, true
			}
		}
	}
	return key, f, false
}

// writePage writes the table, with a footnote for each fault.
func writePage(t *testing.T, list []client, found []cells) string {
	var page, notes strings.Builder
	fmt.Fprintf(&page, pageHead, tasksPackage, moduleVersion(t, tasksPackage))
	fmt.Fprintf(&page, "| client | protocol | %s |\n|---|---|%s\n", strings.Join(features, " | "),
		strings.Repeat(":-:|", len(features)))
	var numbers [][3]string
	for i, c := range list {
		fmt.Fprintf(&page, "| %s %s | %s |", c.name, moduleVersion(t, c.module), c.version)
		for _, feature := range features {
			cell := found[i][feature]
			switch cell {
			case works:
				cell = "✓"
			case none:
				cell = "–"
			default:
				key, f, ok := faultOf(c, feature)
				if !ok || !strings.Contains(cell, f.evidence) {
					t.Errorf("%s %s, %s: %s", c.name, c.version, feature, cell)
				}
				n := slices.Index(numbers, key)
				if n < 0 {
					n, numbers = len(numbers), append(numbers, key)
					fmt.Fprintf(&notes, "%d. **%s.** %s Evidence: `%s`.\n", n+1, f.whose, f.why,
						f.evidence)
				}
				cell = fmt.Sprintf("✗ [%d](#faults)", n+1)
			}
			fmt.Fprintf(&page, " %s |", cell)
		}
		page.WriteString("\n")
	}
	for key := range faults {
		if !slices.Contains(numbers, key) {
			t.Errorf("%q has a fault in the table of the test, and works", key)
		}
	}
	if notes.Len() > 0 {
		page.WriteString("\n## Faults\n\nA number in the table refers to this list.\n\n" + notes.String())
	}
	return page.String()
}

// pageHead takes the package of tasks and its version.
const pageHead = "# Stock clients\n\n" +
	"`make clients` runs these clients against the servers of the examples and of " +
	"testdata/results over HTTP, and writes this page. " +
	"`make full` fails if a client does something else.\n\n" +
	"✓ works, – the client has no such feature, ✗ fails.\n\n" +
	"| feature | what the client does |\n|---|---|\n" +
	"| list, call | lists tools and calls one |\n" +
	"| results | lists and calls tools whose results are no objects, of a toolset and of an adopted " +
	"server, and gets the [content of its version](schemas.md#structured-content-by-version) |\n" +
	"| null | the same for results that are null: null, or an error of the tool that names it |\n" +
	"| denied | calls a tool that the caller may not use: the outcome is that of an unknown tool |\n" +
	"| list_changed | is notified of a change of the list of tools |\n" +
	"| subscribe | subscribes to a resource, and is notified of its update |\n" +
	"| progress, log | receives progress, in quick succession too, and log messages of a call |\n" +
	"| cancel | cancels a call, and the handler ends |\n" +
	"| elicit, two rounds | fills in a form during a call, and two forms one after the other |\n" +
	"| complete | completes an argument of a prompt, with the value of another argument |\n" +
	"| task | runs a call as a task of 2026-07-28, polls it, and fills in its form, with " +
	"`%s` %s |\n" +
	"| bearer | sends a token; another token is refused |\n" +
	"| OAuth | with a catalog in its URL: registers at an OpenID provider, signs a user in, and " +
	"lists tools with the token |\n\n" +
	"Versions of the protocol are those that client and server agreed on. " +
	"[Clients](../howto/clients.md) has the configuration of applications.\n\n"

const tasksPackage = "@modelcontextprotocol/ext-tasks"

// bin is the folder of the servers.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		dir, err := os.MkdirTemp("", "clients")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		bin = dir
		build := exec.Command("go", "build", "-o", dir, "./examples/conformance", "./examples/team",
			"./examples/inventory", "./testdata/results")
		build.Dir, build.Env = filepath.Join("..", ".."), append(os.Environ(), "GOWORK=")
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// Package clients drives the server of examples/conformance with stock clients, over HTTP and
// stdio: each lists tools, calls one, receives progress, and cancels a call.
package clients

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connections connect to a server: its URL, or its command and arguments.
var connections = map[string]func(t *testing.T, server []string) connection{
	"go-sdk":            goSDK(""),
	"go-sdk 2025-11-25": goSDK("2025-11-25"),
	"mcp-go":            mcpGo(""),
	"mcp-go 2025-11-25": mcpGo("2025-11-25"),
}

// connection is a connected client.
type connection struct {
	version string
	tools   func(context.Context) ([]string, error)
	// call calls a tool, requests progress, and returns the text of the result.
	call func(ctx context.Context, tool string) (string, error)
	// progress receives the reports of all calls.
	progress chan float64
	// silent is true if the client does not notify the server of a cancelled call.
	silent bool
}

func TestGoClients(t *testing.T) {
	for name, connect := range connections {
		overBoth(t, name, func(t *testing.T, server []string) {
			c := connect(t, server)
			t.Log("protocol version", c.version)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if tools, err := c.tools(ctx); err != nil || !slices.Contains(tools, "test_simple_text") {
				t.Errorf("tools %q, %v", tools, err)
			}
			if text, err := c.call(ctx, "test_simple_text"); err != nil || !strings.HasPrefix(text, "This is a simple text") {
				t.Errorf("%q, %v", text, err)
			}

			if _, err := c.call(ctx, "test_tool_with_progress"); err != nil {
				t.Error(err)
			}
			for _, want := range []float64{0, 50, 100} {
				if got := receive(ctx, t, c.progress); got != want {
					t.Errorf("progress %v, want %v", got, want)
				}
			}

			if c.silent {
				return
			}
			calling, stop := context.WithCancel(ctx)
			go func() {
				receive(ctx, t, c.progress)
				stop()
			}()
			if _, err := c.call(calling, "test_wait"); err == nil {
				t.Error("the cancelled call has a result")
			}
			if text, err := c.call(ctx, "test_waited"); err != nil {
				t.Errorf("the handler was not cancelled: %q, %v", text, err)
			}
		})
	}
}

func receive(ctx context.Context, t *testing.T, reports <-chan float64) float64 {
	select {
	case report := <-reports:
		return report
	case <-ctx.Done():
		t.Error("no progress")
		return -1
	}
}

func goSDK(version string) func(*testing.T, []string) connection {
	return func(t *testing.T, server []string) connection {
		progress := make(chan float64, 10)
		c := mcp.NewClient(&mcp.Implementation{Name: "clients", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				progress <- req.Params.Progress
			}})
		var over mcp.Transport = &mcp.StreamableClientTransport{Endpoint: server[0]}
		if len(server) > 1 {
			over = &mcp.CommandTransport{Command: exec.Command(server[0], server[1:]...)}
		}
		session, err := c.Connect(t.Context(), over, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return connection{
			version: session.InitializeResult().ProtocolVersion, progress: progress,
			tools: func(ctx context.Context) (names []string, err error) {
				for tool, err := range session.Tools(ctx, nil) {
					if err != nil {
						return nil, err
					}
					names = append(names, tool.Name)
				}
				return names, nil
			},
			call: func(ctx context.Context, tool string) (string, error) {
				params := &mcp.CallToolParams{Name: tool}
				params.SetProgressToken(tool)
				res, err := session.CallTool(ctx, params)
				if err != nil || len(res.Content) == 0 {
					return "", err
				}
				return res.Content[0].(*mcp.TextContent).Text, res.GetError()
			},
		}
	}
}

func mcpGo(version string) func(*testing.T, []string) connection {
	return func(t *testing.T, server []string) connection {
		var over transport.Interface = transport.NewStdio(server[0], nil, server[1:]...)
		if len(server) == 1 {
			var err error
			if over, err = transport.NewStreamableHTTP(server[0]); err != nil {
				t.Fatal(err)
			}
		}
		c := client.NewClient(over, client.WithProtocolVersion(version))
		t.Cleanup(func() { c.Close() })
		progress := make(chan float64, 10)
		c.OnNotification(func(n mcpgo.JSONRPCNotification) {
			if n.Method == "notifications/progress" {
				progress <- n.Params.AdditionalFields["progress"].(float64)
			}
		})
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		initialize := mcpgo.InitializeRequest{}
		initialize.Params.ClientInfo = mcpgo.Implementation{Name: "clients", Version: "1"}
		res, err := c.Initialize(t.Context(), initialize)
		if err != nil {
			t.Fatal(err)
		}
		return connection{
			version: res.ProtocolVersion, progress: progress,
			silent: len(server) == 1 && version != "", // it only closes the stream of the call
			tools: func(ctx context.Context) (names []string, err error) {
				res, err := c.ListTools(ctx, mcpgo.ListToolsRequest{})
				if err != nil {
					return nil, err
				}
				for _, tool := range res.Tools {
					names = append(names, tool.Name)
				}
				return names, nil
			},
			call: func(ctx context.Context, tool string) (string, error) {
				req := mcpgo.CallToolRequest{}
				req.Params.Name, req.Params.Meta = tool, &mcpgo.Meta{ProgressToken: tool}
				res, err := c.CallTool(ctx, req)
				if err != nil || len(res.Content) == 0 {
					return "", err
				}
				text := res.Content[0].(mcpgo.TextContent).Text
				if res.IsError {
					return "", errors.New(text)
				}
				return text, nil
			},
		}
	}
}

func TestTypeScript(t *testing.T) {
	for name, sdk := range map[string]string{"TypeScript SDK 1": "sdk", "TypeScript SDK 2": "client"} {
		overBoth(t, name, func(t *testing.T, server []string) {
			script, err := os.ReadFile("client.mjs")
			if err != nil {
				t.Fatal(err)
			}
			out := node(t, string(script), append([]string{"--input-type=module", "-", sdk}, server...)...)
			t.Log("protocol version", out)
		})
	}
}

// TestInspector lists tools and calls one with the CLI of the MCP Inspector. The CLI prints no
// progress and cannot cancel a call.
func TestInspector(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} { // legacy is the default
		overBoth(t, "Inspector, "+era, func(t *testing.T, server []string) {
			inspect := func(want string, args ...string) string {
				args = append([]string{"node_modules/.bin/mcp-inspector", "--cli", "--quiet",
					"--protocol-era", era, "--method"}, args...)
				out := node(t, "", append(append(args, "--"), server...)...)
				if !strings.Contains(out, want) {
					t.Errorf("%q, want %s", out, want)
				}
				return out
			}
			_, version, _ := strings.Cut(inspect("", "initialize"), `"protocolVersion": "`)
			version, _, _ = strings.Cut(version, `"`)
			t.Log("protocol version", version)
			inspect(`"test_simple_text"`, "tools/list")
			inspect("This is a simple text", "tools/call", "--tool-name", "test_simple_text")
		})
	}
}

// node runs the node that make setup installs, with a script on standard input.
func node(t *testing.T, script string, args ...string) string {
	t.Helper()
	tools, err := filepath.Abs("../../.tools")
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(tools, "node_modules", "node-*", "bin", "node"))
	if len(found) == 0 {
		t.Fatal("no node: run make setup")
	}
	cmd := exec.CommandContext(t.Context(), found[0], args...)
	cmd.Dir, cmd.Stdin = tools, strings.NewReader(script)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // the Inspector keeps files there
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// overBoth runs a test with a server on HTTP, and with the command of one on stdio.
func overBoth(t *testing.T, name string, test func(t *testing.T, server []string)) {
	t.Run(name+"/http", func(t *testing.T) {
		cmd := exec.Command(binary, "-addr", "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		line, err := bufio.NewReader(out).ReadString('\n')
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
		if !ok {
			t.Fatalf("%q, %v", line, err)
		}
		test(t, []string{url})
	})
	t.Run(name+"/stdio", func(t *testing.T) { test(t, []string{binary, "-stdio"}) })
}

var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "clients")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "conformance")
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Dir = filepath.Join("..", "..", "examples", "conformance")
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

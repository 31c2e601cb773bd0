// Command tour starts the team server, visits it as each of its users with a real MCP client,
// and prints what each sees and what a call to each of the other tools gets.
//
//	tour SERVER [flags of the server]
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// visitors are the users of the server, lowest role first.
var visitors = []struct{ name, role, token string }{
	{"nobody", "no token", ""},
	{"vera", "Viewer", "demo-vera"},
	{"mel", "Member", "demo-mel"},
	{"mara", "Manager", "demo-mara"},
	{"ada", "Admin", "demo-ada"},
}

// tools are all tools of the server with arguments that they accept.
var tools = []struct {
	name string
	args any
}{
	{directory.ToolCreate, directory.NewPerson{Name: "Grace Hopper", Email: "grace@example.org"}},
	{directory.ToolGetAll, nil},
	{directory.ToolGetByID, map[string]int{"id": 1}},
	{directory.ToolGetPublicInfo, nil},
	{directory.ToolPromoteToManager, map[string]int{"id": 1}},
	{directory.ToolUpdate, map[string]any{"id": 1, "name": "Rear Admiral Hopper"}},
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: tour SERVER [flags of the server]")
		os.Exit(2)
	}
	if err := tour(ctx, os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func tour(ctx context.Context, w io.Writer, server string, flags []string) (err error) {
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url, stop, err := start(ctx, server, append([]string{"-addr", "127.0.0.1:0", "-db", filepath.Join(dir, "team.db")}, flags...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	// The highest role goes first, so that there is somebody in the directory to see.
	reports := make([]string, len(visitors))
	for i, v := range slices.Backward(visitors) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s (%s)\n", v.name, v.role)
		if err := visit(ctx, &b, url, v.token); err != nil {
			fmt.Fprintf(&b, "  is refused: %v\n", err)
		}
		reports[i] = b.String()
	}
	_, err = io.WriteString(w, strings.Join(reports, "\n"))
	return err
}

// start runs the server and returns the URL that its first line of output names.
func start(ctx context.Context, server string, args []string) (url string, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, server, args...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if !found {
		return "", nil, errors.Join(fmt.Errorf("the server said %q; its log:\n%s", line, log.String()), err, stop())
	}
	return url, stop, nil
}

// visit connects with a token, lists the tools, and calls every tool of the server.
func visit(ctx context.Context, w io.Writer, url, token string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: bearer(token)},
	}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	var listed []string
	for _, t := range list.Tools {
		listed = append(listed, t.Name)
	}
	fmt.Fprintf(w, "  sees   %s\n", strings.Join(listed, ", "))
	for _, t := range tools {
		args := t.args
		if args == nil {
			args = struct{}{}
		}
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: t.name, Arguments: args})
		fmt.Fprintf(w, "  %-6s %-19s %s\n", mark(slices.Contains(listed, t.name)), t.name, answer(res, err))
	}
	return nil
}

func mark(listed bool) string {
	if listed {
		return "calls"
	}
	return "tries"
}

// answer is what came back, on one line.
func answer(res *mcp.CallToolResult, err error) string {
	if err != nil {
		var wire *jsonrpc.Error
		if errors.As(err, &wire) {
			return fmt.Sprintf("error %d: %s", wire.Code, wire.Message)
		}
		return err.Error()
	}
	if res.IsError {
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return "refused: " + text.Text
		}
	}
	line, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err.Error()
	}
	return shorten(string(line))
}

func shorten(s string) string {
	const width = 90
	if len(s) > width {
		return s[:width-1] + "…"
	}
	return s
}

// bearer sends a token with each request; the empty one sends none.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

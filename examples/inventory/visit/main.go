// Command visit makes a demonstration of the inventory, visits it over stdio as some users of its
// host with a real MCP client, and prints what each sees, what asking for more gets, and why.
//
//	visit SERVER
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
)

// visitors are users of the host, the one with the task first.
var visitors = []struct{ name, role, says string }{
	{"dns-agent", "", "the host lets it view DNS records and rename devices"},
	{"ada", "Admin", "a superuser of the host"},
}

// asked is what each visitor asks for, whether it sees it or not.
var asked = []struct {
	tool string
	args any
}{
	{dcim.ToolGetDNSRecord, map[string]int{"id": 2}},
	{dcim.ToolRenameDevice, map[string]string{"name": "edge-2", "new_name": "edge-two"}},
	{dcim.ToolDeleteDevice, map[string]string{"name": "leaf-2"}},
	{"no_such_tool", struct{}{}},
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: visit SERVER")
		os.Exit(2)
	}
	if err := visitAll(ctx, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "visit:", err)
		os.Exit(1)
	}
}

func visitAll(ctx context.Context, w io.Writer, server string) error {
	dir, err := os.MkdirTemp("", "visit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if server, err = filepath.Abs(server); err != nil {
		return err
	}
	for i, v := range visitors {
		if i > 0 {
			fmt.Fprintln(w)
		}
		file := filepath.Join(dir, v.name+".db") // one of its own: what another has done does not show
		if _, err := output(ctx, server, "-seed", "-db", file); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s (%s; %s)\n", v.name, cmp.Or(v.role, "no role"), v.says)
		if err := visit(ctx, w, server, "-stdio", "-as", v.name, "-role", v.role, "-db", file); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	// What no caller is told, whoever runs the server is.
	report, err := output(ctx, server, "-seed", "-doctor", "-as", visitors[0].name, "-db", filepath.Join(dir, visitors[0].name+".db"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n$ bin/inventory -seed -doctor -as %s | grep %s\n", visitors[0].name, dcim.ToolDeleteDevice)
	for line := range strings.Lines(report) {
		if strings.Contains(line, dcim.ToolDeleteDevice) {
			fmt.Fprint(w, line)
		}
	}
	return refused(ctx, w, server, dir)
}

// refused starts the server on a host whose tables are not NetBox's, and prints the start of its error.
func refused(ctx context.Context, w io.Writer, server, dir string) error {
	cmd := exec.CommandContext(ctx, server, "-stdio", "-as", "ada", "-netbox", "sqlite:ada.db")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err == nil {
		return errors.New("the server starts on a host that it cannot read")
	}
	fmt.Fprintln(w, "\n$ bin/inventory -stdio -as ada -netbox sqlite:ada.db   # the tables are Django's")
	missing := strings.SplitN(string(text), "; ", 2)
	fmt.Fprintln(w, strings.TrimSpace(missing[0])+"; …")
	return nil
}

// visit lists everything, and asks for what is to be asked for.
func visit(ctx context.Context, w io.Writer, server string, args ...string) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "visit", Version: "1"}, nil)
	cmd := exec.CommandContext(ctx, server, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("%w; its log:\n%s", err, &log)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	var tools, prompts, resources []string
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		tools = append(tools, t.Name)
	}
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return err
		}
		prompts = append(prompts, p.Name)
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return err
		}
		resources = append(resources, r.URITemplate)
	}
	for _, line := range []struct {
		kind  string
		names []string
	}{{"tools", tools}, {"prompts", prompts}, {"resources", resources}} {
		fmt.Fprintf(w, "  sees   %-9s  %s\n", line.kind, cmp.Or(strings.Join(line.names, ", "), "none"))
	}
	for _, a := range asked {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: a.tool, Arguments: a.args})
		fmt.Fprintf(w, "  asks   %-14s %s\n", a.tool, answered(res, err))
	}
	return nil
}

// answered is what a call brought back, on one line.
func answered(res *mcp.CallToolResult, err error) string {
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &wire):
		return fmt.Sprintf("error %d: %s", wire.Code, wire.Message)
	case err != nil:
		return err.Error()
	case res.IsError:
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return "failed: " + text.Text
		}
	case res.StructuredContent == nil:
		return "done"
	}
	line, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// output runs the server for what it prints.
func output(ctx context.Context, server string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, server, args...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &problem)
	}
	return string(out), nil
}

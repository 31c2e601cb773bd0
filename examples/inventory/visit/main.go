// Command visit makes a demonstration of the inventory and visits it over stdio, with a real MCP
// client, as some users of its host. It prints what each of them sees, how calls of other tools
// end, and why. It also revokes a permission in the host, between two calls of one session.
//
//	visit SERVER
package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
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
var visitors = []visitor{
	{"dns-agent", "", "the host lets it view DNS records and rename devices", "rename_device"},
	{"ada", "Admin", "a superuser of the host", ""},
}

type visitor struct {
	name, role, says string
	revoked          string // the permission that the host revokes after the calls; "" for none
}

// calls are what each visitor calls, whether the tool is listed or not.
var calls = []call{
	{dcim.ToolGetDNSRecord, map[string]int{"id": 2}},
	rename,
	{dcim.ToolDeleteDevice, map[string]string{"name": "leaf-2"}},
	{"no_such_tool", struct{}{}},
}

var rename = call{dcim.ToolRenameDevice,
	map[string]string{"name": "edge-2", "new_name": "edge-two"}}

type call struct {
	tool string
	args any
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
		// one of its own: what another has done does not show
		file := filepath.Join(dir, v.name+".db")
		if _, err := output(ctx, server, "-seed", "-db", file); err != nil {
			return err
		}
		fmt.Fprintf(w, "%s (%s; %s)\n", v.name, cmp.Or(v.role, "no role"), v.says)
		if err := v.visit(ctx, w, server, file); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	// The operator of the server sees the reasons, and no caller does.
	report, err := output(ctx, server, "-seed", "-doctor", "-as", visitors[0].name, "-db",
		filepath.Join(dir, visitors[0].name+".db"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n$ bin/inventory -seed -doctor -as %s | grep %s\n", visitors[0].name,
		dcim.ToolDeleteDevice)
	for line := range strings.Lines(report) {
		if strings.Contains(line, dcim.ToolDeleteDevice) {
			fmt.Fprint(w, line)
		}
	}
	return refused(ctx, w, server, dir)
}

// refused starts the server on a host whose tables are not NetBox's, and prints the start of its
// error.
func refused(ctx context.Context, w io.Writer, server, dir string) error {
	cmd := exec.CommandContext(ctx, server, "-stdio", "-as", "ada", "-netbox", "sqlite:ada.db")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err == nil {
		return errors.New("the server starts on a host that it cannot read")
	}
	fmt.Fprintln(
		w, "\n$ bin/inventory -stdio -as ada -netbox sqlite:ada.db   # the tables are Django's")
	missing := strings.SplitN(string(text), "; ", 2)
	fmt.Fprintln(w, strings.TrimSpace(missing[0])+"; …")
	return nil
}

// visit lists everything and makes the calls, on the server of a file.
func (v visitor) visit(ctx context.Context, w io.Writer, server, file string) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "visit", Version: "1"}, nil)
	cmd := exec.CommandContext(ctx, server, "-stdio", "-as", v.name, "-role", v.role, "-db", file)
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
		fmt.Fprintf(w, "  sees   %-9s  %s\n", line.kind,
			cmp.Or(strings.Join(line.names, ", "), "none"))
	}
	send := func(c call) {
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		fmt.Fprintf(w, "  calls  %-14s %s\n", c.tool, result(res, err))
	}
	for _, c := range calls {
		send(c)
	}
	if v.revoked == "" {
		return nil
	}
	if err := v.revoke(ctx, file); err != nil {
		return err
	}
	fmt.Fprintf(w, "  host   revokes dcim.%s\n", v.revoked)
	send(rename)
	return nil
}

// revoke takes a permission from the visitor, in the tables of the host.
func (v visitor) revoke(ctx context.Context, file string) (err error) {
	host, err := sql.Open("sqlite", dcim.Source(file, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	_, err = host.ExecContext(ctx, `DELETE FROM auth_user_user_permissions
		WHERE user_id = (SELECT id FROM auth_user WHERE username = ?)
		AND permission_id = (SELECT id FROM auth_permission WHERE codename = ?)`, v.name, v.revoked)
	return err
}

// result returns the result of a call on one line.
func result(res *mcp.CallToolResult, err error) string {
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

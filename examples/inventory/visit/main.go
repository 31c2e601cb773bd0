// Command visit fills an inventory and connects to it over stdio, as two users of its host. It
// prints what each user's lists contain and the results of calls. Between two calls of one session,
// the host revokes a permission. Then it prints the reasons, which only the operator gets.
//
//	visit SERVER
package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
)

var users = []user{
	{"dns-agent", "", "the host lets it view DNS records and rename devices", "rename_device"},
	{"ada", "Admin", "a superuser of the host", ""},
}

type user struct {
	name, role, note string
	revoked          string // the permission that the host revokes after the calls, or ""
}

// rename is the call that is repeated after the host has revoked its permission.
var rename = call{dcim.ToolRenameDevice,
	map[string]string{"name": "edge-2", "new_name": "edge-two"}}

// calls are the calls of each user, also of tools that the user's list does not contain.
var calls = []call{
	{dcim.ToolGetDNSRecord, map[string]int{"id": 2}},
	rename,
	{dcim.ToolDeleteDevice, map[string]string{"name": "leaf-2"}},
	{"no_such_tool", struct{}{}},
}

type call struct {
	tool string
	args any
}

func main() { visitor.Main("visit", "SERVER", visitAll) }

func visitAll(ctx context.Context, w io.Writer, args []string) error {
	dir, err := os.MkdirTemp("", "visit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, server, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, u := range users {
		// Each user has an inventory of its own, so that the calls of one do not change another's.
		if out, err := run("-seed", "-db", u.name+".db"); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		fmt.Fprintf(w, "%s (%s; %s)\n", u.name, cmp.Or(u.role, "no role"), u.note)
		if err := u.visit(ctx, w, server, filepath.Join(dir, u.name+".db")); err != nil {
			return fmt.Errorf("%s: %w", u.name, err)
		}
		fmt.Fprintln(w)
	}
	report, err := run("-doctor", "-as", "dns-agent", "-db", "dns-agent.db")
	if err != nil {
		return fmt.Errorf("%w: %s", err, report)
	}
	fmt.Fprintf(w, "$ inventory -doctor -as dns-agent -db dns-agent.db | grep %s\n",
		dcim.ToolDeleteDevice)
	for line := range strings.Lines(report) {
		if strings.Contains(line, dcim.ToolDeleteDevice) {
			visitor.Printf(w, "%s", strings.TrimSuffix(line, "\n"))
		}
	}
	problem, err := run("-stdio", "-as", "ada", "-netbox", "sqlite:ada.db")
	if err == nil {
		return errors.New("the server starts on a host that it cannot read")
	}
	fmt.Fprintln(w, "\n$ inventory -stdio -as ada -netbox sqlite:ada.db  # the tables are Django's")
	first, _, _ := strings.Cut(problem, "; ")
	visitor.Printf(w, "%s; …", strings.TrimSpace(first))
	return nil
}

// visit connects as the user, lists everything and makes the calls.
func (u user) visit(ctx context.Context, w io.Writer, server, file string) (err error) {
	cmd := exec.CommandContext(ctx, server, "-stdio", "-as", u.name, "-role", u.role, "-db", file)
	var log bytes.Buffer
	cmd.Stderr = &log
	session, err := visitor.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("%w; its log:\n%s", err, &log)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	if err := visitor.PrintLists(ctx, w, session); err != nil {
		return err
	}
	send := func(c call) {
		fmt.Fprintf(w, "  call %-14s %s\n", c.tool, visitor.Call(ctx, session, c.tool, c.args))
	}
	for _, c := range calls {
		send(c)
	}
	if u.revoked == "" {
		return nil
	}
	if err := u.revoke(ctx, file); err != nil {
		return err
	}
	fmt.Fprintf(w, "  the host revokes dcim.%s\n", u.revoked)
	send(rename)
	return nil
}

// revoke deletes the permission of the user in the tables of the host.
func (u user) revoke(ctx context.Context, file string) (err error) {
	host, err := sql.Open("sqlite", dcim.Source(file, ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	_, err = host.ExecContext(ctx, `DELETE FROM auth_user_user_permissions
		WHERE user_id = (SELECT id FROM auth_user WHERE username = ?)
		AND permission_id = (SELECT id FROM auth_permission WHERE codename = ?)`, u.name, u.revoked)
	return err
}

// Command flow starts the workspace server and shows the life of a grant: a call is denied, the
// agent requests a permission, the operator approves it, the call runs, and the operator revokes
// the grant.
//
//	flow SERVER [flags of the server]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/workspace/desk"
	"github.com/mcpgen/mcpgen/runtime/sandbox/workspacetools"
)

func main() { visitor.Main("flow", "SERVER [flags of the server]", flow) }

type object = map[string]any

func flow(ctx context.Context, w io.Writer, args []string) (err error) {
	dir, err := os.MkdirTemp("", "flow")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := visitor.WriteFiles(dir, map[string]string{
		"public/welcome.txt": "Welcome.", "files/plan.md": "The plan."}); err != nil {
		return err
	}
	server, err := visitor.Start(ctx, args[0], append(args[1:], "-data", dir)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	robin, err := visitor.Connect(ctx, visitor.HTTP(server.URL, "demo-robin"), nil)
	if err != nil {
		return err
	}
	defer robin.Close()
	call := func(tool string, args object) string {
		text, _ := json.Marshal(args) // maps of strings
		result := visitor.Call(ctx, robin, tool, args)
		visitor.Printf(w, "  call %s %s\n    %s", tool, text, result)
		return result
	}
	olga := func(method, path string, body, result any) error {
		return visitor.Admin(ctx, server.URL, "demo-olga", method, path, body, result)
	}

	fmt.Fprintln(w, "robin, an agent with the default grants:")
	plan := object{"path": "files/plan.md"}
	call(desk.ToolReadFile, object{"path": "public/welcome.txt"})
	call(desk.ToolRunCommand, object{"argv": []string{"echo", "hello;", "id"}})
	call(desk.ToolRunCommand, object{"argv": []string{"sh", "-c", "id"}})
	call(desk.ToolReadFile, plan)
	var request struct{ ID string }
	if err := json.Unmarshal([]byte(call("request_permission", object{"type": "file.read",
		"resource": "files/*.md", "restricted": false, "reason": "summary"},
	)), &request); err != nil {
		return err
	}
	fmt.Fprintln(w, "olga, an operator, approves the request for an hour:")
	if err := olga(http.MethodPost, "/mcp/grants/requests/"+request.ID+"/approve", object{
		"note": "for the summary", "expires_at": time.Now().Add(time.Hour).UTC()}, nil); err != nil {
		return err
	}
	call(desk.ToolReadFile, plan)
	fmt.Fprintln(w, "olga revokes the grant:")
	if err := olga(http.MethodPost, "/mcp/grants/revoke", object{"issuer": "workspace",
		"client": "robin", "type": "file.read", "resource": "files/*.md",
		"reason": "done"}, nil); err != nil {
		return err
	}
	call(desk.ToolReadFile, plan)
	fmt.Fprintln(w, "robin clears the workspace of its isolated calls:")
	call(workspacetools.ToolClearWorkspace, object{})

	// The tool is not readonly, so the server records the intent before it runs the handler.
	var found struct {
		Items []struct {
			Event struct {
				Status    string
				RequestID string `json:"request_id"`
			}
		}
	}
	if err := olga(http.MethodGet, "/audit/events?tool="+workspacetools.ToolClearWorkspace, nil,
		&found); err != nil {
		return err
	}
	if err := olga(http.MethodGet, "/audit/events?request_id="+found.Items[0].Event.RequestID, nil,
		&found); err != nil {
		return err
	}
	fmt.Fprintln(w, "The audit trail contains two records of this call, by status:")
	for _, item := range slices.Backward(found.Items) {
		fmt.Fprintln(w, "  "+item.Event.Status)
	}
	return nil
}

// Command flow starts the workspace server and takes one call through its life: refused, asked for,
// approved by the operator, working, revoked, and refused again.
//
//	flow SERVER [flags of the server]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/served"
	"github.com/mcpgen/mcpgen/examples/workspace/desk"
	"github.com/mcpgen/mcpgen/runtime/sandbox/workspacetools"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: flow SERVER [flags of the server]")
		os.Exit(2)
	}
	if err := flow(ctx, os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "flow:", err)
		os.Exit(1)
	}
}

// files are what there is in the server's folders.
var files = map[string]string{"public/welcome.txt": "Welcome.", "files/plan.md": "The plan."}

func flow(ctx context.Context, w io.Writer, server string, flags []string) (err error) {
	dir, err := os.MkdirTemp("", "flow")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	url, stop, err := served.Start(ctx, server, append([]string{"-addr", "127.0.0.1:0", "-data",
		dir}, flags...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	t := visitor{ctx, w, url, nil}
	client := mcp.NewClient(&mcp.Implementation{Name: "flow", Version: "1"}, nil)
	if t.robin, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: served.Bearer("demo-robin")}}, nil); err != nil {
		return err
	}
	defer t.robin.Close()
	return t.visit()
}

// visitor is robin, an agent, and olga, who decides.
type visitor struct {
	ctx   context.Context
	w     io.Writer
	url   string
	robin *mcp.ClientSession
}

func (t visitor) visit() error {
	fmt.Fprintln(t.w, "robin (an agent, with what everybody may)")
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{desk.ToolReadFile, map[string]any{"path": "public/welcome.txt"}},
		{desk.ToolRunCommand, map[string]any{"argv": []string{"echo", "hello;", "id"}}},
		{desk.ToolRunCommand, map[string]any{"argv": []string{"sh", "-c", "id"}}},
		{desk.ToolReadFile, map[string]any{"path": "files/plan.md"}},
	} {
		if _, err := t.call(c.tool, c.args); err != nil {
			return err
		}
	}
	wish := map[string]any{"type": "file.read", "resource": "files/*.md",
		"restricted": false, "reason": "to sum up the plan"} // as in the refusal
	made, err := t.call("request_permission", wish)
	if err != nil {
		return err
	}
	var request struct{ ID string }
	if err := json.Unmarshal([]byte(made), &request); err != nil {
		return err
	}
	fmt.Fprintln(t.w, "olga approves it for an hour, by the API or in the console")
	if err := t.decide("/requests/"+request.ID+"/approve", map[string]any{"note": "for the summary",
		"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}); err != nil {
		return err
	}
	if _, err := t.call(desk.ToolReadFile, map[string]any{"path": "files/plan.md"}); err != nil {
		return err
	}
	fmt.Fprintln(t.w, "olga revokes it")
	if err := t.decide("/revoke", map[string]any{"issuer": "workspace", "client": "robin",
		"type": "file.read", "resource": "files/*.md", "reason": "done"}); err != nil {
		return err
	}
	if _, err = t.call(desk.ToolReadFile, map[string]any{"path": "files/plan.md"}); err != nil {
		return err
	}
	fmt.Fprintln(t.w, "robin clears its workspace; with a full one, isolated calls can only remove")
	if _, err = t.call(workspacetools.ToolClearWorkspace, map[string]any{}); err != nil {
		return err
	}
	return t.trail()
}

// trail prints robin's last call as olga finds it in the audit: an intent, and its outcome.
func (t visitor) trail() error {
	var found struct {
		Items []struct {
			Event struct {
				Status    string
				RequestID string `json:"request_id"`
			}
		}
	}
	search := "/audit/events?tool=" + workspacetools.ToolClearWorkspace
	if err := t.admin(http.MethodGet, search, nil, &found); err != nil {
		return err
	}
	fmt.Fprintln(
		t.w, "the audit has two records of that call: one before it began, and one of its end")
	if err := t.admin(http.MethodGet, "/audit/events?request_id="+found.Items[0].Event.RequestID,
		nil, &found); err != nil {
		return err
	}
	for _, e := range slices.Backward(found.Items) {
		fmt.Fprintln(t.w, "  status", e.Event.Status)
	}
	return nil
}

// call calls a tool as robin, and says what came of it.
func (t visitor) call(tool string, args map[string]any) (string, error) {
	res, err := t.robin.CallTool(t.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	answer := "done"
	if len(res.Content) > 0 {
		answer = res.Content[0].(*mcp.TextContent).Text
	}
	text, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(t.w, "  calls  %-18s %s\n", tool, text)
	fmt.Fprintf(t.w, "         %s\n", answer)
	return answer, nil
}

// decide posts a decision about grants to the API as olga.
func (t visitor) decide(path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return t.admin(http.MethodPost, "/mcp/grants"+path, bytes.NewReader(text), nil)
}

// admin calls the API as olga. answer may be nil.
func (t visitor) admin(method, path string, body io.Reader, answer any) error {
	url := strings.TrimSuffix(t.url, "/mcp") + "/api/v1/admin" + path
	req, err := http.NewRequestWithContext(t.ctx, method, url, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: served.Bearer("demo-olga")}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s %s", path, res.Status, text)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}

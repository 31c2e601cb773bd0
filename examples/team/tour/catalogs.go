package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/served"
	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// administer makes a catalog through the API as the highest role, shows who is listed what of it, and switches a
// tool off while somebody listens.
func administer(ctx context.Context, w io.Writer, endpoint string) error {
	api := administration{strings.TrimSuffix(endpoint, "/mcp") + "/api/v1/admin/mcp", visitors[len(visitors)-1].token}
	const name = "research-kit"
	made, err := api.do(ctx, http.MethodPost, "/tool_catalogs", map[string]any{"name": name})
	if err != nil {
		return err
	}
	tools := []string{directory.ToolGetAll, directory.ToolPromoteToManager, directory.ToolUpdate}
	for _, tool := range tools {
		if _, err := api.do(ctx, http.MethodPost, fmt.Sprintf("/tool_catalogs/%v/entries", made["id"]), map[string]any{"tool_name": tool}); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "ada makes the catalog %s of %s; a client that adds ?catalog=%s to its URL is listed\n", name, strings.Join(tools, ", "), name)
	changed := make(chan struct{}, 1)
	var listener *mcp.ClientSession
	for _, v := range visitors[1:] {
		var options mcp.ClientOptions
		if listener == nil {
			options.ToolListChangedHandler = func(context.Context, *mcp.ToolListChangedRequest) {
				select {
				case changed <- struct{}{}:
				default:
				}
			}
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1"}, &options)
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint + "?catalog=" + name, HTTPClient: &http.Client{Transport: served.Bearer(v.token)}}, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		if listener == nil {
			listener = session
		}
		listed, err := listedTo(ctx, session)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %-6s %s\n", v.name, listed)
	}
	// The stream that a client is told by opens some time after its session: switch until it hears.
	for told, on := false, false; !told; on = !on {
		if _, err := api.do(ctx, http.MethodPatch, "/tools/"+directory.ToolGetAll, map[string]any{"enabled": on}); err != nil {
			return err
		}
		select {
		case <-changed:
			told = !on
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.New("nobody was told that a tool was switched off")
		}
	}
	listed, err := listedTo(ctx, listener)
	if err != nil {
		return err
	}
	_, err = listener.CallTool(ctx, &mcp.CallToolParams{Name: directory.ToolGetAll, Arguments: struct{}{}})
	fmt.Fprintf(w, "ada switches %s off; vera is told that her list has changed\n  %-6s %s\n  tries  %-20s %s\n", directory.ToolGetAll, "vera", listed, directory.ToolGetAll, failed(err))
	return nil
}

func listedTo(ctx context.Context, session *mcp.ClientSession) (string, error) {
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		names = append(names, tool.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none"), nil
}

// administration is the API as somebody with a token.
type administration struct{ base, token string }

func (a administration) do(ctx context.Context, method, path string, body any) (map[string]any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: served.Bearer(a.token)}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %v", method, path, res.Status, answer)
	}
	return answer, nil
}

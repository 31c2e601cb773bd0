package main

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// Each caller lists and calls the tools that its role allows. Other tools are unknown.
func TestAdoptedToolsFollowTheRules(t *testing.T) {
	server, err := guarded(existing())
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	for _, caller := range []struct {
		token string
		tools []string
	}{
		{"", []string{"count_issues"}},
		{"demo-vera", []string{"count_issues", "get_issue"}},
		{"demo-mara", []string{"close_issue", "count_issues", "get_issue"}},
	} {
		session := mcptest.Connect(t, web.URL+"/mcp", caller.token, "")
		var listed []string
		for tool, err := range session.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, tool.Name)
		}
		slices.Sort(listed)
		if !slices.Equal(listed, caller.tools) {
			t.Errorf("%q lists %q, want %q", caller.token, listed, caller.tools)
		}
		for _, tool := range []string{"count_issues", "get_issue", "close_issue"} {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			switch {
			case !slices.Contains(caller.tools, tool):
				if err == nil || !strings.Contains(err.Error(), `unknown tool "`+tool+`"`) {
					t.Errorf("%q calls %s: %v", caller.token, tool, err)
				}
			case err != nil || res.Content[0].(*mcp.TextContent).Text != tool:
				t.Errorf("%q calls %s: %v %v", caller.token, tool, res, err)
			}
		}
	}
}

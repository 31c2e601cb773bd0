package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestDebugToolsAreThereForAdminsWhereTheFlagIsSet, in a process of its own, which has an
// environment to tell of.
func TestDebugToolsAreThereForAdminsWhereTheFlagIsSet(t *testing.T) {
	t.Setenv("TEAM_DATABASE", "postgres://ann:hunter2@db.example/team")
	web := start(t, "-debug").Base + "/mcp?apikey=hunter2"
	for transport, connection := range map[string]func(caller string) mcp.Transport{
		"http": func(caller string) mcp.Transport { return transport(web, caller) },
		"stdio": func(caller string) mcp.Transport {
			return stdio("-debug", "-db", filepath.Join(t.TempDir(), "team.db"), "-stdio", caller)
		},
	} {
		for _, caller := range []string{"ada", "mara"} {
			session := connect(t, connection(caller), "")
			names := list(t, session)
			for tool, want := range map[string]string{
				"debug_print_env":       `"TEAM_DATABASE": "postgres://ann:***MASKED***@db.example/team"`,
				"debug_get_server_info": `"transport": "` + transport + `"`,
				"debug_get_http_headers": map[string]string{
					"http":  `"queryString": "apikey=***MASKED***"`,
					"stdio": `"No HTTP context available"`,
				}[transport],
				"debug_get_user_claims": map[string]string{"http": `"sub": "ada"`,
					"stdio": `"No HTTP context available"`}[transport],
			} {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
				if caller == "mara" {
					if err == nil || !strings.Contains(err.Error(), "unknown tool") ||
						slices.Contains(names, tool) {
						t.Errorf("%s: %s finds %s: %v %v", transport, caller, tool, names, err)
					}
					continue
				}
				if err != nil || !strings.Contains(text(res), want) ||
					strings.Contains(text(res), "hunter2") || !slices.Contains(names, tool) {
					t.Errorf("%s: %s says %s, %v; want %s", transport, tool, text(res), err, want)
				}
			}
		}
	}
}

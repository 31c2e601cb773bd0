package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// agents are the boundaries of the clients of ada, by client.
type agents map[string]boundary.Boundary

func (a agents) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	b, ok := a[p.Client]
	return b, ok, nil
}

// fieldSessions connects every caller, and two agents of the Admin: one counts as a Member, and one
// as a Manager.
func fieldSessions(t *testing.T, era string) map[string]*mcp.ClientSession {
	t.Helper()
	bounds := agents{"member-agent": {Roles: []string{"Member"}, Items: []string{"*"}},
		"manager-agent": {Roles: []string{"Manager"}, Items: []string{"*"}}}
	known := tokens()
	for client := range bounds {
		known[identity.HashToken("demo-"+client)] = access.Principal{Issuer: "team", Subject: "ada",
			Client: client, Roles: []string{"Admin"}}
	}
	url := serveHTTP(t, runtime.Options{Identity: identity.Static(known),
		Access: runtime.AccessOptions{Boundaries: bounds, BoundariesOptional: true}})
	sessions := map[string]*mcp.ClientSession{}
	for _, caller := range []string{"vera", "mel", "olga", "member-agent", "mara", "ada",
		"manager-agent"} {
		sessions[caller] = connectHTTP(t, url, caller, era)
	}
	return sessions
}

// answer is all that a client reads of the result of a call.
func answer(t *testing.T, session *mcp.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	all, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// Only Managers, Admins and agents with such a role find a salary in lists and results.
func TestSalaryIsForManagers(t *testing.T) {
	for _, era := range eras {
		sessions := fieldSessions(t, era)
		hired := answer(t, sessions["mara"], directory.ToolCreate, map[string]any{
			"name": "Joan Clarke", "email": "joan@example.org", "salary": 70123})
		for caller, session := range sessions {
			may := caller == "mara" || caller == "ada" || caller == "manager-agent"
			listed, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			schemas, err := json.Marshal(listed)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(strings.ToLower(string(schemas)), "salary"); got != may {
				t.Errorf("%s, %s: the list has a salary: %t, want %t", era, caller, got, may)
			}
			for tool, args := range map[string]map[string]any{directory.ToolGetAll: {},
				directory.ToolGetByID: {"id": 2}} {
				got := answer(t, session, tool, args)
				if !strings.Contains(got, "Joan Clarke") ||
					strings.Count(got, "70123") != map[bool]int{true: 2}[may] ||
					strings.Contains(got, "salary") != may {
					t.Errorf("%s, %s calls %s: %s", era, caller, tool, got)
				}
			}
		}
		if !strings.Contains(hired, "70123") {
			t.Errorf("%s: mara gets of her call %s", era, hired)
		}
	}
}

// A salary in the arguments is an unknown property for a Member and for an agent of an Admin that
// counts as a Member: the answer is that of a property that does not exist.
func TestSalaryIsUnknownBelowManager(t *testing.T) {
	for _, era := range eras {
		sessions := fieldSessions(t, era)
		for _, caller := range []string{"mel", "olga", "member-agent", "mara", "manager-agent"} {
			session, may := sessions[caller], strings.HasPrefix(caller, "ma")
			hire := func(property string) string {
				return answer(t, session, directory.ToolCreate, map[string]any{"name": "Joan Clarke",
					"email": "joan@example.org", property: 70123})
			}
			hidden, unknown := hire("salary"), hire("height")
			if same := strings.ReplaceAll(unknown, "height", "salary") == hidden; same == may ||
				!strings.Contains(unknown, "/height: unknown property") {
				t.Errorf("%s, %s: salary gets\n%s\nand height gets\n%s", era, caller, hidden, unknown)
			}
			if got := hire("salery"); strings.Contains(got, `"salary\"?`) != may {
				t.Errorf("%s, %s: a misspelt salary gets %s", era, caller, got)
			}
			made := answer(t, session, directory.ToolCreate, map[string]any{"name": "Joan Clarke",
				"email": "joan@example.org"})
			if !strings.Contains(made, "Joan Clarke") || strings.Contains(made, "isError") {
				t.Errorf("%s, %s creates a person without a salary: %s", era, caller, made)
			}
		}
	}
}

// A change without a salary keeps the salary, also by a caller who does not see it.
func TestAbsentSalaryStays(t *testing.T) {
	sessions := fieldSessions(t, "")
	for _, change := range []struct {
		caller    string
		arguments map[string]any
		accepted  bool
	}{
		{"manager-agent", map[string]any{"id": 1, "salary": 70123}, true},
		{"manager-agent", map[string]any{"id": 1, "name": "Grace"}, true},
		{"manager-agent", map[string]any{"id": 1, "email": "g@example.org", "salary": nil}, true},
		{"member-agent", map[string]any{"id": 1, "name": "Grace Hopper"}, true},
		{"member-agent", map[string]any{"id": 1, "salary": nil}, false},
		{"mel", map[string]any{"id": 1, "salary": 0}, false},
	} {
		made := answer(t, sessions[change.caller], directory.ToolUpdate, change.arguments)
		if strings.Contains(made, "isError") == change.accepted ||
			strings.Contains(made, "70123") != (change.caller == "manager-agent") {
			t.Errorf("%s gets of the change %v: %s", change.caller, change.arguments, made)
		}
		got := answer(t, sessions["ada"], directory.ToolGetByID, map[string]any{"id": 1})
		if !strings.Contains(got, `"salary":70123`) {
			t.Errorf("after the change %v of %s: %s", change.arguments, change.caller, got)
		}
	}
	got := answer(t, sessions["ada"], directory.ToolPromoteToManager, map[string]any{"id": 1})
	if !strings.Contains(got, `"salary":70123`) {
		t.Errorf("after the promotion: %s", got)
	}
}

package people

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

func call(t *testing.T, session *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRecordOfAMemberKeepsTheSalary(t *testing.T) {
	dir := &Directory{people: map[int]Person{7: {ID: 7, Name: "Ada", Salary: new(70000)}},
		badges: map[int]string{7: "safe 3"}}
	server, err := runtime.New(runtime.Options{Identity: mcptest.Identities{}}, Toolset(dir))
	if err != nil {
		t.Fatal(err)
	}
	as := func(role string) *mcp.ClientSession {
		return mcptest.As(t, server, access.Principal{Subject: role, Roles: []string{role}}, "")
	}
	mel := access.Principal{Subject: "mel", Roles: []string{"Member"}}
	mcptest.AssertConcealed(t, server, mel, "example.com/howto/rules-for-fields/people.Person.Salary")
	member, manager, admin := as("Member"), as("Manager"), as("Admin")

	record := call(t, member, "get_person", map[string]any{"id": 7}).StructuredContent.(map[string]any)
	if _, has := record["salary"]; has || record["name"] != "Ada" {
		t.Fatalf("the Member reads %v", record)
	}
	record["name"] = "Ada Lovelace"
	call(t, member, "save_person", record)
	got := mcptest.Text(call(t, manager, "get_person", map[string]any{"id": 7}))
	if got != `{"id":7,"name":"Ada Lovelace","salary":70000}` {
		t.Errorf("after the change by the Member: %s", got)
	}
	record["salary"] = 1
	got = mcptest.Text(call(t, member, "save_person", record))
	if !strings.Contains(got, "/salary: unknown property") || *dir.people[7].Salary != 70000 {
		t.Errorf("the Member sends a salary: %s", got)
	}
	call(t, manager, "save_person", record)
	if *dir.people[7].Salary != 1 {
		t.Errorf("the Manager sends a salary: %v", dir.people[7])
	}

	for _, step := range []struct {
		session *mcp.ClientSession
		args    map[string]any
		want    string
	}{
		{member, map[string]any{"id": 7}, "safe 3"},
		{member, map[string]any{"id": 7, "door": nil}, "safe 3"},
		{admin, map[string]any{"id": 7}, "safe 3"},
		{admin, map[string]any{"id": 7, "door": nil}, ""},
	} {
		if call(t, step.session, "set_badge", step.args); dir.badges[7] != step.want {
			t.Errorf("%v: the badge is %q, want %q", step.args, dir.badges[7], step.want)
		}
	}
	got = mcptest.Text(call(t, member, "program", nil))
	if strings.Contains(got, "people.example") {
		t.Errorf("the Member reads %s", got)
	}
}

// A rule holds below an interface, also for types that no tool has by itself.
func TestNoteIsNotSentBelowAnInterface(t *testing.T) {
	server, err := runtime.New(runtime.Options{Identity: mcptest.Identities{}}, Toolset(&Directory{}))
	if err != nil {
		t.Fatal(err)
	}
	member := mcptest.As(t, server, access.Principal{Subject: "mel", Roles: []string{"Member"}}, "")
	for _, kind := range []string{"note", "memo", "letter", "other"} {
		res, err := member.CallTool(t.Context(), &mcp.CallToolParams{Name: "latest",
			Arguments: map[string]any{"kind": kind}})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = mcptest.Text(res)
		}
		if strings.Contains(got, "4711") || strings.Contains(got, "internal error") == (kind == "other") {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

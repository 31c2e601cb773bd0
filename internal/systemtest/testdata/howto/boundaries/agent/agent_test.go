package agent_test

import (
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"

	"example.com/howto/boundaries/agent"
)

func TestAgentSeesItsToolsOnly(t *testing.T) {
	server, err := agent.NewServer(mcptest.Identities{}, agent.Toolset())
	if err != nil {
		t.Fatal(err)
	}
	// An agent of an administrator.
	ada := access.Principal{Issuer: "https://id.example", Subject: "ada", Client: "dns-agent",
		Roles: []string{"Admin"}}
	session := mcptest.As(t, server, ada, "")
	want := []string{"list_records", "report_usage", "set_device"}
	if got := mcptest.Tools(t, session); !slices.Equal(got, want) {
		t.Errorf("the agent sees %q, want %q", got, want)
	}
	if got := mcptest.Values(t, session, "set_device", "name"); !slices.Equal(got, []string{"rack"}) {
		t.Errorf("the agent may set %q", got)
	}
	mcptest.AssertConcealed(t, server, ada, "drop_zone")
}

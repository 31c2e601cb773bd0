package mcptest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// A test of a service: what does each caller see, over HTTP and on stdio? The toolset stands for
// that of the service.
func Example() {
	test := func(t *testing.T) {
		server, err := runtime.New(runtime.Options{
			Identity: identity.Static(map[string]access.Principal{
				identity.HashToken("viewer"): {Subject: "vera", Roles: []string{"Viewer"}},
				identity.HashToken("admin"):  {Subject: "ada", Roles: []string{"Admin"}},
			}),
		}, debugtools.Toolset(debugtools.New(debugtools.Options{})))
		if err != nil {
			t.Fatal(err)
		}
		url := mcptest.Serve(t, server) // shuts down when the test ends

		viewer := mcptest.Connect(t, url, "viewer", "") // the newest version of MCP
		if got := mcptest.Tools(t, viewer); len(got) != 0 {
			t.Errorf("a viewer sees %q", got)
		}
		admin := mcptest.Pipe(t, server, access.Principal{Subject: "ada", Roles: []string{"Admin"}},
			"2025-11-25")
		if !slices.Contains(mcptest.Tools(t, admin), debugtools.ToolPrintEnv) {
			t.Error("an admin does not see debug_print_env")
		}
	}
	_ = test // func TestWhatCallersSee(t *testing.T)
}

// A test of rules and of what they hide, without a socket.
func ExampleAs() {
	test := func(t *testing.T) {
		set := debugtools.Toolset(debugtools.New(debugtools.Options{}))
		server, err := runtime.New(runtime.Options{Identity: mcptest.Identities{}}, set)
		if err != nil {
			t.Fatal(err)
		}
		admin := mcptest.As(t, server, access.Principal{Subject: "ada", Roles: []string{"Admin"}}, "")
		if !slices.Contains(mcptest.Tools(t, admin), debugtools.ToolPrintEnv) {
			t.Error("an admin does not see debug_print_env")
		}
	}
	_ = test
}

// A client that answers the questions of tools with elicits, over HTTP.
func ExampleHTTPClient() {
	test := func(t *testing.T, server *runtime.Server) {
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{
					Action: "accept", Content: map[string]any{"sure": true},
				}, nil
			},
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: mcptest.Serve(t, server), HTTPClient: mcptest.HTTPClient("token"),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
	}
	_ = test
}

// MCPTEST_UPDATE=1 writes the file.
func ExampleAssertMatrix() {
	test := func(t *testing.T) {
		set := debugtools.Toolset(debugtools.New(debugtools.Options{}))
		mcptest.AssertMatrix(t, set, "testdata/debugtools.matrix")
	}
	_ = test
}

func ExampleAssertConcealed() {
	test := func(t *testing.T, server *runtime.Server) {
		viewer := access.Principal{Subject: "vera", Roles: []string{"Viewer"}}
		mcptest.AssertConcealed(t, server, viewer, debugtools.ToolPrintEnv)
	}
	_ = test
}

func ExampleAssertSameList() {
	test := func(t *testing.T, server *runtime.Server) {
		vera := access.Principal{Subject: "vera", Roles: []string{"Viewer"}}
		vito := access.Principal{Subject: "vito", Roles: []string{"Viewer"}}
		mcptest.AssertSameList(t, server, vera, vito)
	}
	_ = test
}

// The token of each caller is the name of its role.
func ExampleRoles() {
	source := mcptest.Roles("Viewer", "Admin")
	source["deploy"] = access.Principal{Subject: "ci", Client: "ci", Roles: []string{"Viewer"}}
	fmt.Println(source.Principal("Viewer").Subject, source.Principal("deploy").Subject)
	// Output: Viewer ci
}

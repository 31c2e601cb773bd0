package mcptest_test

import (
	"slices"
	"testing"

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
				identity.HashToken("viewer"): {Subject: "vera", Role: "Viewer"},
				identity.HashToken("admin"):  {Subject: "ada", Role: "Admin"},
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
		admin := mcptest.Pipe(t, server, access.Principal{Subject: "ada", Role: "Admin"}, "2025-11-25")
		if !slices.Contains(mcptest.Tools(t, admin), debugtools.ToolPrintEnv) {
			t.Error("an admin does not see debug_print_env")
		}
	}
	_ = test // func TestWhatCallersSee(t *testing.T)
}

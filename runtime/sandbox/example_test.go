package sandbox_test

import (
	"log"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/sandbox"
	"github.com/mcpgen/mcpgen/runtime/sandbox/workspacetools"
)

// The main function of a server with limits and isolated calls. Its toolset stands for that of a
// service.
func Example() {
	sandbox.Main() // first: isolated calls run in processes of this program
	box, err := sandbox.New(sandbox.Options{Workspaces: "/var/lib/mcp/workspaces"})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	server, err := runtime.New(runtime.Options{Sandbox: box}, workspacetools.Tools(box))
	if err != nil {
		log.Fatal(err)
	}
	_ = server // serve it with runtime.ListenAndServe
}

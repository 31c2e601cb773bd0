package debugtools_test

import (
	"fmt"
	"log"
	"log/slog"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
)

// The debug tools are for the highest role of the server that they are added to. A service passes
// its own Toolset first.
func Example() {
	server, err := runtime.New(runtime.Options{Logger: slog.New(slog.DiscardHandler)},
		debugtools.Toolset(debugtools.New(debugtools.Options{})))
	if err != nil {
		log.Fatal(err)
	}
	table := server.Table()
	for _, role := range []string{"Manager", "Admin"} {
		fmt.Println(role, table.Visible(access.Principal{Subject: "me", Roles: []string{role}}).Names())
	}
	// Output:
	// Manager []
	// Admin [debug_get_http_headers debug_get_server_info debug_get_user_claims debug_print_env]
}

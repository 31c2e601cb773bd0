// Package spawned has an excerpt of the page.
//
//mcp:server name=spawned
//mcp:default minrole=Member
package spawned

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// Run runs a script.
//
//mcp:tool
//mcp:allow system.command={argv}
//mcp:limit timeout=10s memory=256MiB output=256KiB isolate=process capabilities=exec,files
func Run(ctx context.Context, argv grant.Argv) (string, error) {
	command, err := grant.Command(ctx, "argv")
	if err != nil {
		return "", err
	}
	out, err := command.Output()
	return string(out), err
}

// Package agent has a server whose clients have boundaries.
package agent

import (
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// NewServer returns a server with the boundaries of a file.
func NewServer(source identity.Source, sets ...toolset.Toolset) (*runtime.Server, error) {
	boundaries, err := static.Open("boundaries.yaml") // runtime/boundary/static
	if err != nil {
		return nil, err
	}
	return runtime.New(runtime.Options{
		Identity: source,
		Access:   runtime.AccessOptions{Boundaries: boundaries},
	}, sets...)
}

// Administrators are the clients that may administer the server.
var Administrators = []boundary.Party{{Issuer: "https://id.example", Client: "console"}}

package extension

import "github.com/mcpgen/mcpgen/generator/internal/model"

// What an analysis of code capabilities reads and records.
type (
	// Service is a package with its tools.
	Service = model.Service
	// Tool is a tool of a service.
	Tool = model.Tool
	// Handler is the func or method of a tool.
	Handler = model.Handler
	// Allow is a permission in the source for one call.
	Allow = model.Allow
	// Proven is what the handler of a tool reaches.
	Proven = model.Proven
	// Reach is one code capability, with the calls that lead to it.
	Reach = model.Reach
	// Step is one of these calls.
	Step = model.Step
	// Position is a place in the source.
	Position = model.Position
)

// The code capabilities.
const (
	Files   = model.Files
	Network = model.Network
	Exec    = model.Exec
	Writes  = model.Writes
	Unknown = model.Unknown
)

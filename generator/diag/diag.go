// Package diag holds what mcpgen has to say about source: coded, positioned, sorted, rendered.
package diag

import "github.com/mcpgen/mcpgen/generator/model"

// Code is the fixed name of one kind of diagnostic, as in "MCP001". A code is never reused.
type Code string

// Diagnostic is one finding.
type Diagnostic struct {
	Code       Code
	Pos        model.Position
	Message    string // what is wrong, one line, no full stop
	Suggestion string // what to do, one line; may be empty
}

// List collects the diagnostics of a run.
type List []Diagnostic

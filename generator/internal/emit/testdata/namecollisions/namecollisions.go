// Package namecollisions declares every name that generated code prefers.
//
//mcp:server name=namecollisions
//mcp:roles table < Default < read-only < admin < String
package namecollisions

import (
	"context"

	admin "example.com/namecollisions/time"
)

var time, toolset, access, validator, mcp, json, encoding = 1, 2, 3, 4, 5, 6, 7

var mcpTime, mcpToolset = 8, 9

var ctx, in, err, runGoGenerate, decodeNoInput = 1, 2, 3, 4, 5

var noInputSchema, lookInput, mcpgenHash = 6, 7, 8

// Table is a receiver whose natural parameter is taken by the permission table.
type Table struct{}

// Access is a receiver named like a package that generated code imports.
type Access struct{}

// Clock is a type of a package that is named like one of the standard library.
type Clock = admin.Clock

// call is a handler with the name of a local of generated closures.
//
//mcp:tool minrole=read-only
func call(ctx context.Context, in Clock) error { return nil }

// Look is answered by a table.
//
//mcp:tool minrole=Default openworld=false idempotent
func (Table) Look(ctx context.Context, in string, err *[]admin.Clock) ([]string, error) {
	return nil, nil
}

// Wait is answered by access.
//
//mcp:tool minrole=table
//mcp:limit timeout=1500ms
func (*Access) Wait(ctx context.Context) (map[string]any, error) { return nil, nil }

var _ = []any{time, toolset, access, validator, mcp, json, encoding, mcpTime, mcpToolset, ctx, in,
	err, runGoGenerate, decodeNoInput, noInputSchema, lookInput, mcpgenHash, call}

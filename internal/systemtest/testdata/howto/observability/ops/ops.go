// Package ops has the excerpts of the page.
//
//mcp:server name=ops
package ops

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
)

// Ops has an inspector.
type Ops struct{ inspector *debugtools.Inspector }

// Headers returns the headers of a request as they reach the server.
//
//mcp:tool minrole=Manager action=none readonly
func (o *Ops) Headers(ctx context.Context) (debugtools.HTTPHeaders, error) {
	_, headers, err := o.inspector.GetHTTPHeaders(ctx, nil, debugtools.Nothing{})
	return headers, err
}

// Build builds the index.
//
//mcp:tool minrole=Manager action=none
func (o *Ops) Build(ctx context.Context, rows []string) error {
	n, skipped, write := len(rows), 0, func(string) {}
	log := runtime.Logger(ctx)
	log.Info("the index is being built", "rows", n)
	p := runtime.Progress(ctx) // nil, which does nothing, if the client did not request progress
	for i, row := range rows {
		write(row)
		p.Report(float64(i+1), float64(len(rows)), "rows written")
	}
	runtime.Advise(ctx, 0.5, "%d rows were skipped; call list_skipped to see them.", skipped)
	return nil
}

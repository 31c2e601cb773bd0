// Package debugtools provides four tools for operators. They return the server's view of a call:
// the environment variables, facts about the server, the HTTP headers and the caller's claims.
//
//	server, err := runtime.New(options, inventory.Toolset(svc),
//		debugtools.Toolset(debugtools.New(debugtools.Options{})))
//
// Only callers with the highest role may use the tools. For other callers the tools do not exist,
// whatever Options.Access.Denial is. With Options.Lists.ListAll, lists show them to all callers,
// with the missing role. For another rule, leave this toolset out and write a handler that calls
// the method of [Inspector].
//
// Each call reads its data when it runs. Secrets in results are masked by the rules of package
// redact, runtime.Options.Observe.Masker of the server, and [Options.Masker].
//
//mcp:server name=debug title="Debug tools" prefix=debug_
//mcp:default minrole=highest action=none
package debugtools

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

//go:generate go tool mcpgen .

// Options configure an [Inspector]. The zero value is for most servers.
type Options struct {
	// Started is the start of the process, for the uptime. Zero is the time when New is called.
	Started time.Time
	// Masker has secrets besides those of package redact and the server's Options.Observe.Masker. Zero
	// adds none.
	Masker redact.Masker
}

// Inspector implements the tools. It is safe for concurrent use.
type Inspector struct {
	started time.Time
	masker  redact.Masker
}

// New returns an inspector of this process.
func New(o Options) *Inspector {
	if o.Started.IsZero() {
		o.Started = time.Now()
	}
	return &Inspector{o.Started, redact.Masker{
		Names: slices.Clone(o.Masker.Names), Values: slices.Clone(o.Masker.Values),
	}}
}

// Nothing is the input of tools without arguments.
type Nothing struct{}

// look returns the information about the handler's request, empty outside of one, and the masker of
// the caller's results.
func (i *Inspector) look(ctx context.Context) (runtime.RequestInfo, redact.Masker) {
	req, _ := runtime.RequestOf(ctx)
	return req, redact.Masker{
		Names:  slices.Concat(req.Masker.Names, i.masker.Names),
		Values: slices.Concat(req.Masker.Values, i.masker.Values),
	}
}

// noHTTP is the result for a message of another transport.
const noHTTP = "No HTTP context available"

// indented is a result whose text is what it holds, for people to read.
func indented[Out any](out Out) (*mcp.CallToolResult, Out, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // as the structured content is written
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		var none Out
		return nil, none, err
	}
	content := &mcp.TextContent{Text: string(bytes.TrimSuffix(text.Bytes(), []byte{'\n'}))}
	return &mcp.CallToolResult{Content: []mcp.Content{content}}, out, nil
}

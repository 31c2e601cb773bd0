// Package debugtools serves four tools by which the operators of a server see, through MCP itself, what the process, the
// request and the caller look like from its side: the environment, the server, the HTTP headers and the claims.
//
//	server, err := runtime.New(options, inventory.Toolset(svc), debugtools.Toolset(debugtools.New(debugtools.Options{})))
//
// They are there for callers of the highest role alone; to all others they are unknown tools, whatever Options.Denial says. (With
// Options.ListAll everybody is shown every tool, these among them, and told what is missing.) For another rule, leave this toolset
// out and annotate a handler of your own that calls the one of [Inspector].
//
// Nothing is read before a tool is called, and all of it anew by each call. What is secret is masked before it is
// answered, by the rules of package redact, the server's Options.Masker and [Options.Masker].
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
	// Masker has secrets besides those of package redact and the server's Options.Masker. Zero adds
	// none.
	Masker redact.Masker
}

// Inspector answers the calls. It may be used by many goroutines at once.
type Inspector struct {
	started time.Time
	masker  redact.Masker
}

// New returns an inspector of this process.
func New(o Options) *Inspector {
	if o.Started.IsZero() {
		o.Started = time.Now()
	}
	return &Inspector{o.Started, redact.Masker{Names: slices.Clone(o.Masker.Names), Values: slices.Clone(o.Masker.Values)}}
}

// Nothing is what tools without arguments take.
type Nothing struct{}

// look returns what is known of the request that a handler answers, nothing outside of one, and
// what masks all that is shown to its caller.
func (i *Inspector) look(ctx context.Context) (runtime.RequestInfo, redact.Masker) {
	req, _ := runtime.RequestOf(ctx)
	return req, redact.Masker{
		Names:  slices.Concat(req.Masker.Names, i.masker.Names),
		Values: slices.Concat(req.Masker.Values, i.masker.Values),
	}
}

// noHTTP is what is said where a message did not come by HTTP.
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
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(bytes.TrimSuffix(text.Bytes(), []byte{'\n'}))}}}, out, nil
}

package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Caller returns the principal that a handler acts for, with the roles that count within the
// boundary of its client; see [access.Principal.Within]. An anonymous caller is the zero Principal.
// It reports false outside of a call. auth.TokenInfoFromContext of go-sdk finds nothing, because in
// a session it would be that of the session's creator. See [CallerValue].
func Caller(ctx context.Context) (access.Principal, bool) { return request.Caller(ctx) }

// CallerValue returns what the identity source has given the handlers of this message
// (identity.Identity.Value, and Options.Protocol.StdioValue on stdio), if it has the type T. In a
// session it is that of the message at hand, and not of the one that opened the session. It reports
// false without such a value, once the message has its answer, and in an isolated process
// (isolate=process). The server masks the value's secrets in its log and errors, not in your log.
func CallerValue[T any](ctx context.Context) (T, bool) {
	id, _ := credential.From(ctx).Identity(ctx)
	value, ok := id.Value.Content().(T)
	return value, ok
}

// GuardedTools returns the tools with //mcp:allow that the caller of a handler may use now, in the
// order of their names. It decides as a call of each tool does: Options.Lists.ListAll and catalogs
// do not count. It is empty outside of a call, and in an isolated process (isolate=process).
func GuardedTools(ctx context.Context) []toolset.GuardedTool {
	info := request.From(ctx)
	if info == nil || info.Server == nil {
		return nil
	}
	caller, _ := request.Caller(ctx)
	return info.Server.GuardedTools(caller, info.Catalog.ReadOnly)
}

// RequestID returns the id of a request in the log and the audit: that of a handler's call, or of
// a request that [Server.Identify] has admitted. It is empty for other contexts.
func RequestID(ctx context.Context) string {
	if info := request.From(ctx); info != nil {
		return info.ID
	}
	return ""
}

// CompletionArguments returns the other arguments of the prompt, or the other variables of the URI
// template, that the client has resolved already: context.arguments of completion/complete. A
// client can invent their values. It is nil without any, and outside of a handler of
// //mcp:complete.
func CompletionArguments(ctx context.Context) map[string]string {
	return maps.Clone(invoke.CompletionArguments(ctx))
}

// RequestInfo is what a handler can read about its request, besides arguments and [Caller]. Secrets
// in it are masked.
type RequestInfo struct {
	ID        string // as RequestID
	TraceID   string // of W3C Trace Context, in hex; empty for none
	Transport string // observe.TransportHTTP or observe.TransportStdio
	Protocol  string // the version of MCP
	Server    toolset.ServerInfo
	// Transports are those of the server: HTTP once [Server.Handler] was called, and stdio while
	// [Server.RunStdio] or [Server.RunIO] runs. Protocols are its versions of MCP, the newest
	// first; nil with [Adopt], as go-sdk does not report those of a server.
	Transports, Protocols []string
	Masker                redact.Masker // Options.Observe.Masker
	HTTP                  *HTTPRequest  // nil on stdio
}

// HTTPRequest is the HTTP request of a message.
type HTTPRequest struct {
	Method, Path, Query string      // Query is encoded
	Header              http.Header // with a mask in place of each credential
	Authenticated       bool        // the caller was verified
	// how, as the identity source names it: "Bearer", "JWT", or ""
	Scheme  string
	Claims  map[string]any // of the credential, if the identity source passes them on
	Expires time.Time      // of the credential; the zero time is never
}

// RequestOf returns what a handler can read about its request, new for each call. It reports false
// outside of a call, and in an isolated process (isolate=process).
func RequestOf(ctx context.Context) (RequestInfo, bool) {
	info := request.From(ctx)
	if info == nil || info.Server == nil {
		return RequestInfo{}, false
	}
	of, mask := info.Server, info.Mask(info.Server.Masker)
	req := RequestInfo{
		ID: info.ID, TraceID: info.TraceID, Masker: mask,
		Transport: info.Transport(), Transports: of.Transports(),
		Protocol: info.Version, Protocols: slices.Clone(of.Protocols),
		Server: toolset.ServerInfo{Name: of.Name, Title: of.Title, Version: of.Version}}
	if info.HTTP == nil {
		return req, true
	}
	header := mask.Header(info.HTTP.Header())
	for _, name := range info.HTTP.Withheld() {
		header[name] = []string{redact.Mask}
	}
	req.HTTP = &HTTPRequest{
		Method: info.HTTP.Method, Path: mask.Text(info.HTTP.Path),
		Query: mask.Query(info.HTTP.Query), Header: header,
		Authenticated: !info.Principal.Anonymous(), Scheme: info.HTTP.Scheme, Expires: info.Expires}
	if info.HTTP.Claims != nil {
		req.HTTP.Claims, _ = mask.Any(info.HTTP.Claims).(map[string]any)
	}
	return req, true
}

// Logger returns the logger of a handler. It writes to the server's log (Options.Logger), with the
// ids of the request and its trace, the principal and the target. Until the call ends, it also
// writes to the client of the call alone, from the level that this client has set. Secrets are
// masked in both. Log only what the caller may know, and the rest to your own logger. Outside of a
// call the logger is slog.Default() behind redact.Handler, without Options.Observe.Masker.
//
// A client gets each message as a JSON object with time, msg, request_id and the attributes, which
// are renamed to attr_time, attr_msg and attr_request_id if they have these names. Levels between
// those of the protocol become the next lower one. A slow client does not delay a handler: messages
// for it are dropped, and a last one has their number. In an isolated process the logger writes to
// a pipe: the server logs its messages in the group "isolated", and drops and counts those beyond
// some thousand of one call. Each has at most 1024 attributes. Levels above error become error.
func Logger(ctx context.Context) *slog.Logger { return notify.Logger(ctx) }

// ProgressReporter reports to a client how far its call has come. A nil reporter does nothing. It
// is safe for concurrent use.
type ProgressReporter notify.Reporter

// Progress returns the progress reporter of a handler. It is nil, and can be used all the same, if
// the client did not request progress.
func Progress(ctx context.Context) *ProgressReporter {
	return (*ProgressReporter)(notify.Progress(ctx))
}

// Report sends the progress of a call: done of total, or of an unknown total if that is 0, in any
// unit. The message is for a person and may be empty; its secrets are masked.
//
// The first 16 reports are sent at once, and then 20 a second; after a rest, 16 once more. Of those
// between, Report sends the newest, and the last one always, before the response. A client that
// reads too slowly gets the first 15 that wait for it, and the newest. Report leaves out values
// that are not above the one before (specification 2025-11-25, basic/utilities/progress), NaN and
// infinity, and all reports after the handler has returned.
func (p *ProgressReporter) Report(done, total float64, message string) {
	(*notify.Reporter)(p).Report(done, total, message)
}

// Advise adds a content for the model to the result of a tool's call, formatted as fmt.Sprintf: a
// hint on the next step, what was left out, why a result is empty. Its secrets are masked. Priority
// is as in [ForModel]. It reports false without such a call, after its end, and beyond 16 contents.
func Advise(ctx context.Context, priority float64, format string, args ...any) bool {
	return notify.Advise(ctx, priority, fmt.Sprintf(format, args...))
}

// Content is what [ForModel] and [ForPerson] take: a text, or a content of go-sdk's.
type Content interface {
	~string | *mcp.TextContent | *mcp.ImageContent | *mcp.AudioContent | *mcp.ResourceLink |
		*mcp.EmbeddedResource
}

// ForModel returns a copy of a content, or the content of a text, for the model alone: clients need
// not show it (specification 2025-11-25, server/resources, annotations). Priority is from 0
// (optional) to 1 (essential). It returns nil for a nil content.
func ForModel[C Content](priority float64, content C) mcp.Content {
	return wire.For("assistant", priority, asContent(content))
}

// ForPerson is [ForModel] for the person at the client.
func ForPerson[C Content](priority float64, content C) mcp.Content {
	return wire.For("user", priority, asContent(content))
}

func asContent(content any) mcp.Content {
	if c, ok := content.(mcp.Content); ok {
		return c
	}
	return &mcp.TextContent{Text: reflect.ValueOf(content).String()}
}

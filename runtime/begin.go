package runtime

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// begun readies the record of a message that has reached the guard, and tells Options.Observer of it.
func (s *Server) begun(ctx context.Context, method string, req mcp.Request, rec *record) (context.Context, Observation) {
	session, _ := req.GetSession().(*mcp.ServerSession)
	meta := metaOfRequest(req)
	rec.begun.Store(true)
	rec.server = s
	rec.talk.with(s, session, meta)
	rec.talk.answered = rec.answered
	from := contextIn(meta)
	rec.traceID = cmp.Or(traceID(from.Traceparent), traceID(rec.header.Get("Traceparent")))
	if s.watching.observer == nil {
		return ctx, nil
	}
	m := Message{Transport: rec.transport(), RequestID: rec.requestID, Meta: s.exported(from), Header: s.exported(contextAround(rec.header))}
	if rec.from != nil {
		m.Around = rec.from.around
	}
	if knownMethods[method] {
		m.Method = method
	}
	if session != nil {
		m.Protocol = protocolOf(session, meta)
	}
	ctx, seen := s.watching.began(ctx, m)
	if trace, span := s.watching.trace(seen); trace != "" {
		rec.traceID, rec.spanID = trace, span
	}
	return ctx, seen
}

// ended is what came of the message.
func (r *record) ended(err error) Outcome {
	if err == nil {
		return r.told
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc != nil && !r.challenged {
		r.told.Code = rpc.Code
	}
	if r.told.Status == "" || r.told.Status == audit.OK {
		r.told.Status = audit.Failed
	}
	return r.told
}

// knownMethods are those that the guard lets through.
var knownMethods = func() map[string]bool {
	known := map[string]bool{}
	for name := range strings.FieldsSeq(`initialize ping server/discover logging/setLevel
		tools/call tools/list prompts/get prompts/list resources/read resources/list resources/templates/list
		subscriptions/listen completion/complete
		notifications/initialized notifications/cancelled notifications/progress notifications/roots/list_changed`) {
		known[name] = true
	}
	return known
}()

// metaOfRequest is a request's _meta. Params may be a typed nil, which panics when it is asked.
func metaOfRequest(req mcp.Request) map[string]any {
	params := req.GetParams()
	if isNil(params) {
		return nil
	}
	return params.GetMeta()
}

// maxTraceContext bounds what is passed on of a caller's trace context: as much as W3C Baggage has everybody take (section 3.3.2).
const maxTraceContext = 8 << 10

// contextIn is the trace context in a message's _meta, whose keys are those of the headers (specification 2026-07-28, basic, _meta).
func contextIn(meta map[string]any) TraceContext {
	text := func(key string) string {
		s, _ := meta[key].(string)
		return bearable(s)
	}
	return TraceContext{Traceparent: text("traceparent"), Tracestate: text("tracestate"), Baggage: text("baggage")}
}

// contextAround is the trace context of an HTTP request.
func contextAround(h http.Header) TraceContext {
	return TraceContext{Traceparent: bearable(h.Get("Traceparent")), Tracestate: bearable(strings.Join(h.Values("Tracestate"), ",")), Baggage: bearable(strings.Join(h.Values("Baggage"), ","))}
}

// exported leaves out what must not leave with spans: a list with a secret in it, the tracestate's (W3C Trace Context, section 3.3) as the
// baggage's (W3C Baggage, section 3.3), whose values are percent-encoded and have properties behind semicolons.
func (s *Server) exported(c TraceContext) TraceContext {
	if s.betrays(c.Tracestate, ",") {
		c.Tracestate = ""
	}
	if s.betrays(c.Baggage, ",;") {
		c.Baggage = ""
	}
	return c
}

// betrays reports whether there is a secret in a list of members, by a member's name or by the form of any of it.
func (s *Server) betrays(list, separators string) bool {
	mask := s.opts.Masker
	if list == "" {
		return false
	}
	if mask.Text(list) != list {
		return true
	}
	for member := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		name, value = unescaped(name), unescaped(value)
		if mask.Value(name, value) != value || mask.Text(name) != name {
			return true
		}
	}
	return false
}

// unescaped is what a percent-encoded text says, or the text where it is none.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

func bearable(s string) string {
	if len(s) > maxTraceContext {
		return ""
	}
	return s
}

// protocolOf is the version of the protocol that a message is of, where it is one that there is.
func protocolOf(session *mcp.ServerSession, meta map[string]any) string {
	version, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	if params := session.InitializeParams(); version == "" && params != nil {
		version = params.ProtocolVersion
	}
	if !protocols[version] {
		return ""
	}
	return version
}

var protocols = map[string]bool{"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, newestWithSessions: true, stateless: true}

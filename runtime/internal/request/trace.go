package request

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const maxTraceContext = 8 << 10 // the size that W3C Baggage, section 3.3.2, requires

// TraceInMeta returns the trace context in _meta (specification 2026-07-28, basic, _meta).
func TraceInMeta(meta map[string]any) observe.TraceContext {
	parent, _ := meta["traceparent"].(string)
	state, _ := meta["tracestate"].(string)
	baggage, _ := meta["baggage"].(string)
	return bounded(parent, state, baggage)
}

// TraceInHeader returns the trace context of the HTTP request by which a message came.
func (i *Info) TraceInHeader() observe.TraceContext { return i.HTTP.trace() }

func traceIn(h http.Header) observe.TraceContext {
	parent := ""
	if sent := h["Traceparent"]; len(sent) > 0 {
		parent = sent[0]
	}
	return bounded(parent, strings.Join(h["Tracestate"], ","), strings.Join(h["Baggage"], ","))
}

func bounded(values ...string) observe.TraceContext {
	for i, v := range values {
		if len(v) > maxTraceContext {
			values[i] = ""
		}
	}
	return observe.TraceContext{Traceparent: values[0], Tracestate: values[1], Baggage: values[2]}
}

// Exported returns a trace context without the lists that hold a secret, for spans.
func Exported(c observe.TraceContext, mask redact.Masker) observe.TraceContext {
	if hasSecret(c.Tracestate, ",", mask) {
		c.Tracestate = ""
	}
	if hasSecret(c.Baggage, ",;", mask) { // members have properties after semicolons
		c.Baggage = ""
	}
	return c
}

// hasSecret finds a secret by a member's name or form. Both may be percent-encoded.
func hasSecret(list, separators string, mask redact.Masker) bool {
	if mask.Text(list) != list {
		return true
	}
	split := func(r rune) bool { return strings.ContainsRune(separators, r) }
	for member := range strings.FieldsFuncSeq(list, split) {
		name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		for _, text := range []*string{&name, &value} {
			if plain, err := url.PathUnescape(*text); err == nil {
				*text = plain
			}
		}
		if mask.Value(name, value) != value || mask.Text(name) != name {
			return true
		}
	}
	return false
}

// traceparent is the header of W3C Trace Context, section 3.2. Later versions add fields.
var traceparent = regexp.MustCompile(
	`(?s)^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// ParseTraceID returns the trace-id, which the caller chose, of a traceparent header, or "".
func ParseTraceID(header string) string {
	if header == "" {
		return ""
	}
	parts := traceparent.FindStringSubmatch(header)
	if parts == nil {
		return ""
	}
	version, trace, parent, more := parts[1], parts[2], parts[3], parts[4]
	zero := func(id string) bool { return strings.Trim(id, "0") == "" }
	if version == "ff" || version == "00" && more != "" || zero(trace) || zero(parent) {
		return ""
	}
	return trace
}

package runtime

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

func TestEventNamesTheTraceOfItsRequest(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for parent, want := range map[string]string{
		"00-" + id + "-" + span + "-01":                         id,
		"cc-" + id + "-" + span + "-01-more":                    id,
		"cc-" + id + "-" + span + "-01more":                     "",
		"00-" + id + "-" + span + "-01-more":                    "",
		"ff-" + id + "-" + span + "-01":                         "",
		"00-" + strings.ToUpper(id) + "-" + span:                "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":        "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":    "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":      "",
		"00-" + id + "\n" + span + "-01":                        "",
		"00-" + strings.Repeat("\x00", 32) + "-" + span + "-01": "",
		"": "",
	} {
		for _, rec := range []*record{traced(parent, "none"), traced("", parent)} {
			if got := (&Server{}).event(rec, audit.ToolCall).TraceID; got != want {
				t.Errorf("%q: %q, want %q", parent, got, want)
			}
		}
	}
	if got := (&Server{}).event(traced("00-"+strings.Repeat("a", 32)+"-"+span+"-01", "00-"+id+"-"+span+"-01"), audit.ToolCall).TraceID; got != id {
		t.Errorf("%q: the message itself says %s", got, id)
	}
}

// traced is the record of a request that came with a trace context in a header, and in its _meta.
func traced(header, meta string) *record {
	rec := newRecord(identity.Identity{}, http.Header{"Traceparent": {header}})
	(&Server{}).begun(context.Background(), "ping", &mcp.ServerRequest[*mcp.PingParams]{Params: &mcp.PingParams{Meta: mcp.Meta{"traceparent": meta}}}, rec)
	return rec
}

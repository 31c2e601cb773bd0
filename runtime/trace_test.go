package runtime

import (
	"net/http"
	"strings"
	"testing"

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
		rec := newRecord(identity.Identity{}, http.Header{"Traceparent": {parent}})
		if got := (&Server{}).event(rec, audit.ToolCall).TraceID; got != want {
			t.Errorf("%q: %q, want %q", parent, got, want)
		}
	}
	if got := (&Server{}).event(newRecord(identity.Identity{}, nil), audit.ToolCall).TraceID; got != "" {
		t.Error(got)
	}
}

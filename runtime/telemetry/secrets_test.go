package telemetry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

// Whatever a caller puts wherever it likes, and whatever handlers fail with, no span and no metric
// has it.
func TestNothingThatACallerSendsIsExported(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	planted := []string{"hunter2", "user-a"} // of the handlers' errors, and the principal
	plant := func() string {
		// in a form that is known, since trace states are exported
		secret := fmt.Sprintf("ghp_%036d", len(planted))
		planted = append(planted, secret)
		return secret
	}
	for _, tool := range []string{"get", "wipe", "fails", "crashes", "slow", "upstream", "rated", "apart", plant()} {
		o.post(t, "user-a", "tools/call", `"name":"`+tool+`","arguments":{"`+plant()+`":"`+plant()+`"}`,
			`"traceparent":"`+inMeta+`","tracestate":"in=`+plant()+`","baggage":"in=`+plant()+`","`+plant()+`":1,"progressToken":"`+plant()+`"`,
			"X-"+plant(), plant(), "User-Agent", plant(), "Traceparent", inHeader, "Tracestate", "of="+plant(), "Baggage", "of="+plant(),
			"Cookie", "a="+plant())
	}
	o.post(t, "user-a", "prompts/get", `"name":"`+plant()+`"`, "")
	o.post(t, "user-a", "resources/read", `"uri":"lib://`+plant()+`"`, "")
	o.post(t, "user-a", "resources/read", `"uri":"lib://books/`+plant()+`"`, "")
	o.post(t, "user-a", "tools/list", `"cursor":"`+plant()+`"`, "")
	o.post(t, plant(), "tools/list", "", "")
	o.post(t, "user-a", plant(), "", "")
	session := mcptest.Connect(t, o.url, "user-a", "2025-11-25")
	planted = append(planted, session.ID())
	if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "get"}); err != nil {
		t.Fatal(err)
	}

	var exported strings.Builder
	spans := o.spans.GetSpans()
	for _, span := range spans {
		fmt.Fprintln(&exported, span.Name, line(span.Attributes), span.SpanContext.TraceState(), span.Parent.TraceState(), span.Status, span.Events)
		for _, link := range span.Links {
			fmt.Fprintln(&exported, link.SpanContext.TraceState(), link.Attributes)
		}
	}
	for point := range o.points(t) {
		fmt.Fprintln(&exported, point)
	}
	if len(spans) < 15 || !strings.Contains(exported.String(), "mcpgen.requests") {
		t.Fatalf("only %d spans are looked at:\n%s", len(spans), exported.String())
	}
	for _, word := range planted {
		if strings.Contains(exported.String(), word) {
			t.Errorf("%q is exported", word)
		}
	}
}

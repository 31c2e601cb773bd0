package telemetry_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpgen/mcpgen/runtime/telemetry"
)

// Each outcome of a request has a span with it, and a count.
func TestEachMessageIsASpan(t *testing.T) {
	o := open(t, telemetry.Options{}, nil, nil)
	const started = "mcp.protocol.version=2026-07-28 network.protocol.name=http " +
		"network.transport=tcp"
	o.post(t, "user-a", "tools/call", `"name":"rated"`, "") // the next one exceeds the rate
	o.one(t, "tools/call")
	for _, test := range []struct {
		name, user, method, params string
		span, want                 string
		failure                    string
		counts                     []string
	}{
		{"an allowed call", "user-a", "tools/call", `"name":"get","arguments":{}`,
			"tools/call get",
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=get mcpgen.status=success", "",
			[]string{
				`mcpgen.requests{gen_ai.tool.name=get mcp.method.name=tools/call mcpgen.status=success}`,
				`mcp.server.operation.duration{gen_ai.operation.name=execute_tool gen_ai.tool.name=get mcp.method.name=tools/call ` + started + `}`}},
		{"a call of what is public", "", "tools/call", `"name":"info"`,
			"tools/call info",
			"gen_ai.operation.name=execute_tool gen_ai.tool.name=info mcpgen.status=success", "",
			nil},
		{"an unknown tool", "user-a", "tools/call", `"name":"hunter2"`,
			"tools/call",
			"error.type=-32602 gen_ai.operation.name=execute_tool mcpgen.denial.axis=unknown " +
				"mcpgen.failure=denied mcpgen.status=failed rpc.response.status_code=-32602", "",
			[]string{`mcpgen.denials{mcp.method.name=tools/call mcpgen.denial.axis=unknown}`,
				`mcpgen.requests{mcp.method.name=tools/call mcpgen.failure=denied mcpgen.status=failed}`}},
		{"a caller nobody knows", "", "tools/call", `"name":"get"`,
			"tools/call get",
			"error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=get " +
				"mcpgen.denial.axis=authentication mcpgen.failure=denied mcpgen.status=failed " +
				"rpc.response.status_code=-32602", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=get mcp.method.name=tools/call mcpgen.denial.axis=authentication}`}},
		{"a role that is too low", "user-a", "tools/call", `"name":"manage"`,
			"tools/call manage",
			"error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=manage " +
				"mcpgen.denial.axis=role mcpgen.failure=denied mcpgen.status=failed " +
				"rpc.response.status_code=-32602", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=manage mcp.method.name=tools/call mcpgen.denial.axis=role}`}},
		{"a scope that is lacking", "user-a", "tools/call", `"name":"scoped"`,
			"tools/call scoped",
			"error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=scoped " +
				"mcpgen.denial.axis=scopes mcpgen.failure=denied mcpgen.status=failed " +
				"rpc.response.status_code=-32602", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=scoped mcp.method.name=tools/call mcpgen.denial.axis=scopes}`}},
		{"a permission that is lacking", "user-a", "tools/call", `"name":"wipe"`,
			"tools/call wipe",
			"error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=wipe " +
				"mcpgen.denial.axis=permission mcpgen.failure=denied mcpgen.status=failed " +
				"rpc.response.status_code=-32602", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=wipe mcp.method.name=tools/call mcpgen.denial.axis=permission}`}},
		{"a permission on some objects only", "user-a", "tools/call", `"name":"bound"`,
			"tools/call bound",
			"error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=bound " +
				"mcpgen.denial.axis=constraints mcpgen.failure=denied mcpgen.status=failed " +
				"rpc.response.status_code=-32602", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=bound mcp.method.name=tools/call mcpgen.denial.axis=constraints}`}},
		{"a grant that is lacking", "user-a", "tools/call",
			`"name":"push","arguments":{"queue":"mail"}`,
			"tools/call push",
			"error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=push " +
				"mcpgen.denial.axis=grant mcpgen.failure=denied mcpgen.status=failed", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=push mcp.method.name=tools/call mcpgen.denial.axis=grant}`}},
		{"a limit before the call", "user-a", "tools/call", `"name":"rated"`,
			"tools/call rated",
			"error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=rated " +
				"mcpgen.denial.axis=limit mcpgen.failure=limited mcpgen.limit=rate " +
				"mcpgen.status=failed", "",
			[]string{
				`mcpgen.denials{gen_ai.tool.name=rated mcp.method.name=tools/call mcpgen.denial.axis=limit mcpgen.limit=rate}`}},
		{"a killed process", "user-a", "tools/call", `"name":"apart"`,
			"tools/call apart",
			"error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=apart " +
				"mcpgen.denial.axis=limit mcpgen.failure=limited mcpgen.limit=memory " +
				"mcpgen.sandbox.killed=true mcpgen.status=failed", "",
			[]string{`mcpgen.sandbox.kills{gen_ai.tool.name=apart mcpgen.limit=memory}`}},
		{"a limit that a handler made up", "user-a", "tools/call", `"name":"upstream"`,
			"tools/call upstream",
			"error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=upstream " +
				"mcpgen.denial.axis=limit mcpgen.failure=limited mcpgen.limit=_OTHER " +
				"mcpgen.status=failed", "", nil},
		{"a handler's error", "user-a", "tools/call", `"name":"fails"`,
			"tools/call fails",
			"error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=fails " +
				"mcpgen.failure=error mcpgen.status=failed", "", nil},
		{"a panic", "user-a", "tools/call", `"name":"crashes"`,
			"tools/call crashes",
			"error.type=crashed gen_ai.operation.name=execute_tool gen_ai.tool.name=crashes " +
				"mcpgen.failure=crashed mcpgen.status=failed", "crashed", nil},
		{"a timeout", "user-a", "tools/call", `"name":"slow"`,
			"tools/call slow",
			"error.type=timeout gen_ai.operation.name=execute_tool gen_ai.tool.name=slow " +
				"mcpgen.denial.axis=limit mcpgen.failure=timeout mcpgen.limit=timeout " +
				"mcpgen.status=failed", "timeout",
			[]string{
				`mcp.server.operation.duration{error.type=timeout gen_ai.operation.name=execute_tool gen_ai.tool.name=slow mcp.method.name=tools/call ` + started + `}`,
				`mcpgen.denials{gen_ai.tool.name=slow mcp.method.name=tools/call mcpgen.denial.axis=limit mcpgen.limit=timeout}`}},
		{"a list of tools", "user-a", "tools/list", ``,
			"tools/list", "mcpgen.list.total=13 mcpgen.list.visible=9 mcpgen.status=success", "",
			[]string{`mcpgen.list.size{mcp.method.name=tools/list}`}},
		{"a list with a bad cursor", "user-a", "prompts/list", `"cursor":"hunter2"`,
			"prompts/list",
			"error.type=-32602 mcpgen.failure=invalid mcpgen.list.total=2 mcpgen.list.visible=1 " +
				"mcpgen.status=failed rpc.response.status_code=-32602", "", nil},
		{"a prompt", "user-a", "prompts/get", `"name":"greet"`,
			"prompts/get greet", "gen_ai.prompt.name=greet mcpgen.status=success", "",
			[]string{
				`mcpgen.requests{gen_ai.prompt.name=greet mcp.method.name=prompts/get mcpgen.status=success}`}},
		{"a prompt that is denied", "user-a", "prompts/get", `"name":"hire"`,
			"prompts/get hire",
			"error.type=-32602 gen_ai.prompt.name=hire mcpgen.denial.axis=role " +
				"mcpgen.failure=denied mcpgen.status=failed rpc.response.status_code=-32602", "",
			nil},
		{"a resource", "user-a", "resources/read", `"uri":"lib://hall"`,
			"resources/read", "mcp.resource.uri=lib://hall mcpgen.status=success", "", nil},
		{"a resource by a template", "user-a", "resources/read", `"uri":"lib://books/hunter2"`,
			"resources/read", "mcp.resource.uri=lib://books/{id} mcpgen.status=success", "", nil},
		{"a resource that there is not", "user-a", "resources/read", `"uri":"lib://hunter2"`,
			"resources/read",
			"error.type=-32602 mcpgen.denial.axis=unknown mcpgen.failure=denied " +
				"mcpgen.status=failed rpc.response.status_code=-32602", "", nil},
		{"a discovery", "", "server/discover", ``, "server/discover", "mcpgen.status=success", "",
			nil},
	} {
		before := o.points(t)
		o.post(t, test.user, test.method, test.params, "")
		span := o.one(t, test.method)
		if got := line(span.Attributes, "mcpgen.request.id", "mcp.method.name",
			"network.protocol.name", "network.transport",
			"mcp.protocol.version"); got != test.want || span.Name != test.span {
			t.Errorf("%s: span %q\n got %s\nwant %s", test.name, span.Name, got, test.want)
		}
		of := attributesOf(span.Attributes)
		if of["mcp.protocol.version"] != "2026-07-28" || of["network.transport"] != "tcp" ||
			of["network.protocol.name"] != "http" || of["mcpgen.request.id"] == "" ||
			span.SpanKind != trace.SpanKindServer || span.Parent.IsValid() ||
			len(span.Links) > 0 {
			t.Errorf("%s: %+v", test.name, span)
		}
		if span.Status.Description != test.failure ||
			(span.Status.Code == codes.Error) != (test.failure != "") || len(span.Events) > 0 {
			t.Errorf("%s: the status is %v", test.name, span.Status)
		}
		after := o.points(t)
		for _, point := range test.counts {
			if after[point] <= before[point] {
				t.Errorf("%s: no further %s in %v", test.name, point, after)
			}
		}
	}
	for point := range o.points(t) {
		if strings.Contains(point, "hunter2") || strings.Contains(point, "user-a") {
			t.Errorf("a caller's word: %s", point)
		}
	}
}

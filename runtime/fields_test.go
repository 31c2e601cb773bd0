package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// payWorker is a type whose field Salary has a rule.
type payWorker struct {
	Name   string     `json:"name"`
	Salary *int       `json:"salary,omitempty"`
	Boss   *payWorker `json:"boss,omitempty"`
	More   any        `json:"more,omitempty"`
}

const (
	payField  = "github.com/mcpgen/mcpgen/runtime_test.payWorker.Salary"
	paySalary = `"salary":{"type":"integer","description":"Paid in a year.","x-mcpgen-field":"` +
		payField + `"}`
	payProperties = `"properties":{"name":{"type":"string"},` + paySalary +
		`,"boss":{"$ref":"#/$defs/Worker"}},"type":"object","required":["name"]}`
	payDefs   = `"$defs":{"Worker":{` + payProperties + `}`
	paySchema = `{` + payDefs + `,` + payProperties
	payList   = `{` + payDefs + `,"items":{"$ref":"#/$defs/Worker"},"type":"array"}`
	payInput  = `{"properties":{"name":{"type":"string"},"note":{"type":"string"},` + paySalary +
		`},` +
		`"additionalProperties":false,"type":"object","required":["name"]}`
)

// payroll has tools with each form of result, and tools that take a salary. The salaries are 4711.
func payroll(w *scenarioWorld) toolset.Toolset {
	paid := func(name string) *payWorker { return &payWorker{Name: name, Salary: new(4711)} }
	worker := paid("eve")
	worker.Boss = paid("bob")
	returning := func(t toolset.Tool, out any) toolset.Tool {
		t.Input = anyInput
		t.Handle = func(_ context.Context, r *decode.Reader) (any, error) { return out, r.Nothing() }
		return t
	}
	hire := func(ctx context.Context, r *decode.Reader) (any, error) {
		var in payWorker
		note := ""
		for o := payObject(r); o.Next(); {
			switch o.Property {
			case 0:
				decode.String(r, &in.Name)
			case 1:
				decode.String(r, &note)
			case 2:
				in.Salary = new(int)
				decode.Int(r, in.Salary, 0, 1e6)
			}
		}
		if err := r.Finish(); err != nil {
			return nil, err
		}
		if in.Salary == nil {
			return in.Name + ": the salary stays", nil
		}
		return fmt.Sprintf("%s: the salary is %d", in.Name, *in.Salary), nil
	}
	waiting := returning(toolset.Tool{Name: "wait", Output: paySchema, Timeout: time.Hour}, nil)
	waiting.Handle = func(ctx context.Context, r *decode.Reader) (any, error) {
		_, err := w.script(ctx, "progress 1 2 begun; hold")
		return worker, errors.Join(r.Nothing(), err)
	}
	apart := toolset.Tool{Name: "apart", Input: anyInput, Output: paySchema,
		Isolate: "example.com/payroll.apart",
		Call: func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			return toolset.Structured(c.Isolated(ctx))
		}}
	odd := func(name string, out any) toolset.Tool {
		return returning(toolset.Tool{Name: name, Output: `{}`, Returns: toolset.Value}, out)
	}
	tools := []toolset.Tool{
		apart,
		returning(toolset.Tool{Name: "below", Output: paySchema},
			&payWorker{Name: "ann", More: []any{paid("joe")}}),
		returning(toolset.Tool{Name: "get", Output: paySchema}, worker),
		{Name: "hire", Input: payInput, Returns: toolset.Text, Handle: hire},
		{Name: "hire_leniently", Input: payInput, Returns: toolset.Text, Handle: hire, Lenient: true},
		returning(toolset.Tool{Name: "json", Guarded: payList, Returns: toolset.JSON},
			[]*payWorker{worker}),
		returning(toolset.Tool{Name: "labelled", Output: paySchema, Task: toolset.TaskOptional}, worker),
		returning(toolset.Tool{Name: "list", Output: payList, Returns: toolset.Value},
			[]*payWorker{worker}),
		returning(toolset.Tool{Name: "native", Returns: toolset.SDKResult},
			&mcp.CallToolResult{StructuredContent: map[string]any{"eve": worker}}),
		odd("odd", worker),
		odd("odd_list", []any{"eve", worker}),
		odd("odd_without", []any{"eve", json.RawMessage(`{"salary":4711}`)}),
		returning(toolset.Tool{Name: "only", Output: paySchema, Omits: true}, worker),
		returning(toolset.Tool{Name: "task", Output: paySchema, Task: toolset.TaskOptional}, worker),
		returning(toolset.Tool{Name: "unlisted", Guarded: payList, Returns: toolset.Value},
			[]*payWorker{worker}),
		waiting,
	}
	g := toolsetOf(tools).Generated()
	g.Table.Fields = []access.Rule{{Field: payField, MinRole: []string{"Manager"}}}
	return toolset.NewToolset(g)
}

// payApart is the process of the tool apart.
func payApart(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	if _, err := invoke.ChildContext(ctx, call.Caller, nil); err != nil {
		return nil, err
	}
	var in struct{ Below bool }
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return nil, err
	}
	worker := payWorker{Name: "eve", Salary: new(4711)}
	if in.Below {
		worker.More = worker
	}
	text, err := isolate.Encoded(worker, nil)
	if err != nil {
		return nil, childError{err}
	}
	if limit := call.Limits.Output; limit > 0 && int64(len(text)) > limit { // as a sandbox does
		return nil, reached("output")
	}
	return text, nil
}

// childError is an error of a handler in its own process.
type childError struct{ error }

func (e childError) HandlerError() string { return e.Error() }

// payObject begins the arguments of a tool that takes a salary.
func payObject(r *decode.Reader) decode.Object {
	o := r.Object(1, "name", "note", "salary")
	o.Guard(2, payField)
	return o
}

// keepsResults is an interceptor that keeps the first result of each tool, and returns it to every
// caller from then on.
func keepsResults(*scenarioWorld) intercept.Middleware {
	var mu sync.Mutex
	kept := map[string]mcp.Result{}
	return func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			call, ok := m.Params.(*mcp.CallToolParamsRaw)
			if !ok {
				return next(ctx, m)
			}
			mu.Lock()
			res := kept[call.Name]
			mu.Unlock()
			if res != nil {
				return res, nil
			}
			res, err := next(ctx, m)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				kept[call.Name] = res
			}
			return res, err
		}
	}
}

// Operators see who may see a field, and why.
func TestFieldsAreExplained(t *testing.T) {
	t.Parallel()
	mel := access.Principal{Subject: "mel", Roles: []string{"Member"}}
	mona := access.Principal{Subject: "mona", Roles: []string{"Manager"}}
	for _, all := range []bool{false, true} {
		s := newServer(t, runtime.Options{Lists: runtime.ListOptions{ListAll: all}},
			payroll(nil).Only("get", "hire"))
		for p, want := range map[*access.Principal]bool{&mel: false, &mona: true} {
			e := s.ExplainOf(t.Context(), *p, access.Fields, payField)
			if e.Allowed != want || e.Listed != want || (e.Missing == "") != want ||
				e.Kind != access.Fields {
				t.Errorf("%s: %+v", p.Subject, e)
			}
			places := []string{"get /outputSchema/$defs/Worker/properties/salary",
				"get /outputSchema/properties/salary", "hire /inputSchema/properties/salary"}
			slices.Sort(e.Places)
			if !slices.Equal(e.Places, places) || !strings.Contains(e.String(), "in "+places[2]) {
				t.Errorf("the field is in %q", e.Places)
			}
		}
		if e := s.ExplainOf(t.Context(), mona, access.Fields, "unknown"); e.Allowed || e.Listed {
			t.Errorf("%+v", e)
		}
		report := s.Doctor(t.Context(), mel, mona).String()
		for _, want := range []string{`not  field ` + payField, `sees field ` + payField} {
			if strings.Count(report, want) != 1 {
				t.Errorf("not once %q in %s", want, report)
			}
		}
	}
}

// payrollOfHost is a toolset whose field needs a permission of the host.
func payrollOfHost(verb string) toolset.Toolset {
	g := payroll(nil).Only("get", "hire").Generated()
	for i := range g.Table.Rules {
		g.Table.Rules[i].Permission = access.NoPermission()
	}
	g.Table.Fields = []access.Rule{{Field: payField, Permission: permission("hr.view_pay"),
		Verb: verb}}
	return toolset.NewToolset(g)
}

// A permission of the host that a field alone needs is read, mapped and checked as that of a tool.
func TestFieldsNeedPermissionsOfTheHost(t *testing.T) {
	t.Parallel()
	refused(t, `Options.Host.Source is nil, but field "`+payField+`" needs a permission of the host: `+
		"set it to the adapter of the host, or set Options.Host.RecordOnly, which enforces none",
		runtime.Options{}, payrollOfHost(""))
	ada := access.Principal{Subject: "sub-ada", User: "ada", Roles: []string{"Viewer"}}
	h := newHost(nil)
	h.set("ada", "hr.view_pay")
	plain := newServer(t, hostOptions(h, quiet()), payrollOfHost("list"))
	mapped := newServer(t, hostOptions(oddHost{fakeHost: h, verb: verbsOf("list browse")}, quiet()),
		payrollOfHost("list"))
	for s, want := range map[*runtime.Server]bool{plain: true, mapped: false} {
		e := s.ExplainOf(t.Context(), ada, access.Fields, payField)
		if tool := s.Explain(t.Context(), ada, "get"); e.Allowed != want || !tool.Allowed {
			t.Errorf("%s%s", e, tool)
		}
		eve := access.Principal{Subject: "eve", User: "eve", Roles: []string{"Admin"}}
		if e := s.ExplainOf(t.Context(), eve, access.Fields, payField); e.Allowed {
			t.Errorf("%s", e)
		}
	}
	odd := oddHost{fakeHost: h, spell: func(string) (string, error) {
		return "",
			errors.New("no pay")
	}}
	refused(t, "Options.Host.Source does not support permission hr.view_pay, which field "+
		strconv.Quote(payField)+" asks for: no pay; correct action=, object= or app=, and run "+
		"go generate",
		hostOptions(odd, quiet()), payrollOfHost(""))
}

// A result that an interceptor makes is checked as that of a handler is: in each place that no
// schema guards, a type with a guarded field fails the call.
func TestResultsOfInterceptorsAreChecked(t *testing.T) {
	t.Parallel()
	paid := &payWorker{Name: "eve", Salary: new(4711)}
	for name, tc := range map[string]struct {
		change func(*mcp.CallToolResult)
		fails  bool
	}{
		"nothing":      {func(*mcp.CallToolResult) {}, false},
		"the declared": {func(r *mcp.CallToolResult) { r.StructuredContent = paid }, false},
		"another shape": {func(r *mcp.CallToolResult) {
			r.StructuredContent = map[string]any{
				"x": paid}
		}, true},
		"metadata": {func(r *mcp.CallToolResult) {
			r.Meta = mcp.Meta{
				"example.org/x": paid}
		}, true},
		"below the object": {func(r *mcp.CallToolResult) {
			r.StructuredContent = payWorker{
				More: paid}
		}, true},
		"of a content": {func(r *mcp.CallToolResult) {
			r.Content = []mcp.Content{&mcp.TextContent{Meta: mcp.Meta{"example.org/x": []any{paid}}}}
		}, true},
	} {
		s := newServer(t, runtime.Options{Interceptors: []intercept.Middleware{
			intercepting(func(_ context.Context, _ intercept.Message, res mcp.Result) mcp.Result {
				if r, ok := res.(*mcp.CallToolResult); ok {
					tc.change(r)
				}
				return res
			})}}, payroll(nil).Only("get"))
		got := newRaw(t, serve(t, s), tokens["Viewer"], eras[0]).ask(t, "tools/call",
			`"name":"get","arguments":{}`, nil).body
		if strings.Contains(got, "4711") || !tc.fails && !strings.Contains(got, `"eve`) &&
			!strings.Contains(got, `\"eve`) || strings.Contains(got, "nternal error") != tc.fails {
			t.Errorf("%s: %s", name, got)
		}
	}
}

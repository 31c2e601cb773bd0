package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestMissingArgumentsAreTheEmptyObject(t *testing.T) {
	r, _ := newRunner(t)
	tool := newTool(t, toolset.Tool{},
		func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Structured(string(call.Arguments), nil)
		})
	for sent, want := range map[string]string{"": `{}`, "null": `{}`, `{"a": 1}`: `{\"a\": 1}`} {
		if got, _, _ := called(r, tool, sent); got != `"`+want+`"` {
			t.Errorf("%q: %s", sent, got)
		}
	}
}

func TestAdviceStandsInTheResult(t *testing.T) {
	synctest.Test(t, testAdvice)
}

func testAdvice(t *testing.T) {
	for name, test := range map[string]struct {
		handle handler
		want   string
	}{
		"a result": {returns(toolset.Structured(1, nil)), `1+hint`},
		"an error": {returns(toolset.Done(errors.New("no"))), `!no+hint`},
		"a timeout": {func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Done(ctx.Err())
		}, `!timed out after 500ms+hint`},
		"too much output": {returns(toolset.Structured(strings.Repeat("x", 200), nil)),
			`!the tool reached its limit on output (100 bytes): request less+hint`},
		"a panic": {func(context.Context, toolset.Call) (toolset.Result, error) { panic("!") },
			`!internal error`},
		"an input": {returns(toolset.Native(inputs("a", &mcp.ElicitParams{}), nil, nil)), ``},
	} {
		for _, unread := range []bool{false, true} {
			r, _ := newRunner(t)
			r.Unread = unread
			tool := toolset.Tool{}
			switch name {
			case "too much output":
				tool.Limits.Output = 100
			case "a timeout":
				tool.Timeout = 500 * time.Millisecond
			}
			var late context.Context
			got, report, err := called(r,
				newTool(t, tool,
					func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
						late = ctx
						if !notify.Advise(ctx, 1, "hint") {
							t.Errorf("%s: nothing takes advice", name)
						}
						return test.handle(ctx, call)
					}), `{}`)
			if got != test.want || err != nil || report.Content != nil {
				t.Errorf("%s: %q %+v %v", name, got, report, err)
			}
			if notify.Advise(late, 1, "later") {
				t.Errorf("%s: advice is taken after the end", name)
			}
		}
	}
}

func TestUnreadResultHoldsItsContentAlone(t *testing.T) {
	for _, unread := range []bool{false, true} {
		for out, whole := range map[string]bool{"fine": true, "\xff": false} {
			r, _ := newRunner(t)
			r.Unread = unread
			tool := newTool(t, toolset.Tool{},
				returns(toolset.Structured(json.RawMessage(`"`+out+`"`), nil)))
			res, report, err := r.Tool(t.Context(), message(r, member), tool,
				mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
			if err != nil {
				t.Fatal(err)
			}
			if hidden := len(res.Content) == 0; hidden != (unread && whole) {
				t.Errorf("unread %t, %q: %+v", unread, out, res)
			}
			if (report.Content.Encoded.Body != nil) != whole {
				t.Errorf("unread %t, %q: %+v", unread, out, report.Content)
			}
		}
	}
}

func TestOutputBeyondTheLimitIsAnError(t *testing.T) {
	for name, result := range map[string]func(size int) (toolset.Result, error){
		"a result": func(size int) (toolset.Result, error) {
			return toolset.Structured(strings.Repeat("x", size-len(`""`)), nil)
		},
		"a content": func(size int) (toolset.Result, error) {
			size -= len(`{"content":[{"type":"text","text":""}]}`)
			return toolset.Native(contents(strings.Repeat("x", size)), nil, nil)
		},
	} {
		for _, size := range []int{2048, 2049} {
			r, _ := newRunner(t)
			got, report, _ := called(r,
				newTool(t, toolset.Tool{Limits: toolset.Limits{Output: 2048}},
					func(context.Context, toolset.Call) (toolset.Result, error) {
						return result(size)
					}), `{}`)
			if size == 2048 && report.Failure != "" ||
				size > 2048 &&
					(got != "!the tool reached its limit on output (2 KiB): request less" ||
						report.Failure != audit.Limited || report.Missing != "output") {
				t.Errorf("%s of %d bytes: %.80s %+v", name, size, got, report)
			}
		}
	}
	for size, want := range map[int64]string{1 << 30: "1 GiB", 3 << 20: "3 MiB", 1536: "1536 bytes",
		1 << 10: "1 KiB", 1: "1 bytes"} {
		if got := sizeOf(size); got != want {
			t.Errorf("%d: %s", size, got)
		}
	}
}

// TestStructuredContentIsThatOfItsVersion calls tools in a version without sessions and in one with
// sessions (SEP-2106).
func TestStructuredContentIsThatOfItsVersion(t *testing.T) {
	type person struct {
		Name string `json:"name"`
	}
	const (
		object  = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
		orNull  = `{"anyOf":[` + object + `,{"type":"null"}]}`
		nothing = "!tool t returned a nil result, which clients of MCP versions before 2026-07-28 cannot receive"
		crash   = "!internal error"
	)
	whole := func(content any) *mcp.CallToolResult {
		return &mcp.CallToolResult{StructuredContent: content, Content: []mcp.Content{
			&mcp.TextContent{Text: "own"}}}
	}
	for name, test := range map[string]struct {
		output          string
		handle          handler
		want, inSession string
	}{
		"an object":          {object, returns(toolset.Structured(person{"a"}, nil)), `{"name":"a"}`, `{"name":"a"}`},
		"a list":             {`{"type":"array"}`, returns(toolset.Structured([]int{1}, nil)), `[1]`, `{"result":[1]}`},
		"a nil list":         {`{"type":"array"}`, returns(toolset.Structured([]int(nil), nil)), `[]`, `{"result":[]}`},
		"a text":             {`{"type":"string"}`, returns(toolset.Structured("a", nil)), `"a"`, `{"result":"a"}`},
		"an enum":            {`{"type":["string","null"]}`, returns(toolset.Structured("a", nil)), `"a"`, `{"result":"a"}`},
		"anything":           {`{}`, returns(toolset.Structured(person{"a"}, nil)), `{"name":"a"}`, `{"result":{"name":"a"}}`},
		"anything, as null":  {`{}`, returns(toolset.Structured(nil, nil)), `null`, `{"result":null}`},
		"a pointer":          {orNull, returns(toolset.Structured(&person{"a"}, nil)), `{"name":"a"}`, `{"name":"a"}`},
		"a nil pointer":      {orNull, returns(toolset.Structured((*person)(nil), nil)), `null`, nothing},
		"nil for an object":  {object, returns(toolset.Structured((*person)(nil), nil)), crash, crash},
		"no schema":          {``, returns(toolset.Structured([]int{1}, nil)), `[1]`, `{"result":[1]}`},
		"a native list":      {`{"type":"array"}`, returns(toolset.Native(nil, []int{1}, nil)), `[1]`, `{"result":[1]}`},
		"a native pointer":   {orNull, returns(toolset.Native(nil, (*person)(nil), nil)), `null`, nothing},
		"a native object":    {object, returns(toolset.Native(whole(nil), (*person)(nil), nil)), `own`, `own`},
		"a result by hand":   {`{"type":"array"}`, returns(toolset.Native(whole([]int{1}), nil, nil)), `[1]own`, `{"result":[1]}own`},
		"a null by hand":     {orNull, returns(toolset.Native(whole(json.RawMessage("null")), nil, nil)), `nullown`, nothing},
		"an object by hand":  {`{}`, returns(toolset.Native(whole(person{"a"}), nil, nil)), `{"name":"a"}own`, `{"result":{"name":"a"}}own`},
		"without any schema": {``, returns(toolset.Native(whole(person{"a"}), nil, nil)), `{"name":"a"}own`, `{"name":"a"}own`},
	} {
		for version, want := range map[string]string{
			request.Stateless: test.want, request.NewestWithSessions: test.inSession} {
			r, _ := newRunner(t)
			tool := newTool(t, toolset.Tool{Output: test.output}, test.handle)
			info := message(r, member)
			info.Version = version
			res, _, err := r.Tool(t.Context(), info, tool,
				mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
			if err != nil {
				t.Fatal(err)
			}
			got := text(res)
			if content, err := wire.Marshal(res.StructuredContent); err != nil {
				t.Fatal(err)
			} else if structured := string(content); res.StructuredContent != nil && got != structured {
				got = structured + got
			}
			if got != want {
				t.Errorf("%s in %s: %s, want %s", name, version, got, want)
			}
		}
	}
}

func TestOutputsAreNormalizedBySchema(t *testing.T) {
	const (
		list   = `{"type":"array"}`
		person = `{"type":"object","properties":{"tags":{"type":"array"}},"required":["tags"]}`
	)
	type tagged struct {
		Tags []string `json:"tags"`
	}
	mine := map[string][]string{"tags": nil}
	spoken := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "spoken"}}}
	for name, test := range map[string]struct {
		output string
		handle handler
		want   string // structured content
		text   string // of the first content, if that is not the structured content
	}{
		"an object": {person, returns(toolset.Structured(tagged{[]string{"x"}}, nil)),
			`{"tags":["x"]}`, ""},
		"a nil slice":   {person, returns(toolset.Structured(&tagged{}, nil)), `{"tags":[]}`, ""},
		"its own value": {person, returns(toolset.Structured(mine, nil)), `{"tags":[]}`, ""},
		"a nil list":    {list, returns(toolset.Structured([]string(nil), nil)), `[]`, ""},
		"text of HTML":  {``, returns(toolset.Structured("<&>", nil)), `"<&>"`, ""},
		"nothing":       {``, returns(toolset.Done(nil)), ``, ""},
		"a native list": {list, returns(toolset.Native(nil, []string(nil), nil)), `[]`, ""},
		"native":        {person, returns(toolset.Native(nil, tagged{}, nil)), `{"tags":[]}`, ""},
		"native null":   {``, returns(toolset.Native(nil, (*tagged)(nil), nil)), ``, ""},
		"with content": {person, returns(toolset.Native(spoken, tagged{}, nil)), `{"tags":[]}`,
			"spoken"},
	} {
		r, _ := newRunner(t)
		tool := newTool(t, toolset.Tool{Output: test.output}, test.handle)
		req := mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}
		res, _, err := r.Tool(t.Context(), message(r, member), tool, req)
		structured := ""
		if res.StructuredContent != nil {
			structured = string(res.StructuredContent.(json.RawMessage))
		}
		if test.text == "" {
			test.text = test.want
		}
		if err != nil || structured != test.want || text(res) != test.text {
			t.Errorf("%s: structured %s, text %q, %v", name, structured, text(res), err)
		}
	}
	if mine["tags"] != nil || spoken.StructuredContent != nil {
		t.Error("the handler's value is written to")
	}
}

func TestSharedResultIsNotWrittenTo(t *testing.T) {
	shared := inputs("a", &mcp.ElicitParams{Message: "?"})
	r, _ := newRunner(t)
	tool := newTool(t, toolset.Tool{}, returns(toolset.Native(shared, nil, nil)))
	res, _, err := r.Tool(t.Context(), message(r, member), tool,
		mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
	if err != nil || res == shared || res.InputRequests["a"] == shared.InputRequests["a"] ||
		shared.Content != nil {
		t.Errorf("%+v %v", res, err)
	}
}

func TestNewToolNamesTheFaultAndTheCure(t *testing.T) {
	handle := returns(toolset.Done(nil))
	for want, change := range map[string]func(*toolset.Tool){
		"not a tool name":                    func(t *toolset.Tool) { t.Name = "a b" },
		"it has no handler: run go generate": func(t *toolset.Tool) { t.Call = nil },
		"its timeout is -1ns":                func(t *toolset.Tool) { t.Timeout = -1 },
		"it has Omits, and the server":       func(t *toolset.Tool) { t.Omits = true },
		"a catalog without a name":           func(t *toolset.Tool) { t.Catalogs = []string{""} },
		`in the catalog "a" twice`:           func(t *toolset.Tool) { t.Catalogs = []string{"a", "a"} },
		"its input schema is not JSON":       func(t *toolset.Tool) { t.Input = "{" },
		`not of type "object"`:               func(t *toolset.Tool) { t.Input = `{"type":"array"}` },
		"that is not a header name: use letters, digits and -": func(t *toolset.Tool) {
			t.Input = header(`"a b"`, `"c"`)
		},
		"its result has guarded fields, and the handler makes the result itself: run go generate": func(
			t *toolset.Tool) {
			t.Output, t.SDK = guardedObject, true
		},
		"its result has guarded fields, and the handler makes": func(t *toolset.Tool) {
			t.Guarded, t.Returns = guardedObject, toolset.Contents
		},
		"after top-level value": func(t *toolset.Tool) { t.Guarded = guardedObject[1:] },
		`"#/a" has no target`: func(t *toolset.Tool) {
			t.Input = `{"type":"object","$ref":"#/a","x-mcpgen-field":"p.T.F"}`
		},
		"x-mcp-header at b":            func(t *toolset.Tool) { t.Input = header(`"a"`, `7`) },
		"two properties to the header": func(t *toolset.Tool) { t.Input = header(`"R"`, `"r"`) },
		"its input schema has a malformed x-mcp-header (": func(t *toolset.Tool) {
			t.Input = `{"type":"object","properties":{"x-mcp-header":true}}`
		},
	} {
		tool := toolset.Tool{Name: "t", Input: `{"type":"object"}`, Call: handle}
		change(&tool)
		if _, err := NewTool(tool, Schemas{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for name, want := range map[string]bool{"": false, "a.B_-9": true,
		strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "aéa": false, "\xff": false} {
		if got := checkName(name) == nil; got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
	schemas := Schemas{}
	for range 2 { // tools of one type share schemas, and one text is of both kinds
		tool, err := NewTool(toolset.Tool{Name: "t", Title: "T", Input: header(`"b"`, `"a"`),
			Output: header(`"b"`, `"a"`), Call: handle}, schemas)
		if err != nil || tool.Timeout != DefaultTimeout || tool.output == nil ||
			len(tool.Headers) != 2 ||
			tool.Public.Title != "T" || len(schemas) != 1 {
			t.Fatalf("%+v %v, %d schemas", tool, err, len(schemas))
		}
		if tool.Headers[0].header != "a" || fmt.Sprint(tool.Public.OutputSchema) == "" {
			t.Errorf("%+v", tool.Headers)
		}
	}
}

// header is an input schema with the properties a and b, bound to headers.
func header(a, b string) string {
	return `{"type":"object","properties":{"a":{"x-mcp-header":` + a +
		`},"b":{"x-mcp-header":` + b + `}}}`
}

func TestOutputsWithoutStructuredContent(t *testing.T) {
	type word string
	texts := func(list ...string) (contents []mcp.Content) {
		for _, text := range list {
			contents = append(contents, &mcp.TextContent{Text: text})
		}
		return contents
	}
	own := &mcp.CallToolResult{Content: texts("a"), StructuredContent: map[string]int{"n": 1}}
	asking := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": &mcp.ElicitParams{}}}
	isolated := func(text string) any { return json.RawMessage(text) }
	for name, test := range map[string]struct {
		form toolset.Form
		mime string
		out  any
		want string // the encoded result; empty for an internal error
	}{
		"text":        {toolset.Text, "", "a <b>\n", `[{"type":"text","text":"a <b>\n"}]`},
		"empty text":  {toolset.Text, "", "", `[{"type":"text","text":""}]`},
		"named text":  {toolset.Text, "", word("a"), `[{"type":"text","text":"a"}]`},
		"from apart":  {toolset.Text, "", isolated(`"a\"b"`), `[{"type":"text","text":"a\"b"}]`},
		"no text":     {toolset.Text, "", 7, ``},
		"no JSON":     {toolset.Text, "", isolated(`{`), ``},
		"JSON":        {toolset.JSON, "", []int{1}, `[{"type":"text","text":"[1]"}]`},
		"null":        {toolset.JSON, "", nil, `[{"type":"text","text":"null"}]`},
		"JSON, apart": {toolset.JSON, "", isolated(`[1]`), `[{"type":"text","text":"[1]"}]`},
		"no encoding": {toolset.JSON, "", func() {}, ``},
		"image": {toolset.Bytes, "image/png", []byte("ab"),
			`[{"type":"image","mimeType":"image/png","data":"YWI="}]`},
		"image, apart": {toolset.Bytes, "image/png", isolated(`"YWI="`),
			`[{"type":"image","mimeType":"image/png","data":"YWI="}]`},
		"audio": {toolset.Bytes, "Audio/wav", []byte(nil),
			`[{"type":"audio","mimeType":"Audio/wav","data":""}]`},
		"a text resource": {toolset.Bytes, "text/csv", []byte("a,b"),
			`[{"type":"resource","resource":{"uri":"tool:t",` +
				`"mimeType":"text/csv","text":"a,b"}}]`},
		"a text resource that is not UTF-8": {toolset.Bytes, "text/csv", []byte("\xff"),
			`[{"type":"resource","resource":{"uri":"tool:t",` +
				`"mimeType":"text/csv","blob":"/w=="}}]`},
		"a resource": {toolset.Bytes, "application/pdf", []byte(nil),
			`[{"type":"resource","resource":{"uri":"tool:t",` +
				`"mimeType":"application/pdf","blob":""}}]`},
		"which is not bytes": {toolset.Bytes, "image/png", "ab", ``},
		"no bytes, apart":    {toolset.Bytes, "image/png", isolated(`7`), ``},
		"a content":          {toolset.Contents, "", texts("a")[0], `[{"type":"text","text":"a"}]`},
		"contents": {toolset.Contents, "", texts("a", "b"),
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		"no contents": {toolset.Contents, "", []mcp.Content(nil), `[]`},
		"contents of a type": {toolset.Contents, "", []*mcp.TextContent{{Text: "a"}},
			`[{"type":"text","text":"a"}]`},
		"contents, apart": {toolset.Contents, "", isolated(`[{"type":"text","text":"a"}]`),
			`[{"type":"text","text":"a"}]`},
		"a content, apart": {toolset.Contents, "", isolated(`{"type":"text","text":"a"}`),
			`[{"type":"text","text":"a"}]`},
		"every content, apart": {toolset.Contents, "", isolated(everyContent), everyContent},
		"a nil content":        {toolset.Contents, "", (*mcp.TextContent)(nil), ``},
		"a nil in a list":      {toolset.Contents, "", []mcp.Content{nil}, ``},
		"null, apart":          {toolset.Contents, "", isolated(`null`), ``},
		"another type":         {toolset.Contents, "", 7, ``},
		"a result": {toolset.SDKResult, "", own,
			`[{"type":"text","text":"a"}],"structuredContent":{"n":1}`},
		"a nil result":          {toolset.SDKResult, "", (*mcp.CallToolResult)(nil), `[]`},
		"a result that asks":    {toolset.SDKResult, "", asking, ``},
		"a result of no result": {toolset.SDKResult, "", 7, ``},
	} {
		for _, unread := range []bool{false, true} {
			r, _ := newRunner(t)
			r.Unread = unread
			tool := newTool(t, toolset.Tool{Returns: test.form, MIMEType: test.mime},
				returns(toolset.Unstructured(test.out, nil)))
			res, report, err := r.Tool(t.Context(), message(r, member), tool,
				mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" {
				if !res.IsError || report.Failure != audit.Crashed {
					t.Errorf("%s: %+v %+v", name, res, report)
				}
				continue
			}
			encoded, err := wire.EncodeResult(res)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"content":` + test.want + `}`
			if !unread { // go-sdk escapes HTML
				want = strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(want)
			}
			if got := string(encoded.Body); got != want || res.IsError {
				t.Errorf("%s, unread %t: %s", name, unread, got)
			}
			if shown := wire.Shown(res).(*mcp.CallToolResult); len(test.want) > 2 &&
				len(shown.Content) == 0 {
				t.Errorf("%s, unread %t: middleware sees no content", name, unread)
			}
		}
	}
	if own.Content[0].(*mcp.TextContent).Text != "a" {
		t.Error("the handler's value is written to")
	}
}

func TestSDKHandlersOutputAsText(t *testing.T) {
	for want, handle := range map[string]handler{
		`[{"type":"text","text":"{\"n\":1}"}]`: returns(
			toolset.Native(nil, map[string]int{"n": 1}, nil)),
		`[{"type":"text","text":"one"}]`: returns(toolset.Native(&mcp.CallToolResult{
			Content: []mcp.Content{&mcp.TextContent{Text: "one"}}}, map[string]int{"n": 1}, nil)),
		`[{"type":"text","text":"{\"n\":2}"}],"structuredContent":3`: returns(toolset.Native(
			&mcp.CallToolResult{StructuredContent: 3}, map[string]int{"n": 2}, nil)),
		`[]`: returns(toolset.Native(nil, (*struct{})(nil), nil)),
	} {
		r, _ := newRunner(t)
		tool := newTool(t, toolset.Tool{Returns: toolset.JSON, SDK: true}, handle)
		res, _, err := r.Tool(t.Context(), message(r, member), tool,
			mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := wire.EncodeResult(res)
		if err != nil || string(encoded.Body) != `{"content":`+want+`}` {
			t.Errorf("%s: %s %v", want, encoded.Body, err)
		}
	}
}

// Arguments that a decision depends on stay strict, in whatever way it knows them.
func TestBoundArgumentsAreNeverLenient(t *testing.T) {
	const list = `{"type":"array","items":{"type":"string"}}`
	schema := `{"type":"object","required":["file"],"properties":{"file":` + list +
		`,"mode":{"type":"string","enum":["a"],"default":"a"},"region":{"type":"integer",` +
		`"x-mcp-header":"Region"},"free":` + list + `}}`
	built, err := NewTool(toolset.Tool{Name: "t", Input: schema, Lenient: true,
		Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Result{}, nil
		},
		Allow: []toolset.Allow{{Kind: "file.read", Argument: "file"}}}, Schemas{})
	if err != nil {
		t.Fatal(err)
	}
	table := access.Table{Values: []access.Rule{{Tool: "t", Argument: "mode", Value: "a"}}}
	if err := errors.Join(built.BindValues(table.Values), built.BindLenient(false)); err != nil {
		t.Fatal(err)
	}
	const doc = `{"file":"a","mode":null,"region":"1","free":"a"}`
	got, done := built.lenient.Coerce([]byte(doc), nil)
	if want := strings.Replace(doc, `"free":"a"`, `"free":["a"]`, 1); string(got) != want ||
		done != (decode.Coercions{Lists: 1}) {
		t.Errorf("%s, %+v, want %s", got, done, want)
	}
}

// everyContent is one content of each type, for the model.
const everyContent = `[{"type":"text","text":"a",` + toModel + `},` +
	`{"type":"image","mimeType":"image/png","data":"YQ==",` + toModel + `},` +
	`{"type":"audio","mimeType":"audio/wav","data":"YQ==",` + toModel + `},` +
	`{"type":"resource_link","uri":"a:b","name":"b",` + toModel + `},` +
	`{"type":"resource","resource":{"uri":"a:b","text":"c"},` + toModel + `}]`

const toModel = `"annotations":{"audience":["assistant"],"priority":1}`

package discovery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// filled are lists of everything that a policy's table has a rule for, and of one more each.
func filled(p *Policy, size int) *Lists { return fill(ListsConfig{Policy: p, PageSize: size}) }

func fill(c ListsConfig) *Lists {
	l := NewLists(c)
	for _, name := range append(c.Policy.Table.Tools(), "unruled") {
		l.AddTool(&mcp.Tool{
			Name: name, Annotations: &mcp.ToolAnnotations{Title: name},
			InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`{}`),
		})
	}
	for _, name := range append(c.Policy.Table.Of(access.Prompts).Tools(), "unruled") {
		l.AddPrompt(&mcp.Prompt{Name: name, Arguments: []*mcp.PromptArgument{{Name: "a"}}})
	}
	for _, uri := range append(c.Policy.Table.Of(access.Resources).Tools(), "unruled:x") {
		if strings.Contains(uri, "{") {
			l.AddTemplate(&mcp.ResourceTemplate{URITemplate: uri})
		} else {
			l.AddResource(&mcp.Resource{URI: uri})
		}
	}
	return l
}

// visibleTools returns the names of the tools that a principal is listed.
func (l *Lists) visibleTools(p access.Principal) []string {
	var names []string
	for t := range l.tools.visible(p, nil, nil).all {
		names = append(names, t.item.Name)
	}
	return names
}

func TestOnlyItemsWithARuleAreListed(t *testing.T) {
	l := filled(&Policy{Table: office(t), ListAll: true}, 10)
	if tools, prompts, resources := l.Totals(); tools != 4 || prompts != 2 || resources != 4 {
		t.Errorf("%d tools, %d prompts, %d resources", tools, prompts, resources)
	}
	want := []string{"buy", "drop", "look", "read"}
	if got := l.visibleTools(access.Principal{}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// all pages through a list and returns its names, pages apart by a bar.
func all(
	t *testing.T, l *Lists, p access.Principal, params func(cursor string) mcp.Params,
) string {
	t.Helper()
	var pages []string
	for cursor := ""; ; {
		res, ok, err := l.Result(p, Filter{}, params(cursor))
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		var names []string
		switch res := res.(type) {
		case *mcp.ListToolsResult:
			for _, item := range res.Tools {
				names = append(names, item.Name)
			}
			cursor = res.NextCursor
		case *mcp.ListPromptsResult:
			for _, item := range res.Prompts {
				names = append(names, item.Name)
			}
			cursor = res.NextCursor
		case *mcp.ListResourcesResult:
			for _, item := range res.Resources {
				names = append(names, item.URI)
			}
			cursor = res.NextCursor
		case *mcp.ListResourceTemplatesResult:
			for _, item := range res.ResourceTemplates {
				names = append(names, item.URITemplate)
			}
			cursor = res.NextCursor
		}
		if pages = append(pages, strings.Join(names, " ")); cursor == "" {
			return strings.Join(pages, " | ")
		}
	}
}

func TestFourListsAreAnsweredInPages(t *testing.T) {
	for _, clone := range []bool{false, true} {
		l := fill(ListsConfig{Policy: &Policy{Table: office(t)}, PageSize: 1, Clone: clone})
		for role, want := range map[string][4]string{
			"Viewer": {"look | read", "look", "file:///a", ""},
			"Admin": {
				"drop | look | read", "look | plan",
				"file:///a | file:///b", "file:///{path} | note:{name}",
			},
		} {
			p := caller(role)
			got := [4]string{
				all(t, l, p, func(c string) mcp.Params { return &mcp.ListToolsParams{Cursor: c} }),
				all(t, l, p, func(c string) mcp.Params { return &mcp.ListPromptsParams{Cursor: c} }),
				all(t, l, p, func(c string) mcp.Params { return &mcp.ListResourcesParams{Cursor: c} }),
				all(t, l, p, func(c string) mcp.Params {
					return &mcp.ListResourceTemplatesParams{Cursor: c}
				}),
			}
			if got != want {
				t.Errorf("%s: %q, want %q", role, got, want)
			}
		}
	}
}

func TestListWithoutParamsIsTheFirstPage(t *testing.T) {
	l := filled(&Policy{Table: office(t)}, 10)
	for _, params := range []mcp.Params{
		(*mcp.ListToolsParams)(nil), (*mcp.ListPromptsParams)(nil),
		(*mcp.ListResourcesParams)(nil), (*mcp.ListResourceTemplatesParams)(nil),
	} {
		if res, ok, err := l.Result(caller("Admin"), Filter{}, params); !ok || err != nil || res == nil {
			t.Errorf("%T: %v, %v", params, ok, err)
		}
	}
	if _, ok, _ := l.Result(caller("Admin"), Filter{}, &mcp.CallToolParamsRaw{}); ok {
		t.Error("a call is a list")
	}
}

func TestCursorOfAnotherListIsInvalid(t *testing.T) {
	l := filled(&Policy{Table: office(t)}, 1)
	res, _, err := l.Result(caller("Admin"), Filter{}, &mcp.ListToolsParams{})
	if err != nil {
		t.Fatal(err)
	}
	cursor := res.(*mcp.ListToolsResult).NextCursor
	res, _, err = l.Result(caller("Admin"), Filter{}, &mcp.ListResourcesParams{})
	if err != nil {
		t.Fatal(err)
	}
	resources := res.(*mcp.ListResourcesResult).NextCursor
	two := l.Policy.Table.Named([]string{"drop", "read"})
	for name, test := range map[string]struct {
		p      access.Principal
		in     *access.Set
		params mcp.Params
		valid  bool
	}{
		"its own":   {caller("Admin"), nil, &mcp.ListToolsParams{Cursor: cursor}, true},
		"prompts":   {caller("Admin"), nil, &mcp.ListPromptsParams{Cursor: cursor}, false},
		"another's": {caller("Viewer"), nil, &mcp.ListToolsParams{Cursor: cursor}, false},
		// Resources and templates have one table.
		"resources": {caller("Admin"), nil, &mcp.ListResourcesParams{Cursor: resources}, true},
		"templates": {
			caller("Admin"), nil, &mcp.ListResourceTemplatesParams{Cursor: resources}, false,
		},
		"that of a catalog": {caller("Admin"), &two, &mcp.ListToolsParams{Cursor: cursor}, false},
	} {
		res, ok, err := l.Result(test.p, Filter{In: test.in}, test.params)
		if !ok || (err == nil) != test.valid || (res == nil) == test.valid {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		if err != nil && err.Error() != wire.InvalidParams("invalid cursor").Error() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCatalogShortensToolsAndLeavesANote(t *testing.T) {
	l := filled(&Policy{Table: office(t)}, 10)
	in := l.Policy.Table.Named([]string{"drop", "read"})
	f := Filter{In: &in, Note: "a note"}
	res, _, err := l.Result(caller("Viewer"), f, &mcp.ListToolsParams{})
	if err != nil {
		t.Fatal(err)
	}
	list := res.(*mcp.ListToolsResult)
	if len(list.Tools) != 1 || list.Tools[0].Name != "read" ||
		list.Meta[wire.MetaCatalogNote] != "a note" {
		t.Errorf("%+v", list)
	}
	for method, want := range map[string]string{
		"tools/list":               fmt.Sprint(audit.ToolList, 1, 4),
		"prompts/list":             fmt.Sprint(audit.PromptList, 1, 2),
		"resources/list":           fmt.Sprint(audit.ResourceList, 1, 2),
		"resources/templates/list": fmt.Sprint(audit.TemplateList, 0, 2),
	} {
		kind, visible, total := l.Counts(method, caller("Viewer"), f)
		if got := fmt.Sprint(kind, visible, total); got != want {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
}

func TestClonesShareNothingThatCanBeChanged(t *testing.T) {
	l := fill(ListsConfig{Policy: &Policy{Table: office(t)}, PageSize: 10, Clone: true})
	read := func() string {
		var lists []any
		for _, params := range []mcp.Params{
			&mcp.ListToolsParams{}, &mcp.ListPromptsParams{},
			&mcp.ListResourcesParams{}, &mcp.ListResourceTemplatesParams{},
		} {
			res, _, err := l.Result(caller("Admin"), Filter{}, params)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			lists = append(lists, string(text))
			switch res := res.(type) {
			case *mcp.ListToolsResult:
				tool := res.Tools[0]
				tool.Name, tool.Annotations.Title = "x", "x"
				tool.InputSchema.(json.RawMessage)[0] = '['
				tool.OutputSchema.(json.RawMessage)[0] = '['
				res.Tools[1] = nil
			case *mcp.ListPromptsResult:
				res.Prompts[0].Name, res.Prompts[0].Arguments[0].Name = "x", "x"
			case *mcp.ListResourcesResult:
				res.Resources[0].URI = "x"
			case *mcp.ListResourceTemplatesResult:
				res.ResourceTemplates[0].URITemplate = "x"
			}
		}
		return fmt.Sprint(lists)
	}
	if before, after := read(), read(); before != after {
		t.Errorf("%s\nis now\n%s", before, after)
	}
}

// Scopes and switches make any number of visible sets, of which none is kept. Of the items for
// callers who may send some values, those that were listed last are kept.
func TestListsKeepNoMoreThanABound(t *testing.T) {
	of := access.Table{Rules: []access.Rule{{Tool: "t", Authenticated: true}}}
	for i := range 12 {
		of.Values = append(of.Values, access.Rule{Tool: "t", Argument: "a", Value: fmt.Sprint(i),
			Authenticated: true, Scopes: []string{fmt.Sprint(i)}})
	}
	table, err := access.Compose(access.Part{Table: of})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLists(ListsConfig{Policy: &Policy{Table: table}, PageSize: 10})
	description := strings.Repeat("A long description. ", 500)
	l.AddTool(&mcp.Tool{Name: "t", Description: description, InputSchema: json.RawMessage(
		`{"properties":{"a":{"type":"string","enum":["0","1"]}},"type":"object"}`)})
	const sets = 1 << 12
	for set := range sets {
		var scopes []string
		for i := range 12 {
			if set&(1<<i) != 0 {
				scopes = append(scopes, fmt.Sprint(i))
			}
		}
		if i, cost := l.tools.narrowed.Len(); cost > maxNarrowed || i > maxNarrowed/len(description) {
			t.Fatalf("%d items of %d bytes are kept", i, cost)
		}
		listed := 1
		if set == 0 {
			listed = 0 // the caller can send no value
		}
		if got := l.visibleTools(caller("", scopes...)); len(got) != listed {
			t.Fatalf("%q for %q", got, scopes)
		}
	}
	kept, _ := l.tools.narrowed.Len()
	if kept < 100 || kept == sets-1 {
		t.Errorf("%d items are kept", kept)
	}
}

// A tool that an adopted server lists no longer is in no list and no count, and so is one without a
// rule.
func TestItemsOfAnAdoptedServerAreThoseThatItListsNow(t *testing.T) {
	adopted := func(_ access.Kind, name string) bool { return name != "buy" && name != "look" }
	l := fill(ListsConfig{Policy: &Policy{Table: office(t)}, PageSize: 2, Adopted: adopted})
	output := json.RawMessage(`{"type":"array"}`)
	f := Filter{Sessions: true, Adopted: &AdoptedItems{}}
	f.Adopted.Store(&Items{Tools: map[string]*mcp.Tool{
		"read": {Name: "read", OutputSchema: output}, "unruled": {Name: "unruled"}}})
	everyone := caller("Admin", "write")
	kind, shown, total := l.Counts("tools/list", everyone, f)
	if kind != audit.ToolList || shown != 3 || total != 3 {
		t.Errorf("%d of %d tools", shown, total)
	}
	res, _, err := l.Result(everyone, f, &mcp.ListToolsParams{})
	if err != nil {
		t.Fatal(err)
	}
	page := res.(*mcp.ListToolsResult)
	if len(page.Tools) != 2 || page.Tools[1].Name != "look" || page.NextCursor == "" {
		t.Errorf("%v", page)
	}
	res, _, err = l.Result(everyone, f, &mcp.ListToolsParams{Cursor: page.NextCursor})
	if err != nil {
		t.Fatal(err)
	}
	page = res.(*mcp.ListToolsResult)
	if len(page.Tools) != 1 || page.Tools[0].Name != "read" || page.NextCursor != "" ||
		strings.HasPrefix(fmt.Sprintf("%s", page.Tools[0].OutputSchema), string(output)) {
		t.Errorf("%v", page)
	}
	if _, ok, _ := l.Encode(caller("Admin"), f, &mcp.ListToolsParams{}); ok {
		t.Error("items of a page are encoded that have no JSON")
	}
	own := filled(&Policy{Table: office(t)}, 10)
	if _, shown, total = own.Counts("tools/list", everyone, f); shown != 4 || total != 4 {
		t.Errorf("%d of %d tools of a server without an adopted one", shown, total)
	}
}

// Each version has the output schema that its results fit.
func TestToolsHaveTheOutputSchemaOfTheVersion(t *testing.T) {
	for _, output := range []string{`{"type":"array"}`, `{"type":"object"}`,
		`{"type":["object","null"]}`} {
		l := NewLists(ListsConfig{Policy: &Policy{Table: office(t)}, PageSize: 10})
		tool := &mcp.Tool{Name: "look", OutputSchema: json.RawMessage(output)}
		l.AddTool(tool)
		for _, sessions := range []bool{false, true} {
			want := fmt.Sprintf("%s", withOutput(tool, sessions).OutputSchema)
			list := l.toolsFor(Filter{Sessions: sessions})
			for item := range list.visible(access.Principal{}, nil, nil).all {
				if got := fmt.Sprintf("%s", item.item.OutputSchema); got != want {
					t.Errorf("sessions %t: %s is listed as %s", sessions, output, got)
				}
			}
		}
	}
}

// A list with an item that has no JSON is not encoded, and the item is not left out in silence.
func TestListWithAnItemWithoutJSONIsNotEncoded(t *testing.T) {
	unclear := &mcp.Tool{Name: "look", OutputSchema: make(chan int)}
	if withOutput(unclear, false) != unclear || withOutput(unclear, true) != unclear {
		t.Error("an output schema without JSON is replaced")
	}
	bad, good := &mcp.Tool{Name: "look", InputSchema: make(chan int)}, &mcp.Tool{Name: "read"}
	for _, tools := range [][]*mcp.Tool{{bad}, {bad, good}, {good, bad}} {
		l := NewLists(ListsConfig{Policy: &Policy{Table: office(t)}, PageSize: 10})
		for _, tool := range tools {
			l.AddTool(tool)
		}
		_, ok, err := l.Encode(caller("Viewer"), Filter{}, &mcp.ListToolsParams{})
		if ok || err != nil {
			t.Errorf("%d tools: %t, %v", len(tools), ok, err)
		}
	}
}

func TestNarrowedItemsAreKeptByEachChoice(t *testing.T) {
	keys := map[string]bool{}
	all := []narrowing[mcp.Tool]{{name: "t"}, {name: "u"}}
	for _, values := range [][2][]string{{{"x"}, nil}, {nil, {"x"}}, {{"x"}, {"x"}},
		{{"x", "y"}, nil}, {{`x"y`}, nil}, {{"x y"}, nil}, {nil, nil}} {
		all = append(all, narrowing[mcp.Tool]{name: "t", choices: []access.Choice{
			{Argument: "a", Values: values[0]}, {Argument: "b", Values: values[1]}}})
	}
	for _, n := range all {
		keys[n.key()] = true
	}
	if len(keys) != len(all) {
		t.Errorf("%d keys of %d choices: %v", len(keys), len(all), keys)
	}
}

// A schema with one value that has a rule is narrowed too. A tool that cannot be narrowed is left
// out.
func TestToolsAreNarrowedOrLeftOut(t *testing.T) {
	table, err := access.Compose(access.Part{Table: access.Table{
		Rules:  []access.Rule{{Tool: "other", Authenticated: true}, {Tool: "t", Authenticated: true}},
		Values: []access.Rule{{Tool: "t", Argument: "a", Value: "0", Authenticated: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLists(ListsConfig{Policy: &Policy{Table: table}, PageSize: 10})
	l.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"a":{"enum":["0","hidden"]}}}`)})
	e, ok, err := l.Encode(caller(""), Filter{}, &mcp.ListToolsParams{})
	if !ok || err != nil || strings.Contains(string(e.Append(nil)), "hidden") {
		t.Errorf("%t, %v", ok, err)
	}
	l.tools.narrowBy(func(*mcp.Tool, []access.Choice, []string) *mcp.Tool { panic("no schema") })
	if got := l.visibleTools(caller("")); len(got) != 0 {
		t.Errorf("%q", got)
	}
	empty := NewLists(l.ListsConfig)
	empty.tools.narrowBy(func(*mcp.Tool, []access.Choice, []string) *mcp.Tool {
		t.Error("a tool that is not served is narrowed")
		return nil
	})
	if got := empty.visibleTools(caller("")); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// An encoded list is byte for byte the encoded result.
func TestEncodedListsAreTheEncodedResults(t *testing.T) {
	l := fill(ListsConfig{Policy: &Policy{Table: office(t), ListAll: true}, PageSize: 2, TTLMs: 7})
	for _, note := range []string{"", "no such catalog"} {
		for _, params := range []mcp.Params{&mcp.ListToolsParams{}, (*mcp.ListToolsParams)(nil),
			&mcp.ListPromptsParams{}, &mcp.ListResourcesParams{}, &mcp.ListResourceTemplatesParams{},
			&mcp.ListToolsParams{Cursor: "x"}} {
			res, _, wrong := l.Result(caller("Admin"), Filter{Note: note}, params)
			got, ok, err := l.Encode(caller("Admin"), Filter{Note: note}, params)
			if wrong != nil {
				if !ok || err == nil || err.Error() != wrong.Error() {
					t.Errorf("%T: %v, want %v", params, err, wrong)
				}
				continue
			}
			want, errWant := wire.EncodeResult(res)
			if !ok || err != nil || errWant != nil || string(got.Append(nil)) != string(want.Append(nil)) ||
				len(got.Append(nil)) > got.Size() {
				t.Errorf("%T:\n%s %v\n%s %v", params, got.Append(nil), err, want.Append(nil), errWant)
			}
		}
	}
	if _, ok, _ := l.Encode(caller("Admin"), Filter{}, &mcp.CallToolParamsRaw{}); ok {
		t.Error("a call is a list")
	}
	l.Clone = true
	if _, ok, _ := l.Encode(caller("Admin"), Filter{}, &mcp.ListToolsParams{}); ok {
		t.Error("middleware could not change the items")
	}
}

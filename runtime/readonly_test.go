package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// depot has two tools that are marked readonly, and three that are not, one of them in go-sdk's
// shape. A catalog has tools of the second kind alone.
func depot() toolset.Toolset {
	tool := func(name string, readOnly bool, catalogs ...string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: nothing,
			Annotations: toolset.Annotations{ReadOnlyHint: readOnly}, Catalogs: catalogs}
	}
	shout := tool("shout", false)
	shout.SDK, shout.Call = true, func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Native(nil, nil, errors.New("hoarse"))
	}
	g := toolsetOf([]toolset.Tool{tool("look", true, "a"), tool("read", true, "a", "b"),
		tool("edit", false, "b", "c"), tool("drop", false, "c"), shout},
		access.Rule{Tool: "look", Public: true}, access.Rule{Tool: "read", MinRole: []string{"Viewer"}},
		access.Rule{Tool: "edit", MinRole: []string{"Member"}}, access.Rule{Tool: "drop",
			MinRole: []string{"Admin"}},
		access.Rule{Tool: "shout", MinRole: []string{"Member"}}).Generated()
	g.Prompts = []toolset.Prompt{{Name: "greet",
		Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("hello", nil)
		}}}
	g.Table.Prompts = []access.Rule{{Prompt: "greet", Authenticated: true}}
	return toolset.NewToolset(g)
}

var depotTools = []string{"drop", "edit", "look", "read", "shout"}

func TestToolsetIsNarrowedInCode(t *testing.T) {
	for name, test := range map[string]struct {
		set  toolset.Toolset
		want string
	}{
		"all":          {depot(), "drop edit look read shout"},
		"only":         {depot().Only("read", "edit", "read"), "edit read"},
		"only none":    {depot().Only(), ""},
		"without":      {depot().Without("drop", "look"), "edit read shout"},
		"without none": {depot().Without(), "drop edit look read shout"},
		"readonly":     {depot().ReadOnly(), "look read"},
		"one by one": {depot().ReadOnly().Without("look", "drop").Only("read", "edit"),
			"read"},
		"removed for good": {depot().Without("read").Only("read"), ""},
	} {
		s := newServer(t, runtime.Options{}, test.set)
		got := map[string]bool{}
		c := newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28")
		names, _ := listedIn(t, c.ask(t, "tools/list", "", nil).body)
		for _, tool := range depotTools {
			if !strings.Contains(c.call(t, tool, "", nil).body, "unknown tool") {
				got[tool] = true
			}
		}
		if strings.Join(names, " ") != test.want || len(got) != len(names) {
			t.Errorf("%s: %v are listed, %v can be called, want %s", name, names, got, test.want)
		}
	}
	narrow := newServer(t, runtime.Options{ReadOnly: true}, depot())
	if names := narrow.Table().Tools(); !slices.Equal(names, []string{"look", "read"}) {
		t.Errorf("the server has %v", names)
	}
	_, err := runtime.New(runtime.Options{Logger: quiet()},
		depot().Without("rad").Only("look", "nonsense"))
	const of = "mcp server: package example.com/odd: Only or Without of its Toolset has "
	want := of + `"rad", which is not one of its tools; did you mean read?` + "\n" +
		of + `"nonsense", which is not one of its tools`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if whole := depot(); whole.Only("look").Generated().Tools == nil ||
		len(whole.Generated().Tools) != 5 || len(whole.Generated().Table.Rules) != 5 {
		t.Error("narrowing has changed its receiver")
	}
}

func TestProgramSelectsCatalogsOnStdio(t *testing.T) {
	s := newServer(t, runtime.Options{}, depot())
	for _, test := range []struct {
		options []runtime.StreamOption
		params  string
		want    []string
		note    string
	}{
		{nil, "", depotTools, ""},
		{[]runtime.StreamOption{runtime.WithCatalogs("a")}, "", []string{"look", "read"}, ""},
		{[]runtime.StreamOption{runtime.WithCatalogs("a", "c")}, "",
			[]string{"drop", "edit", "look", "read"}, ""},
		{[]runtime.StreamOption{runtime.WithCatalogs("a"), runtime.WithCatalogs("x")}, "",
			[]string{"look", "read"}, "the catalog does not exist: x"},
		{[]runtime.StreamOption{runtime.WithCatalogs("x")}, "", depotTools,
			"the catalog does not exist: this list is not filtered"},
		// The client of the message counts.
		{[]runtime.StreamOption{runtime.WithCatalogs("a")}, `"catalog":"c"`,
			[]string{"drop", "edit"}, ""},
		{[]runtime.StreamOption{runtime.WithCatalogs("a")}, `"catalog":""`, depotTools, ""},
	} {
		talk := stdioTalk(t, s, principalOf("Admin"), test.options...)
		names, note := listedIn(t, talk(
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`+test.params+`}}`))
		if !slices.Equal(names, test.want) || note != test.note {
			t.Errorf("%+v, %s: %v, note %q", test.options, test.params, names, note)
		}
		const call = `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"edit"}}`
		if got := talk(call); !strings.Contains(got, `"content"`) {
			t.Errorf("a tool outside of the catalogs: %s", got)
		}
	}
}

// surface is what a caller is listed and may call, by a request without a network.
func surface(rt *rapid.T, h http.Handler, query, user string) (listed, callable []string) {
	ask := func(method, name, params string) string {
		body := (&raw{era: "2026-07-28"}).request(method, params)
		r := httptest.NewRequest(http.MethodPost, "/mcp"+query, bytes.NewBufferString(body))
		for key, value := range map[string]string{"Content-Type": "application/json",
			"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
			"Mcp-Method": method, "Mcp-Name": name} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		if user != "" {
			r.Header.Set("Authorization", "Bearer "+tokens[user])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	list := ask("tools/list", "", "")
	if !strings.Contains(list, `"tools":[`) {
		rt.Fatalf("no list: %s", list)
	}
	for _, tool := range depotTools {
		if strings.Contains(list, `"name":"`+tool+`"`) {
			listed = append(listed, tool)
		}
		got := ask("tools/call", tool, `"name":"`+tool+`"`)
		if !strings.Contains(got, "unknown tool") && !strings.Contains(got, "403 Forbidden") {
			callable = append(callable, tool)
		}
	}
	return listed, callable
}

// TestNothingThatNarrowsWidens adds restrictions one by one in a random order: a lower role,
// catalogs, the wish for readonly tools, the option, and narrowing in code.
func TestNothingThatNarrowsWidens(t *testing.T) {
	subset := func(part, whole []string) bool {
		return !slices.ContainsFunc(part, func(name string) bool {
			return !slices.Contains(whole, name)
		})
	}
	denials := []access.Denial{access.Conceal, access.Forbid}
	rapid.Check(t, func(rt *rapid.T) {
		options := runtime.Options{Anonymous: true, Logger: quiet(), Identity: users(),
			Lists:  runtime.ListOptions{ListAll: rapid.Bool().Draw(rt, "all")},
			Access: runtime.AccessOptions{Denial: rapid.SampledFrom(denials).Draw(rt, "denial")}}
		some := rapid.SliceOf(rapid.SampledFrom(depotTools))
		set, column, query := depot(), len(callers)-1, "?"
		measure := func() (listed, callable []string) {
			s, err := runtime.New(options, set)
			if err != nil {
				rt.Fatal(err)
			}
			defer func() { _ = s.Shutdown(context.Background()) }()
			return surface(rt, s.Handler(), query, callers[column])
		}
		listed, callable := measure()
		restrictions := rapid.Permutation([]string{"role", "catalogs", "wish", "option", "only",
			"without", "readonly"}).Draw(rt, "order")
		for _, r := range restrictions[:rapid.IntRange(1, 4).Draw(rt, "restrictions")] {
			switch r {
			case "role":
				column = rapid.IntRange(0, column).Draw(rt, "caller")
			case "catalogs":
				names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "x"}), 1, 3)
				query += "&catalog=" + strings.Join(names.Draw(rt, "catalogs"), ",")
			case "wish":
				query += "&readonly=true"
			case "option":
				options.ReadOnly = true
			case "only":
				set = set.Only(some.Draw(rt, "only")...)
			case "without":
				set = set.Without(some.Draw(rt, "without")...)
			case "readonly":
				set = set.ReadOnly()
			}
			nowListed, nowCallable := measure()
			if !subset(nowListed, listed) || !subset(nowCallable, callable) {
				rt.Fatalf("%s widens: %v are listed of %v, %v can be called of %v", r,
					nowListed, listed, nowCallable, callable)
			}
			listed, callable = nowListed, nowCallable
		}
	})
}

package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// renamed serves a public tool, a tool for managers and one in go-sdk's shape for managers, each
// with an alias.
func renamed() toolset.Toolset {
	answer := func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]json.RawMessage{"got": call.Arguments}, nil)
	}
	native := func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		name := toolset.Request[mcp.CallToolRequest](call).Params.Name
		return toolset.Native(&mcp.CallToolResult{}, map[string]string{"name": name}, nil)
	}
	g := toolset.Generated{Package: "example.com/renamed",
		Server: toolset.ServerInfo{Name: "renamed", Version: "1",
			WebsiteURL: "https://renamed.example",
			Icons:      []toolset.Icon{{Source: "https://renamed.example/icon.png"}}},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
			{Tool: "list_parts", Public: true}, {Tool: "order", MinRole: []string{"Manager"}},
			{Tool: "drop_part", MinRole: []string{"Manager"}}}},
		Tools: []toolset.Tool{
			{Name: "drop_part", Input: anyInput, SDK: true, Call: native,
				Aliases: []string{"remove"}},
			{Name: "list_parts", Title: "All parts", Description: "Lists.", Input: anyInput, Call: answer,
				Aliases: []string{"parts"}, Meta: `{"example.com/n":12345678901234567890}`,
				Icons: []toolset.Icon{{Source: "https://renamed.example/l.svg", Theme: "dark",
					MIMEType: "image/svg+xml", Sizes: []string{"any"}}},
				Annotations: toolset.Annotations{ReadOnlyHint: true}},
			{Name: "order", Input: anyInput, Call: answer, Aliases: []string{"buy", "get_part"}},
		}}
	return toolset.NewToolset(g)
}

func TestVersionIsThatOfTheBuild(t *testing.T) {
	t.Parallel()
	const pseudo = "v0.0.0-20261128202537-deef305c16e7+dirty" // of a checkout
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", pseudo: pseudo,
		"(devel)": "(devel)", "": "(devel)"} {
		build := &debug.BuildInfo{Main: debug.Module{Version: version}}
		if got := runtime.VersionOf(build, true); got != want {
			t.Errorf("%q: %q", version, got)
		}
	}
	if got := runtime.VersionOf(nil, false); got != "(devel)" {
		t.Errorf("without a record of the build: %q", got)
	}
	build, ok := debug.ReadBuildInfo()
	want := runtime.VersionOf(build, ok)
	servers := map[string]*runtime.Server{
		"of a toolset": newServer(t, runtime.Options{Anonymous: true}, toolset.NewToolset(
			toolset.Generated{Server: toolset.ServerInfo{Name: "new"}, Tools: []toolset.Tool{{Name: "a",
				Input: anyInput, Call: nothing}}, Table: access.Table{Roles: access.DefaultRoles(),
				Rules: []access.Rule{{Tool: "a", Public: true}}}})),
		"adopted": adopt(t, mcp.NewServer(&mcp.Implementation{Name: "old"}, nil),
			runtime.Options{Anonymous: true}, nil),
	}
	for name, s := range servers {
		url := serve(t, s)
		for _, era := range eras {
			if got := connectHTTP(t, url, "", era).InitializeResult().ServerInfo.Version; got != want {
				t.Errorf("%s, %s: the version is %q, want %q", name, era, got, want)
			}
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		go s.RunIO(t.Context(), in, out, access.Principal{})
		session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer,
			Writer: toServer}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if got := session.InitializeResult().ServerInfo.Version; got != want {
			t.Errorf("%s, stdio: the version is %q, want %q", name, got, want)
		}
	}
}

// Handlers of toolsets and interceptors may log to clients. An adopted server declares its own.
func TestLoggingIsDeclaredWhereSomethingCanLog(t *testing.T) {
	t.Parallel()
	old := func(has *mcp.ServerCapabilities) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"},
			&mcp.ServerOptions{Capabilities: has})
		server.AddTool(&mcp.Tool{Name: "old", InputSchema: json.RawMessage(anyInput)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		return server
	}
	rules := map[string]access.Rule{"old": {MinRole: []string{"Manager"}}}
	quietly := &mcp.ServerCapabilities{}
	//lint:ignore SA1019 clients of the versions with sessions ask for log messages by it
	logging := &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}}
	passes := func(next intercept.Next) intercept.Next { return next }
	for name, test := range map[string]struct {
		want bool
		make func(runtime.Options) *runtime.Server
	}{
		"a toolset": {true, func(o runtime.Options) *runtime.Server {
			return newServer(t, o, renamed())
		}},
		"a quiet toolset": {false, func(o runtime.Options) *runtime.Server {
			quiet := renamed().Generated()
			quiet.Quiet = true
			return newServer(t, o, toolset.NewToolset(quiet))
		}},
		"an adopted server that declares it": {true, func(o runtime.Options) *runtime.Server {
			return adopt(t, old(logging), o, rules)
		}},
		"an adopted server that does not": {false, func(o runtime.Options) *runtime.Server {
			return adopt(t, old(quietly), o, rules)
		}},
		"an interceptor before it": {true, func(o runtime.Options) *runtime.Server {
			o.Interceptors = []intercept.Middleware{passes}
			return adopt(t, old(quietly), o, rules)
		}},
		"a toolset beside it": {true, func(o runtime.Options) *runtime.Server {
			return adopt(t, old(quietly), o, rules, renamed())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, test.make(runtime.Options{Anonymous: true}))
			for _, era := range eras {
				for _, user := range callers {
					session := connectHTTP(t, url, tokens[user], era)
					//lint:ignore SA1019 as above
					if got := session.InitializeResult().Capabilities.Logging != nil; got != test.want {
						t.Errorf("%s, %q: declared: %t", era, user, got)
					}
					if era == "2026-07-28" {
						continue
					}
					//lint:ignore SA1019 the versions with sessions have the method
					err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"})
					var rpc *jsonrpc.Error
					if test.want != (err == nil) || !test.want &&
						(!errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeMethodNotFound) {
						t.Errorf("%s, %q: logging/setLevel: %v", era, user, err)
					}
				}
			}
		})
	}
}

func TestInstructionsNameNothingHidden(t *testing.T) {
	t.Parallel()
	var log journal
	var seen []string
	text := "Call `list_parts` first."
	source := &shelf{}
	s := newServer(t, runtime.Options{Anonymous: true, Logger: log.logger(),
		Catalogs: runtime.CatalogOptions{Source: source},
		Texts: runtime.TextOptions{
			InstructionsFor: func(p access.Principal, tools []string) string {
				if slices.Contains(p.Roles, "Admin") {
					panic("hunter2")
				}
				seen = tools
				return text
			}}}, renamed(), library())
	instructions := func(user, era string) string {
		return connectIO(t, s, principalOf(user), era).InitializeResult().Instructions
	}
	for _, era := range eras {
		for _, test := range []struct {
			text            string
			viewer, manager bool
		}{
			{"Call `list_parts` first.", true, true},
			{"Use drop_part with care.", false, true},
			{"Use (drop_part).", false, true},
			{"Use drop_parts.", true, true},
			{"In order to see parts", true, true},
			{"Then call `order`.", false, true},
			{"Then call ```\norder {}\n```.", false, true},
			{"Then `buy` it.", false, true},
			{"Then get_part.", false, true},
			{"The prompt `rule`, by lib://safe.", false, false},
			{"Look at lib://hall.", true, true},
			{"Look at lib://safe.", false, false},
		} {
			text = test.text
			for user, want := range map[string]bool{
				"Viewer": test.viewer, "Manager": test.manager} {
				if got := instructions(user, era); (got != "") != want || want && got != text {
					t.Errorf("%s, %s: %q of %q", era, user, got, text)
				}
			}
		}
		if got := instructions("Admin", era); got != "" {
			t.Errorf("%s: %q of a func that panicked", era, got)
		}
	}
	if fmt.Sprint(seen) != "[list_parts]" && fmt.Sprint(seen) != "[drop_part list_parts order]" {
		t.Errorf("%q", seen)
	}
	if n := strings.Count(log.String(), "tool=drop_part"); n != 1 {
		t.Errorf("%d lines name the tool:\n%s", n, log.String())
	}
	text = "Use drop_part."
	source.turnOff("drop_part")
	if err := s.ReloadSwitches(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := instructions("Manager", eras[0]); got != "" {
		t.Errorf("with a tool that is off: %q", got)
	}
}

func TestConstantInstructionsNameWhatEverybodySees(t *testing.T) {
	t.Parallel()
	const named = `Options.Texts.Instructions contains the tool "drop_part", which is hidden from ` +
		`some callers`
	for _, test := range []struct {
		options runtime.Options
		err     string
	}{
		{runtime.Options{Texts: runtime.TextOptions{Instructions: "Call list_parts."}}, ""},
		{runtime.Options{Texts: runtime.TextOptions{Instructions: "Call drop_part."}}, named},
		{runtime.Options{Texts: runtime.TextOptions{Instructions: "Call drop_part."},
			Lists: runtime.ListOptions{ListAll: true}}, ""},
	} {
		test.options.Logger = quiet()
		_, err := runtime.New(test.options, renamed())
		if test.err == "" && err != nil || test.err != "" &&
			(err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: %v", test.options.Texts.Instructions, err)
		}
	}
	s := newServer(t, runtime.Options{
		Texts: runtime.TextOptions{Instructions: "Call list_parts."}}, renamed())
	got := connectIO(t, s, principalOf("Viewer"), eras[2]).InitializeResult().Instructions
	if got != "Call list_parts." {
		t.Errorf("%q", got)
	}
}

// The instructions of an adopted server are checked as those of Options are.
func TestAdoptedInstructionsNameNothingHidden(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"},
		&mcp.ServerOptions{Instructions: "Call ruled_tool."})
	addTool(server, "ruled_tool", "x")
	addTool(server, "bare_tool", "x")
	s := adopt(t, server, runtime.Options{},
		map[string]access.Rule{"ruled_tool": {MinRole: []string{"Manager"}}})
	for user, want := range map[string]string{"Viewer": "", "Manager": "Call ruled_tool."} {
		got := connectIO(t, s, principalOf(user), eras[1]).InitializeResult().Instructions
		if got != want {
			t.Errorf("%s: %q", user, got)
		}
	}
}

type order struct {
	Amount int    `json:"amount" jsonschema:"How many"`
	Note   string `json:"note,omitempty"`
}

// An interceptor may change the list of one caller. No other caller gets the change.
func TestMetadataThatMiddlewareChangesIsItsCallersOwn(t *testing.T) {
	change := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			res, err := next(ctx, m)
			if list, ok := res.(*mcp.ListToolsResult); ok && list != nil {
				caller, _ := runtime.Caller(ctx)
				for _, tool := range list.Tools {
					tool.Meta["example.org/for"].(map[string]any)[caller.Subject] = true
					tool.Icons[0].Source += "/" + caller.Subject
					tool.Icons[0].Sizes[0] = caller.Subject
					*tool.Annotations.DestructiveHint = slices.Contains(caller.Roles, "Admin")
				}
			}
			return res, err
		}
	}
	set := toolsetOf([]toolset.Tool{{Name: "look", Input: anyInput, Call: nothing,
		Annotations: toolset.Annotations{DestructiveHint: new(false)},
		Meta:        `{"example.org/for":{}}`,
		Icons: []toolset.Icon{{Source: "https://example.org/i",
			Sizes: []string{"48x48"}}}}}, access.Rule{Tool: "look", Authenticated: true})
	url := serve(t, newServer(t, runtime.Options{Interceptors: []intercept.Middleware{change}}, set))
	for _, user := range []string{"Admin", "Viewer"} {
		got := newRaw(t, url, tokens[user], eras[0]).ask(t, "tools/list", "", nil).body
		if own := strings.Count(got, "user-"+user); own != 3 || strings.Count(got, "user-") != own {
			t.Errorf("%s is listed %s", user, got)
		}
		if strings.Contains(got, `"destructiveHint":true`) != (user == "Admin") {
			t.Errorf("%s is listed %s", user, got)
		}
	}
}

// Instructions name no tool that narrowing has removed.
func TestInstructionsNameNoRemovedTool(t *testing.T) {
	set := toolsetOf([]toolset.Tool{{Name: "peek", Input: anyInput, Call: nothing,
		Annotations: toolset.Annotations{ReadOnlyHint: true}},
		{Name: "delete_user", Input: anyInput, Call: nothing, Aliases: []string{"rm_user"}}},
		access.Rule{Tool: "peek", Authenticated: true},
		access.Rule{Tool: "delete_user", MinRole: []string{"Admin"}})
	for _, text := range []string{"Use delete_user.", "Use `rm_user`."} {
		for name, o := range map[string]runtime.Options{"all": {}, "ReadOnly": {ReadOnly: true},
			"Without": {}} {
			o.Logger, o.Texts.Instructions = quiet(), text
			served := set
			if name == "Without" {
				served = set.Without("delete_user")
			}
			if _, err := runtime.New(o, served); err == nil ||
				!strings.Contains(err.Error(), "which is hidden from some callers: remove the name, "+
					"or write the text in Options.Texts.InstructionsFor") {
				t.Errorf("%s, %s: %v", name, text, err)
			}
		}
	}
	own := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"},
		&mcp.ServerOptions{Instructions: "Use `delete_user`."})
	mcp.AddTool(own, &mcp.Tool{Name: "delete_user"}, func(context.Context, *mcp.CallToolRequest,
		struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	url := serve(t, adopt(t, own, runtime.Options{ReadOnly: true},
		map[string]access.Rule{"delete_user": {MinRole: []string{"Admin"}}}))
	for _, user := range []string{"Viewer", "Admin"} {
		got := connectHTTP(t, url, tokens[user], eras[0]).InitializeResult().Instructions
		if got != "" {
			t.Errorf("%s gets %q", user, got)
		}
	}
}

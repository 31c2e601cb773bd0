package runtime_test

//lint:file-ignore SA1019 sampling, roots and log messages are deprecated, and still served

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// doorWorld is a configuration of both servers.
type doorWorld struct {
	name                 string
	callers              map[string]access.Principal // by token
	tools, prompts, uris []string
	resources            []string // URIs and URI templates, for completions
	build                func(*door) (runtime.Options, []toolset.Toolset)
}

func doorWorlds(t testing.TB) []doorWorld {
	folder := roots(t, map[string]string{"a": "A"})
	callers := map[string]access.Principal{
		"": {},
		"few": {Issuer: "test", Subject: "few", Role: "Member", Scopes: []string{"stock:read",
			`qu"ote`}},
		"full": {Issuer: "test", Subject: "full", Client: "cli", Role: "Admin",
			Scopes: []string{"stock:read", "stock:write"}},
	}
	for _, user := range []string{"Viewer", "Member", "Manager", "Admin"} {
		callers[user] = principalOf(user)
	}
	plain := func(name string, options runtime.Options) doorWorld {
		return doorWorld{
			name: name, callers: callers,
			build: func(d *door) (runtime.Options, []toolset.Toolset) {
				o := options
				o.Identity, o.Roots, o.Sandbox = doorIdentity(callers), folder, &doorSandbox{}
				o.GrantDefaults = []grant.Permission{{Type: grant.FileRead, Resource: "docs/**",
					Unrestricted: true}}
				return o, []toolset.Toolset{directory(&desk{}), library(), headerTool(),
					permitting(reading, readAll), doorTools(d, false)}
			},
		}
	}
	hosted := map[string]access.Principal{
		"": {}, "mara": {Issuer: "test", Subject: "sub-mara", User: "mara", Role: "Manager"},
		"vic": {Issuer: "test", Subject: "sub-vic", User: "vic", Role: "Viewer",
			Scopes: []string{"move"}},
		"nil": {Issuer: "test", Subject: "sub-nil", User: "nil", Role: "Admin"},
	}
	aware := doorWorld{
		name: "permission-aware", callers: hosted,
		build: func(d *door) (runtime.Options, []toolset.Toolset) {
			host := newHost(map[string]capability.Set{
				"mara": permissionsOf("dcim.view_device", "dcim.change_device", "dcim.view_site"),
				"vic":  permissionsOf("dcim.view_device?", "dcim.view_site"),
			})
			source := identity.Bearer(doorVerifier(hosted), identity.NamesUsers())
			return runtime.Options{Anonymous: true, Identity: source, PermissionAware: true,
					Capabilities: host, Sandbox: &doorSandbox{}},
				[]toolset.Toolset{scopedStock(), doorTools(d, true)}
		},
	}
	worlds := []doorWorld{
		plain("conceal", runtime.Options{Anonymous: true}),
		plain("forbid", runtime.Options{Anonymous: true, Denial: access.Forbid, PageSize: 3,
			MaxBodyBytes: 60 << 10}),
		plain("challenge", runtime.Options{Denial: access.Challenge}),
		plain("catalogs, list all", runtime.Options{Anonymous: true, ListAll: true,
			Catalogs: kits(), PageSize: 20}),
		aware,
	}
	for i := range worlds {
		w := &worlds[i]
		_, sets := w.build(&door{})
		for _, set := range sets {
			g := set.Generated()
			for _, tool := range g.Tools {
				w.tools = append(w.tools, tool.Name)
			}
			for _, prompt := range g.Prompts {
				w.prompts = append(w.prompts, prompt.Name)
			}
			for _, resource := range g.Resources {
				w.resources = append(w.resources, resource.URI)
				w.uris = append(w.uris, strings.NewReplacer("{id}", "a%20b", "{n}", "7", "{+path}",
					"a/b", "{name}", "x").Replace(resource.URI))
			}
		}
	}
	return worlds
}

// doorIdentity verifies the callers' tokens. "expired-" before a token is one that has expired,
// "brief-" one that expires soon, and "broken" one that cannot be verified now.
func doorIdentity(callers map[string]access.Principal) identity.Source {
	return identity.Bearer(doorVerifier(callers))
}

// briefLife is long enough for a call to reach its handler, also on a busy machine.
const briefLife = 400 * time.Millisecond

func doorVerifier(callers map[string]access.Principal) identity.Verifier {
	return func(_ context.Context, token string) (identity.Identity, error) {
		id := identity.Identity{}
		if token == "broken" {
			return id, errors.New("the directory is down")
		}
		if rest, ok := strings.CutPrefix(token, "expired-"); ok {
			token, id.Expires = rest, time.Now().Add(-time.Hour)
		} else if rest, ok := strings.CutPrefix(token, "brief-"); ok {
			token, id.Expires = rest, time.Now().Add(briefLife)
		}
		var known bool
		if id.Principal, known = callers[token]; !known || token == "" {
			return id, identity.ErrInvalidToken
		}
		return id, nil
	}
}

// doorSandbox refuses the tool "limited", and runs isolated tools in this process.
type doorSandbox struct{ box }

func (b *doorSandbox) Enter(ctx context.Context, _ isolate.Client, tool string,
	_ toolset.Limits) (context.Context, func(), error) {
	if tool == "limited" {
		return nil, nil, reached("rate")
	}
	return ctx, func() {}, nil
}

func (b *doorSandbox) Isolate(_ context.Context, call isolate.Call) (json.RawMessage, error) {
	if strings.Contains(string(call.Arguments), "nobody") {
		return nil, words("no such thing")
	}
	return json.RawMessage(`{"isolated":true}`), nil
}

// doorTools is a toolset with a tool for each way in which a handler can end.
func doorTools(d *door, public bool) toolset.Toolset {
	type handler = func(context.Context, toolset.Call) (toolset.Result, error)
	handlers := map[string]handler{
		"nothing": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(nil)
		},
		"scalar": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Wrapped(1e21, nil)
		},
		"fail": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(errors.New("no luck with password=t0psecret"))
		},
		"fail_rpc": func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			var in struct{ Code int64 }
			_ = json.Unmarshal(call.Arguments, &in) // without a code, the default
			return toolset.Done(&jsonrpc.Error{Code: cmp.Or(in.Code, jsonrpc.CodeInvalidParams),
				Message: "no", Data: json.RawMessage(`{"a":1}`)})
		},
		"panics": func(context.Context, toolset.Call) (toolset.Result, error) {
			panic("hunter2")
		},
		"unencodable": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Structured(liar{}, nil)
		},
		"bad_content": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{badContent()}}, nil,
				nil)
		},
		"slow": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			<-ctx.Done()
			return toolset.Done(ctx.Err())
		},
		"stubborn": func(context.Context, toolset.Call) (toolset.Result, error) {
			<-d.ended
			return toolset.Done(nil)
		},
		"waits": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			if strings.Contains(string(call.Arguments), "wait") {
				<-ctx.Done()
			}
			return toolset.Done(ctx.Err())
		},
		"hold": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			if strings.Contains(string(call.Arguments), "hold") {
				d.entered <- struct{}{}
				select {
				case <-ctx.Done():
				case <-d.release:
				}
			}
			return toolset.Structured(map[string]any{"cancelled": ctx.Err() != nil}, nil)
		},
		"talk": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			log := runtime.Logger(ctx)
			log.Debug("looked", "arguments", len(call.Arguments))
			log.Info("found", slog.Group("in", "shelf", 7), "password", "t0psecret")
			log.Warn("old")
			if !strings.Contains(string(call.Arguments), "nobody") {
				log.Error("broken", "error", errors.New("x"))
			}
			runtime.Progress(ctx).Report(1, 2, "half")
			if strings.Contains(string(call.Arguments), "17") {
				return toolset.Done(errors.New("after messages"))
			}
			if strings.Contains(string(call.Arguments), "code") {
				return toolset.Done(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
					Message: "after messages"})
			}
			return toolset.Structured(map[string]any{"client": runtime.RequestID(ctx) != ""}, nil)
		},
		"advise": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			runtime.Advise(ctx, 0.5, "look %s", "there")
			return toolset.Structured(map[string]any{"advised": true}, nil)
		},
		"big": func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Wrapped(strings.Repeat("é<", 200+5*len(call.Arguments)), nil)
		},
		"text": func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Unstructured("a\n\u2028<&>"+string(call.Arguments), nil)
		},
		"contents": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Unstructured([]mcp.Content{&mcp.TextContent{Text: "<&>"},
				&mcp.ResourceLink{URI: "lib://hall", Name: "hall"}}, nil)
		},
		"limited": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(nil)
		},
		"isolated": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Wrapped(call.Isolated(ctx))
		},
		"native": func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{
				Meta: mcp.Meta{"example.com/a": 1},
				Content: []mcp.Content{
					&mcp.TextContent{Text: "a\u2028<&>"}, &mcp.ImageContent{Data: []byte{1, 2},
						MIMEType: "image/png"},
					&mcp.ResourceLink{URI: "lib://hall", Name: "hall"},
					&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "lib://hall",
						Text: "t"}},
				},
				IsError: strings.Contains(string(call.Arguments), "nobody"),
			}, map[string]any{"n": json.Number("1.50")}, nil)
		},
		"native_nil": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(nil, nil, nil)
		},
		"echo": func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			req := toolset.Request[mcp.CallToolRequest](call)
			seen := map[string]any{"params": req.Params, "session": req.Session != nil}
			if req.Extra != nil {
				seen["headers"] = slices.Sorted(maps.Keys(req.Extra.Header))
				seen["token"] = req.Extra.TokenInfo != nil
			}
			return toolset.Native(&mcp.CallToolResult{}, seen, nil)
		},
		"session": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			session := toolset.Request[mcp.CallToolRequest](call).Session
			err := session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "own",
				Progress: 1})
			seen := map[string]any{"notified": fmt.Sprint(err), "has id": session.ID() != ""}
			if p := session.InitializeParams(); p != nil {
				seen["version"], seen["client"] = p.ProtocolVersion, p.ClientInfo
			}
			return toolset.Native(&mcp.CallToolResult{}, seen, nil)
		},
		"elicit": func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			res, err := toolset.Request[mcp.CallToolRequest](call).Session.Elicit(ctx,
				&mcp.ElicitParams{Message: "Sure?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			return toolset.Native(&mcp.CallToolResult{}, map[string]any{"response": res,
				"error": fmt.Sprint(err)}, nil)
		},
		"question":     doorQuestion,
		"nil_question": asks(nil),
	}
	g := toolset.Generated{Package: "example.com/doors", Server: toolset.ServerInfo{Name: "doors",
		Title: "Doors", Version: "1"}}
	g.Table.Roles = access.DefaultRoles()
	rules := map[string]access.Rule{
		"native": {Authenticated: true}, "nothing": {MinRole: manager}, "echo": {MinRole: member},
		"scalar": {MinRole: member, Scopes: []string{"stock:write"}, Denial: access.Challenge},
		"advise": {MinRole: admin, Denial: access.Forbid},
	}
	for _, name := range slices.Sorted(maps.Keys(handlers)) {
		rule, ruled := rules[name]
		if rule.Tool = name; public || !ruled {
			rule = access.Rule{Tool: name, Public: true}
		}
		tool := toolset.Tool{Name: name, Title: "T", Description: name + " does it.",
			Input: `{"type":"object"}`, Call: handlers[name]}
		switch name {
		case "echo", "session", "elicit", "question", "nil_question", "native", "bad_content":
			tool.SDK = true
		}
		switch name {
		case "slow", "stubborn":
			tool.Timeout = 20 * time.Millisecond
		case "elicit", "question", "nil_question", "waits":
			tool.Timeout = 2 * time.Second
		case "big":
			tool.Limits.Output = 1024
		case "text":
			tool.Returns = toolset.Text
		case "contents":
			tool.Returns = toolset.Contents
		case "limited":
			tool.Limits.Concurrency = 1
		case "isolated":
			tool.Isolate = "example.com/doors.isolated"
		case "talk":
			tool.Annotations = toolset.Annotations{ReadOnlyHint: true}
		case "scalar":
			tool.Aliases = []string{"old_scalar"}
		case "native":
			tool.Aliases = []string{"old_native"}
		}
		g.Table.Rules, g.Tools = append(g.Table.Rules, rule), append(g.Tools, tool)
	}
	addDoorOffers(&g, public)
	return toolset.NewToolset(g)
}

// doorQuestion requests input of the kind that the arguments name, and echoes the response.
func doorQuestion(_ context.Context, call toolset.Call) (toolset.Result, error) {
	p := toolset.Request[mcp.CallToolRequest](call).Params
	if p.InputResponses != nil {
		return toolset.Native(&mcp.CallToolResult{}, map[string]any{"responses": p.InputResponses,
			"state": p.RequestState}, nil)
	}
	kinds := map[string]mcp.InputRequest{
		"elicitation": &mcp.ElicitParams{Message: "Sure?",
			RequestedSchema: json.RawMessage(
				`{"type":"object","properties":{"reason":{"type":"string"}}}`)},
		"sampling": &mcp.CreateMessageParams{MaxTokens: 5,
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "x"}}}},
		"roots": &mcp.ListRootsParams{},
	}
	questions := mcp.InputRequestMap{}
	for kind, q := range kinds {
		if strings.Contains(string(call.Arguments), kind) {
			questions[kind] = q
		}
	}
	if len(questions) == 0 {
		questions["elicitation"] = kinds["elicitation"]
	}
	return toolset.Native(&mcp.CallToolResult{InputRequests: questions, RequestState: "own state"},
		nil, nil)
}

// doorVisit asks twice.
func doorVisit(ctx context.Context) (string, error) {
	form, err := runtime.ElicitForm[map[string]any](ctx, "form", "Sure?",
		json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"}}}`))
	if err != nil {
		return "", err
	}
	roots, err := runtime.Roots(ctx)
	return fmt.Sprint(form["reason"], len(roots)), err
}

// addDoorOffers adds prompts and resources.
func addDoorOffers(g *toolset.Generated, public bool) {
	question := mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "Sure?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	prompts := map[string]func(context.Context, toolset.Call) (toolset.PromptResult, error){
		"p_fail": func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("", errors.New("no prompt"))
		},
		"p_native": func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
			runtime.Logger(ctx).Info("prompting")
			return toolset.PromptNative(&mcp.GetPromptResult{Description: "d",
				Messages: []*mcp.PromptMessage{{Role: "user",
					Content: &mcp.TextContent{Text: "x"}}}}, nil)
		},
		"p_question": func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptNative(&mcp.GetPromptResult{InputRequests: question,
				RequestState: "s"}, nil)
		},
		"p_asks": func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText(doorVisit(ctx))
		},
		"p_scoped": func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("x", nil)
		},
		"p_panics": func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			panic("hunter2")
		},
	}
	for _, name := range slices.Sorted(maps.Keys(prompts)) {
		rule := access.Rule{Prompt: name, Public: true}
		if name == "p_scoped" && !public {
			rule = access.Rule{Prompt: name, MinRole: viewer, Scopes: []string{"stock:write"},
				Denial: access.Challenge}
		}
		g.Table.Prompts = append(g.Table.Prompts, rule)
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: name, Get: prompts[name],
			Elicits: name == "p_asks",
			Arguments: []toolset.Argument{{Name: "a", Required: true, Values: []string{"one", "two",
				"three"}}}})
	}
	resources := map[string]func(context.Context, toolset.Call) (toolset.ResourceResult, error){
		"odd://blob/{name}": func(_ context.Context, call toolset.Call) (toolset.ResourceResult,
			error) {
			return toolset.ResourceBytes(call.Arguments, nil)
		},
		"odd://fail": func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText("", errors.New("no resource"))
		},
		"odd://native": func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
			runtime.Logger(ctx).Warn("reading")
			return toolset.ResourceNative(&mcp.ReadResourceResult{
				Contents: []*mcp.ResourceContents{
					{Text: "x"}, {URI: "odd://other", MIMEType: "a/b", Blob: []byte{1}}}}, nil)
		},
		"odd://none": func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceNative(nil, nil)
		},
		"odd://question": func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceNative(&mcp.ReadResourceResult{InputRequests: question,
				RequestState: "s"}, nil)
		},
		"odd://asks": func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText(doorVisit(ctx))
		},
		"odd://scoped": func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText("x", nil)
		},
	}
	for _, uri := range slices.Sorted(maps.Keys(resources)) {
		rule := access.Rule{Resource: uri, Public: true}
		if uri == "odd://scoped" && !public {
			rule = access.Rule{Resource: uri, MinRole: viewer, Scopes: []string{"stock:write"},
				Denial: access.Challenge}
		}
		resource := toolset.Resource{URI: uri, Name: "odd", Read: resources[uri],
			Elicits: uri == "odd://asks"}
		if strings.Contains(uri, "{name}") {
			resource.MIMEType, resource.Variables = "image/png",
				[]toolset.Variable{{Name: "name", Values: []string{"x", "xy"}}}
		}
		g.Table.Resources, g.Resources = append(g.Table.Resources, rule),
			append(g.Resources, resource)
	}
}

// message is one message of a client, with placeholders for values of the connection.
type message struct {
	kind      string
	altered   []string // the alterations of a regular message
	verb      string
	query     string
	header    http.Header
	body      string
	opens     bool // a session
	firstOnly bool // the client reads one event and leaves
}

// property is one member of a JSON object.
type property struct{ name, value string }

// draft is a message before it is written.
type draft struct {
	message
	method, name, id string // name for Mcp-Name; id as JSON
	version          string // the member jsonrpc, as JSON
	params, meta     []property
	paramsText       string // in place of params, as JSON; "-" for none
	metaText         string // in place of meta, as JSON; "-" for none
	last             []func(body string) string
}

func object(members []property) string {
	var b strings.Builder
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", m.name, m.value)
	}
	return "{" + b.String() + "}"
}

func setMember(members []property, name, value string) []property {
	members = slices.DeleteFunc(slices.Clone(members), func(m property) bool {
		return m.name == name
	})
	if value == "" {
		return members
	}
	return append(members, property{name, value})
}

// write makes the message.
func (d *draft) write() message {
	params := slices.Clone(d.params)
	switch {
	case d.metaText == "" && len(d.meta) > 0:
		params = append([]property{{"_meta", object(d.meta)}}, params...)
	case d.metaText != "" && d.metaText != "-":
		params = append([]property{{"_meta", d.metaText}}, params...)
	}
	var members []property
	add := func(name, value string) {
		if value != "" && value != "-" {
			members = append(members, property{name, value})
		}
	}
	add("jsonrpc", d.version)
	add("id", d.id)
	if d.method != "" {
		add("method", quote(d.method))
	}
	add("params", cmp.Or(d.paramsText, object(params)))
	d.body = object(members)
	for _, alter := range d.last {
		d.body = alter(d.body)
	}
	return d.message
}

func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return string(out)
}

// episode is one client at both doors.
type episode struct {
	*doorRun
	*rand.Rand
	number  int
	pair    doorPair
	era     string
	stdio   bool
	caller  string
	links   [2]*link
	count   int
	pending *draft // the last call that requested input
	listed  string // the last list with a next page
	over    bool
}

func pick[T any](e *episode, choices ...T) T { return choices[e.IntN(len(choices))] }

// chance reports true in a number of percent.
func (e *episode) chance(percent float64) bool { return e.Float64()*100 < percent }

const modern = "2026-07-28"

// play opens the connections, sends some messages, and closes them.
func (e *episode) play() {
	e.era = pick(e, "2025-03-26", "2025-06-18", "2025-11-25", modern, modern)
	e.stdio = e.chance(30)
	e.caller = pick(e, slices.Sorted(maps.Keys(e.pair.callers))...)
	if e.pair.name == "challenge" && e.caller == "" && (e.stdio || e.chance(80)) {
		e.caller = "few" // the server admits no anonymous callers
	}
	if e.stdio && e.caller == "nil" {
		e.caller = "mara" // the host has no user "nil", and refuses to serve it
	}
	inputResponse := pick(e, "", "", `"result":{"action":"decline"}`,
		`"error":{"code":-1,"message":"no"}`, `"result":7`)
	for i, d := range e.pair.doors {
		e.links[i] = &link{door: d, inputResponse: inputResponse}
		if e.stdio {
			e.links[i].dial(e.pair.callers[e.caller])
		}
	}
	if e.era != modern {
		for e.chance(20) {
			e.send(e.next().write())
		}
		e.handshake()
	}
	for range 4 + e.IntN(16) {
		if e.over {
			break
		}
		e.count++
		switch {
		case e.chance(2):
			e.held()
		default:
			d := e.next()
			e.alter(d)
			e.send(d.write())
			e.learn(d)
		}
	}
	e.end()
}

// learn keeps what the next messages can refer to.
func (e *episode) learn(d *draft) {
	if len(d.altered) > 0 {
		return
	}
	if e.links[0].state != "" && e.links[1].state != "" && d.name != "" {
		if e.pending == nil {
			e.pending = d
		}
	}
	if e.links[0].cursor != "" && strings.HasSuffix(d.method, "/list") {
		e.listed = d.method
	}
}

// handshake opens a session.
func (e *episode) handshake() {
	d := e.draft("initialize", "")
	d.kind, d.opens = "initialize", true
	abilities := pick(e, `{}`, `{"elicitation":{}}`,
		`{"elicitation":{"form":{}},"sampling":{},"roots":{"listChanged":true}}`)
	d.params = []property{{"protocolVersion", quote(e.era)}, {"capabilities", abilities},
		{"clientInfo", `{"name":"doors","version":"1"}`}}
	d.header.Del("Mcp-Session-Id")
	e.send(d.write())
	if e.chance(85) {
		d := e.draft("notifications/initialized", "")
		d.id = ""
		e.send(d.write())
	}
}

// end closes the connections.
func (e *episode) end() {
	switch {
	case e.stdio:
		e.compare(message{kind: "end of input"}, e.both((*link).hangUp))
	case e.era != modern:
		e.over = false
		e.send(e.deletion())
	}
}

func (e *episode) deletion() message {
	d := e.draft("", "")
	d.kind, d.verb = "DELETE", "DELETE"
	m := d.write()
	m.body = ""
	return m
}

// draft begins a message with the headers and the _meta of the era.
func (e *episode) draft(method, name string) *draft {
	d := &draft{method: method, name: name, id: fmt.Sprint(e.count + 100*e.IntN(9)),
		version: `"2.0"`}
	d.kind, d.verb = method, "POST"
	d.header = http.Header{"Content-Type": {"application/json"},
		"Accept": {pick(e, "application/json, text/event-stream",
			"text/event-stream, application/json")}}
	// Each message has its own address, so that failed authentications do not add up.
	d.header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", e.number>>8&255, e.number&255,
		e.count&255))
	if e.caller != "" {
		d.header.Set("Authorization", "Bearer "+e.caller)
	}
	if e.era == modern {
		d.modern(e)
		return d
	}
	if !e.stdio && e.links[0].session != "" {
		d.header.Set("Mcp-Session-Id", "@session@")
		if e.era != "2025-03-26" {
			d.header.Set("Mcp-Protocol-Version", e.era)
		}
	}
	return d
}

const metaPrefix = "io.modelcontextprotocol/"

// modern gives a message the headers and the _meta of 2026-07-28.
func (d *draft) modern(e *episode) {
	d.header.Set("Mcp-Protocol-Version", modern)
	d.header.Set("Mcp-Method", d.method)
	if d.name != "" {
		d.header.Set("Mcp-Name", d.name)
	}
	d.meta = []property{{metaPrefix + "protocolVersion", quote(modern)},
		{metaPrefix + "clientCapabilities", pick(e, `{}`, `{}`, `{"elicitation":{}}`,
			`{"elicitation":{"form":{}},"sampling":{},"roots":{}}`)}}
	if e.chance(30) {
		d.meta = append(d.meta, property{metaPrefix + "clientInfo",
			`{"name":"doors","version":"1"}`})
	}
	if e.chance(30) {
		d.meta = append(d.meta, property{metaPrefix + "logLevel", pick(e, `"debug"`, `"info"`,
			`"warning"`, `"error"`, `"emergency"`)})
	}
}

// next makes a regular message.
func (e *episode) next() (d *draft) {
	defer func() {
		if d.id != "" && e.chance(20) {
			d.meta = setMember(d.meta, "progressToken", pick(e, `"t"`, `7`, `0`, `""`))
		}
	}()
	if e.pending != nil && e.chance(60) {
		return e.withResponses()
	}
	list := pick(e, "tools/list", "prompts/list", "resources/list", "resources/templates/list")
	switch n := e.IntN(100); {
	case n < 42:
		return e.toolCall()
	case n < 54:
		if e.listed != "" && e.chance(60) {
			d = e.draft(e.listed, "")
			d.params = append(d.params, property{"cursor", `"@cursor@"`})
			return d
		}
		d = e.draft(list, "")
		if e.chance(20) {
			d.params = append(d.params, pick(e, property{"cursor", `"x"`}, property{"cursor", `""`},
				property{"catalog", `"reading"`},
				property{"catalog_id", `2`}, property{"catalog", `"none"`},
				property{"cursor", `null`}))
		}
		return d
	case n < 63:
		name := pick(e, append(e.pair.prompts, "unknown", "hir_")...)
		d = e.draft("prompts/get", name)
		d.params = append(d.params, property{"name", quote(name)},
			property{"arguments", pick(e, `{"a":"x"}`, `{"a":"x"}`, `{}`, `{"a":"x","b":"one"}`,
				`{"a":"x","z":"y"}`, `null`)})
		return d
	case n < 72:
		uri := pick(e, append(e.pair.uris, "lib://unknown", "lib://pages/x", "odd://blob/",
			"lib://books/", "x", "odd://blob/%zz")...)
		d = e.draft("resources/read", uri)
		d.params = append(d.params, property{"uri", quote(uri)})
		return d
	case n < 81:
		return e.completion()
	default:
		return e.other()
	}
}

// withResponses repeats the last call that requested input, with responses.
func (e *episode) withResponses() *draft {
	d := e.draft(e.pending.method, e.pending.name)
	d.kind = e.pending.method + " with inputResponses"
	d.params = slices.Clone(e.pending.params)
	const accept = `{"action":"accept","content":{"reason":"x"}}`
	d.params = setMember(d.params, "inputResponses", pick(e,
		`{"elicitation":`+accept+
			`,"sampling":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}},"roots":{"roots":[]}}`,
		`{"elicitation":`+accept+`}`, `{"elicitation":`+accept+`}`, `{"sure":`+accept+`}`,
		`{"form":`+accept+`}`, `{"form":`+accept+`}`, `{"mcpgen.roots":{"roots":[]}}`,
		`{"elicitation":{"action":"decline"}}`,
		`{}`, `null`, `{"roots":{"roots":[{"uri":"file:///a"}]}}`, `{"elicitation":7}`))
	d.params = setMember(d.params, "requestState", pick(e, `"@state@"`, `"@state@"`, `"@state@"`,
		`"@state@"`, `"@state@"`, `"x@state@"`, `""`, `7`, ``))
	if e.chance(10) {
		d.params = setMember(d.params, "arguments", `{"other":1}`)
	}
	if e.chance(30) { // each door opens what the other has sealed
		e.links[0].state, e.links[1].state = e.links[1].state, e.links[0].state
	}
	if e.chance(40) {
		e.pending = nil
		for _, l := range e.links {
			l.state = ""
		}
	}
	return d
}

// argumentsOf are the arguments that matter to some tools.
var argumentsOf = map[string][]string{
	"fail_rpc": {`{"code":-32601}`, `{"code":-32603}`, `{"code":-32022}`, `{"code":-32021}`,
		`{"code":5}`, `{"code":-32002}`, `{"code":-32042}`},
	"talk": {`{"code":1}`, `{"id":"nobody"}`, `{"id":17}`},
	"question": {`{"kind":"elicitation"}`, `{"kind":"sampling"}`, `{"kind":"roots"}`,
		`{"kinds":["sampling","elicitation"]}`},
	"read": {`{"path":"docs/a"}`, `{"path":"docs/none"}`, `{"path":"else/a"}`,
		`{"path":"../a"}`, `{}`},
	"route": {`{"region":"eu"}`, `{"region":"eu","n":5}`, `{"region":"é"}`, `{"region":null}`,
		`{"deep":{"on":true}}`},
	"big": {`{"id":"` + strings.Repeat("x", 100) + `"}`, `{"id":"` + strings.Repeat("x",
		5000) + `"}`},
}

func (e *episode) toolCall() *draft {
	name := pick(e, e.pair.tools...)
	switch {
	case e.chance(10):
		name = pick(e, "unknown", "promote_to_managex", "Update", "", "é",
			strings.Repeat("long", 60))
	case e.chance(15):
		name = pick(e, "question", "talk", "echo", "session", "elicit", "old_scalar",
			"old_native")
	case e.chance(8) && len(e.pair.tools) > 0 && slices.Contains(e.pair.tools, "route"):
		name = pick(e, "route", "read")
	}
	return e.callOf(name)
}

func (e *episode) callOf(name string) *draft {
	d := e.draft("tools/call", name)
	choices := []string{`{"id":"ada"}`, `{"id":"ada"}`, `{}`, `{"id":"nobody"}`, `{"id":17}`,
		`{"id":null}`, ``, `null`, `[1]`, `"x"`,
		`{"id":"ada","secret_field":1}`, `{ "id" : "\u0061\ud83d\ude00" }`, `{"id":1e400}`,
		`{"a":[{"b":[1,2,{"c":null}]}]}`, `{"unrecorded":1}`}
	if own := argumentsOf[name]; own != nil && e.chance(80) {
		choices = own
	}
	d.params = []property{{"name", quote(name)}}
	d.params = setMember(d.params, "arguments", pick(e, choices...))
	if e.chance(4) {
		d.params = append(d.params, pick(e, property{"task", `{}`}, property{"requestState", `"x"`},
			property{"inputResponses", `{"a":{"action":"accept"}}`}, property{"extra", `[1]`}))
	}
	if name == "route" {
		if e.chance(80) {
			d.header.Set("Mcp-Param-Region", pick(e, "eu", "eu", "eu", "us", "=?base64?w6k=?=", ""))
		}
		if e.chance(30) {
			d.header.Set("Mcp-Param-N", pick(e, "5", "6", "x"))
		}
	}
	return d
}

func (e *episode) completion() *draft {
	d := e.draft("completion/complete", "")
	ref := `{"type":"ref/prompt","name":` + quote(pick(e, append(e.pair.prompts, "unknown")...)) +
		`}`
	if e.chance(50) {
		ref = `{"type":"ref/resource","uri":` +
			quote(pick(e, append(e.pair.resources, "lib://unknown", "lib://books/7")...)) + `}`
	}
	if e.chance(8) {
		ref = pick(e, `{}`, `null`, `{"type":"ref/else"}`, `{"type":"ref/prompt"}`,
			`{"type":"ref/prompt","uri":"x"}`, `7`)
	}
	d.params = []property{{"ref", ref}, {"argument", pick(e, `{"name":"a","value":"t"}`,
		`{"name":"id","value":"x"}`, `{"name":"name","value":"x"}`,
		`{"name":"b","value":""}`, `{"name":"none","value":"x"}`, `{}`, `null`)}}
	if e.chance(15) {
		d.params = append(d.params, property{"context", pick(e, `{"arguments":{"a":"one"}}`, `{}`,
			`null`, `{"arguments":{"a":7}}`)})
	}
	return d
}

// other makes a message that only go-sdk answers.
func (e *episode) other() *draft {
	method := pick(e, "ping", "ping", "server/discover", "logging/setLevel", "logging/setLevel",
		"initialize", "resources/subscribe",
		"resources/unsubscribe", "tasks/list", "tasks/get", "tools/other",
		"notifications/initialized", "notifications/cancelled",
		"notifications/progress", "notifications/roots/list_changed", "notifications/unknown",
		"a response", "an error", "GET",
		"subscriptions/listen")
	d := e.draft(method, "")
	switch method {
	case "logging/setLevel":
		d.params = []property{{"level", pick(e, `"debug"`, `"info"`, `"error"`, `"none"`, `7`)}}
	case "initialize":
		d.params = []property{{"protocolVersion", quote(pick(e, "2025-06-18", "2025-11-25", modern,
			"x"))}, {"capabilities", `{}`},
			{"clientInfo", `{"name":"again","version":"1"}`}}
	case "resources/subscribe", "resources/unsubscribe":
		d.params = []property{{"uri", pick(e, `"lib://hall"`, `"lib://safe"`, `"x"`, `7`)}}
	case "notifications/cancelled":
		d.params = []property{{"requestId", pick(e, `7`, `"x"`, `null`, `1.5`)},
			{"reason", `"because"`}}
	case "notifications/progress":
		d.params = []property{{"progressToken", `1`}, {"progress", pick(e, `1`, `"x"`)}}
	case "a response", "an error":
		d.kind, d.method = method, ""
		d.last = append(d.last, func(body string) string {
			end := map[string]string{"a response": `,"result":{}}`,
				"an error": `,"error":{"code":1,"message":"x"}}`}[method]
			return strings.TrimSuffix(body, "}") + end
		})
	case "GET":
		d.method, d.verb = "", "GET"
		d.header.Set("Accept", pick(e, "text/event-stream", "application/json"))
		if d.header.Get("Accept") == "text/event-stream" {
			d.header.Set("Mcp-Session-Id", "unknown") // the stream of a session has no end
		}
		d.last = append(d.last, func(string) string { return "" })
		if e.stdio {
			return e.draft("ping", "")
		}
	case "subscriptions/listen":
		if e.stdio {
			return e.draft("ping", "") // it would have no response
		}
		d.params = []property{{"notifications", pick(e, `{}`, `{"toolsListChanged":true}`, `7`,
			`{"resourceSubscriptions":["lib://hall"]}`)}}
		d.firstOnly = true
	}
	if strings.HasPrefix(method, "notifications/") && !e.chance(10) {
		d.id = ""
	}
	return d
}

// held makes a call that waits, does something meanwhile, and lets the call end.
func (e *episode) held() {
	d := e.callOf("hold")
	d.params = setMember(d.params, "arguments", `{"hold":1}`)
	d.params = setMember(d.params, "inputResponses", "")
	d.params = setMember(d.params, "requestState", "")
	how := pick(e, "cancelled", "cancelled", "released", "same id", "another call", "dropped",
		"deleted")
	if e.stdio && how == "dropped" || (e.stdio || e.era == modern) && how == "deleted" {
		how = "released"
	}
	d.kind = "tools/call, " + how
	m := d.write()
	second := e.callOf("get_all")
	if second.id = `"second"`; how == "same id" {
		second.id = d.id
	}
	if how == "cancelled" {
		second = e.draft("notifications/cancelled", "")
		second.id, second.params = "", []property{{"requestId", d.id}, {"reason", `"because"`}}
	}
	meanwhile := second.write()
	if how == "deleted" {
		meanwhile = e.deletion()
	}
	responses := e.both(func(l *link) (a doorResponse) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		first := make(chan doorResponse, 1)
		if e.stdio {
			l.writeLine(m.body)
		} else {
			go func() { first <- l.post(ctx, m) }()
		}
		select {
		case <-l.entered:
		case a = <-first: // it was refused
			return a
		case line := <-l.lines: // as above, on stdio
			l.take(&a, line, nil)
			return a
		}
		var during doorResponse
		ended := how == "cancelled" && (e.stdio || e.era != modern) || how == "dropped" &&
			e.era == modern
		switch {
		case how == "dropped":
			cancel()
			a = <-first
		case how == "released":
		case how == "deleted":
			// DELETE waits for the call.
			time.AfterFunc(50*time.Millisecond, func() { l.release <- struct{}{} })
			ended, during = true, l.post(context.Background(), meanwhile)
		case !e.stdio:
			during = l.post(context.Background(), meanwhile)
		default:
			l.writeLine(meanwhile.body)
			if how == "another call" {
				l.collect(&during, 1)
			} else if how == "same id" { // go-sdk does not respond
				l.writeLine(syncPing)
				l.collect(&during, -1)
			}
		}
		if !ended {
			l.release <- struct{}{}
		}
		switch {
		case e.stdio:
			l.collect(&a, 1)
		case how != "dropped":
			a = <-first
		}
		a.Messages = append(a.Messages, "meanwhile", during.String())
		return a
	})
	e.compare(m, responses)
}

// alteration makes a message irregular. Without a name, it does so in some cases only.
type alteration struct {
	name  string
	apply func(*episode, *draft)
}

// alter applies an alteration to some messages, and two to a few.
func (e *episode) alter(d *draft) {
	if d.verb == "GET" {
		return // the stream of a session has no end
	}
	for chance := 45.0; e.chance(chance); chance = 15 {
		choices := alterations
		if !e.stdio && e.chance(60) {
			choices = headerAlterations
		}
		a := pick(e, choices...)
		a.apply(e, d)
		if a.name != "" {
			d.altered = append(d.altered, a.name)
		}
	}
}

// withHeader sets a header to one of some values, each a list separated by "|". An empty list
// removes the header.
func withHeader(name string, values ...string) func(*episode, *draft) {
	return func(e *episode, d *draft) {
		if value := pick(e, values...); value != "" {
			d.header[name] = strings.Split(value, "|")
		} else {
			d.header.Del(name)
		}
	}
}

var headerAlterations = []alteration{
	{"Accept", withHeader("Accept", "", "application/json", "text/event-stream", "*/*",
		"application/*, text/*;q=0.5",
		"application/json|text/event-stream", "TEXT/event-stream,application/JSON", "text/html",
		"application/json;charset=utf-8, text/event-stream")},
	{"Content-Type", withHeader("Content-Type", "", "text/plain", "application/json; charset=utf-8",
		"APPLICATION/JSON", "application/json|text/plain", "x")},
	{"Last-Event-ID", withHeader("Last-Event-Id", "1", "x_0", "x|y")},
	{"version header", withHeader("Mcp-Protocol-Version", "", "", "2025-03-26", "2025-06-18",
		"2025-11-25", modern, modern, "2024-11-05", "2030-01-01", "1", "x",
		modern+"|"+modern, modern+"|2025-11-25", "2025-11-25|"+modern, " "+modern)},
	{"Mcp-Method", withHeader("Mcp-Method", "", "tools/list", "tools/call", "TOOLS/CALL", "x",
		"tools/call|tools/call", "tools/list|tools/call", "password=t0psecret")},
	{"Mcp-Name", withHeader("Mcp-Name", "", "x", "get_all", "promote_to_manager", "get_all|get_all",
		"get_all|x", "=?base64?Z2V0X2FsbA==?=", "=?base64?!?=", "Get_all")},
	{"Mcp-Name in base64", func(_ *episode, d *draft) {
		d.header.Set("Mcp-Name", "=?base64?"+base64.StdEncoding.EncodeToString([]byte(d.name))+"?=")
	}},
	{"Mcp-Name twice", func(_ *episode, d *draft) {
		d.header["Mcp-Name"] = []string{d.name, d.name}
	}},
	{"session header", withHeader("Mcp-Session-Id", "", "", "unknown", "@session@|@session@",
		"@session@|x", "@session@ ", "@session@", "password=t0psecret")},
	{"session of another user", func(e *episode, d *draft) {
		e.openForeign()
		d.header.Set("Mcp-Session-Id", "@foreign@")
	}},
	{"", func(e *episode, d *draft) {
		if e.era != modern {
			e.send(e.deletion())
			d.altered = append(d.altered, "deleted session")
		}
	}},
	{"credential", func(e *episode, d *draft) {
		withHeader("Authorization", "", "Basic x", "Bearer", "Bearer unknown", "Bearer broken",
			"Bearer expired-"+e.caller, "Bearer x|Bearer x")(e, d)
	}},
	{"credential of another user", func(e *episode, d *draft) {
		withHeader("Authorization", "Bearer "+
			pick(e, slices.Sorted(maps.Keys(e.pair.callers))[1:]...))(e, d)
	}},
	{"", func(e *episode, d *draft) {
		if e.caller != "" && e.chance(15) {
			*d = *e.callOf("waits")
			d.kind, d.params = "tools/call, credential expires", setMember(d.params, "arguments",
				`{"wait":1}`)
			d.header.Set("Authorization", "Bearer brief-"+e.caller)
		}
	}},
	{"Origin", withHeader("Origin", "https://evil.example", "null", "http://127.0.0.1", "")},
	{"traceparent", withHeader("Traceparent",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "x",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01|x")},
	{"catalog header", withHeader("Mcpgen-Catalog", "reading", "none", "", "100%",
		"reading|writing")},
	{"catalog query", func(e *episode, d *draft) {
		d.query = pick(e, "?catalog=reading", "?catalog_id=2", "?catalog=", "?catalog=%zz",
			"?x=1;y=2")
	}},
	{"Mcp-Param", withHeader("Mcp-Param-Region", "eu", "us", "eu|us", "=?base64?!?=")},
	{"verb", func(e *episode, d *draft) { d.verb = pick(e, "PUT", "OPTIONS", "HEAD", "PATCH") }},
}

// withBody changes the text of a message.
func withBody(changes ...func(string) string) func(*episode, *draft) {
	return func(e *episode, d *draft) { d.last = append(d.last, pick(e, changes...)) }
}

func replacing(old, new string) func(string) string {
	return func(body string) string { return strings.Replace(body, old, new, 1) }
}

func around(before, after string) func(string) string {
	return func(body string) string { return before + body + after }
}

// withMeta sets a member of _meta to one of some values. An empty value removes it.
func withMeta(name string, values ...string) func(*episode, *draft) {
	return func(e *episode, d *draft) { d.meta = setMember(d.meta, name, pick(e, values...)) }
}

const traceMeta = `"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"`

var alterations = []alteration{
	{"id", func(e *episode, d *draft) {
		d.id = pick(e, "", "null", `"text"`, `""`, `"1"`, "0", "-1", "9007199254740991",
			"-9007199254740991", "9007199254740992", "1e400",
			"1.5", "1e2", "1.0", "[1]", "{}", "true", `"\u0061<&"`, `"é"`,
			`"`+strings.Repeat("x", 300)+`"`, "-0", "99999999999999999999")
	}},
	{"jsonrpc", func(e *episode, d *draft) {
		d.version = pick(e, "", `"1.0"`, `2.0`, `null`, `"2.0 "`, `"\u0032.0"`)
	}},
	{"method", func(e *episode, d *draft) {
		d.method = pick(e, "", "Tools/call", "tools/call ", "tools", "rpc.discover",
			"notifications/"+d.method, "password=t0psecret")
	}},
	{"method that is no text", withBody(replacing(`"method":"`, `"method":7,"was":"`),
		replacing(`"method":"`, `"method":null,"was":"`))},
	{"escaped method", withBody(replacing(`"method":"t`, `"method":"\u0074`),
		replacing(`tools/`, `tools\/`))},
	{"params", func(e *episode, d *draft) {
		d.paramsText = pick(e, "-", "-", "null", "[]", "[1]", "{}", "7", `"x"`, "true",
			`{"_meta":null}`)
	}},
	{"repeated member", withBody(replacing(`{"jsonrpc":"2.0"`, `{"jsonrpc":"2.0","jsonrpc":"2.0"`),
		replacing(`"method":`, `"m\u0065thod":"ping","method":`),
		replacing(`"name":`, `"name":"get_all","name":`), replacing(`"arguments":{`,
			`"arguments":{"id":"b","id":"c",`),
		replacing(`"_meta":{`, `"_meta":{"progressToken":1,"progressToken":2,`))},
	{"unknown member", withBody(replacing(`{"jsonrpc"`, `{"extra":{"a":[1]},"jsonrpc"`),
		replacing(`"params":{`, `"params":{"extra":1e3,`), replacing(`"params":{"`,
			`"params":{"Name":"get_all","`))},
	{"upper case", withBody(replacing(`"id"`, `"ID"`), replacing(`"method"`, `"Method"`),
		replacing(`"params"`, `"PARAMS"`), replacing(`"name"`, `"Name"`),
		replacing(`"arguments"`, `"Arguments"`), replacing(`"_meta"`, `"_Meta"`))},
	{"white space", withBody(around(" \r\n\t", " \r\n"), func(body string) string {
		return strings.ReplaceAll(body, `":`, "\" :\t ")
	})},
	{"more than a message", withBody(around("", "{}"), around("", "\x00"), around("[", "]"),
		around("\xef\xbb\xbf", ""), around("", " x"), around("/**/", ""))},
	{"less than a message", withBody(func(body string) string {
		return body[:len(body)/2]
	}, func(string) string { return "[]" }, func(string) string { return "null" },
		func(string) string { return `"x"` }, func(string) string { return "{}" })},
	{"not UTF-8", withBody(replacing(`:"`, ":\"\xff"), replacing(`:"`, `:"\ud800`))},
	{"deep", withBody(replacing(`"params":{`, `"params":{"a":`+strings.Repeat("[", 200)+
		strings.Repeat("]", 200)+`,`), replacing(`"arguments":{`, `"arguments":{"a":`+
		strings.Repeat("[", 66)+strings.Repeat("]", 66)+`,`))},
	{"long", func(e *episode, d *draft) {
		if e.chance(20) {
			withBody(replacing(`"params":{`, `"params":{"a":"`+strings.Repeat("x", 70<<10)+
				`",`))(e, d)
		}
	}},
	{"name", func(e *episode, d *draft) {
		d.params = setMember(d.params, "name", pick(e, "", "null", "7", `""`, `"\u0000"`,
			`"get_\u0061ll"`))
	}},
	{"_meta", func(e *episode, d *draft) {
		d.metaText = pick(e, "-", "null", "[]", "{}", "7", `{"a":1}`)
	}},
	{"_meta protocolVersion", withMeta(metaPrefix+"protocolVersion", "", quote(modern),
		quote(modern), `"2025-11-25"`, `"2030-01-01"`, `"x"`, `7`, `null`, `""`)},
	{"_meta clientCapabilities", withMeta(metaPrefix+"clientCapabilities", "", `null`, `[]`, `"x"`,
		`7`, `{"elicitation":7}`, `{"elicitation":null}`, `{"x":{}}`, `{"sampling":{"tools":{}}}`)},
	{"_meta clientInfo", withMeta(metaPrefix+"clientInfo", `null`, `[]`, `"x"`, `{}`, `{"name":7}`,
		`{"name":"a"}`, `{"name":"a","version":"1","title":"t","x":1}`)},
	{"_meta logLevel", withMeta(metaPrefix+"logLevel", `null`, `"none"`, `7`, `""`, `"debug"`,
		`"INFO"`)},
	{"_meta progressToken", withMeta("progressToken", `null`, `1.5`, `[]`, `{}`, `true`,
		`9007199254740993`, `1e2`, `"é"`)},
	{"_meta traceparent", withMeta("traceparent", traceMeta, `7`, `"x"`)},
	{"_meta catalog", withMeta(runtime.MetaCatalog, `"reading"`, `7`, `""`)},
	{"message of 2026-07-28", func(e *episode, d *draft) { d.modern(e) }},
	{"message without a version", func(_ *episode, d *draft) {
		d.meta = nil
		d.header.Del("Mcp-Protocol-Version")
	}},
}

// openForeign opens a session of another user.
func (e *episode) openForeign() {
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(e.pair.callers)), func(token string) bool {
		return token == "" || token == e.caller
	})
	d := &draft{method: "initialize", id: "0", version: `"2.0"`}
	d.verb, d.opens = "POST", true
	d.header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"},
		"Authorization": {"Bearer " + pick(e, others...)}}
	d.params = []property{{"protocolVersion", `"2025-11-25"`}, {"capabilities", `{}`},
		{"clientInfo", `{"name":"other","version":"1"}`}}
	for _, l := range e.links {
		if own := l.session; l.foreign == "" {
			l.post(context.Background(), d.write())
			l.foreign, l.session = l.session, own
		}
	}
	e.pair.settle()
}

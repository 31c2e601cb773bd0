package debugtools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

var (
	eras = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

	debug = []string{debugtools.ToolGetHTTPHeaders, debugtools.ToolGetServerInfo, debugtools.ToolGetUserClaims, debugtools.ToolPrintEnv}
)

const (
	guest access.Role = iota + 1
	clerk
	boss
)

// callers are one of each kind, by token.
var callers = map[string]access.Principal{
	"":            {},
	"demo-nobody": {Issuer: "desk", Subject: "noel"},
	"demo-guest":  {Issuer: "desk", Subject: "gus", Role: "Guest"},
	"demo-clerk":  {Issuer: "desk", Subject: "clara", Role: "Clerk"},
	"demo-boss": {
		Issuer: "desk", Subject: "bea", Client: "cli", User: "bea7", Role: "Boss", Scopes: []string{"read", "write"}, Groups: []string{"night"},
		Orgs: []access.Membership{{Name: "acme", Standing: access.Owner}}, Teams: []access.Membership{{Name: ghp, Standing: access.Lead}},
	},
}

// desk is a service with roles of its own. Its whoami is a debug tool under another rule.
func desk(inspector *debugtools.Inspector) runtime.Toolset {
	done := func(context.Context, runtime.Call) (runtime.Result, error) { return runtime.Done(nil) }
	return runtime.NewToolset(runtime.Generated{
		Package: "example.com/desk", Server: runtime.ServerInfo{Name: "desk", Version: "1.4.0"},
		Table: access.Table{Roles: []string{"Guest", "Clerk", "Boss"}, Rules: []access.Rule{
			{Tool: "book", MinRole: clerk}, {Tool: "close", MinRole: boss}, {Tool: "look", MinRole: guest}, {Tool: "whoami", Public: true},
		}},
		Tools: []runtime.Tool{
			{Name: "book", Input: `{"type":"object"}`, Call: done}, {Name: "close", Input: `{"type":"object"}`, Call: done}, {Name: "look", Input: `{"type":"object"}`, Call: done},
			{Name: "whoami", Input: `{"type":"object"}`, Call: func(ctx context.Context, call runtime.Call) (runtime.Result, error) {
				return runtime.Native(inspector.GetUserClaims(ctx, runtime.Request(call), debugtools.Nothing{}))
			}},
		},
	})
}

// newServer serves the desk to callers and the debug tools beside it.
func newServer(t *testing.T, o runtime.Options, toolsets ...runtime.Toolset) *runtime.Server {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	if o.Identity == nil {
		byHash := map[string]access.Principal{}
		for token, caller := range callers {
			if token != "" {
				byHash[identity.HashToken(token)] = caller
			}
		}
		o.Identity = identity.Static(byHash)
	}
	s, err := runtime.New(o, toolsets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wire is a client's connection: what it sends along with each request, and all that comes back.
type wire struct {
	header http.Header
	mu     sync.Mutex
	heard  bytes.Buffer
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.header)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost { // others end when they like
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	header := res.Header.Clone()
	header.Del("Date")
	header.Del("Mcp-Session-Id")
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.heard, "%d %v\n%s\n", res.StatusCode, header, body)
	return res, nil
}

// Write implements io.Writer, for what comes over pipes.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard.Write(p)
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard.String()
}

// dial opens a session over HTTP.
func (w *wire) dial(t *testing.T, url, token, era string) *mcp.ClientSession {
	t.Helper()
	if w.header == nil {
		w.header = http.Header{}
	}
	if token != "" {
		w.header.Set("Authorization", "Bearer "+token)
	}
	return w.connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: w}, MaxRetries: -1, DisableStandaloneSSE: true}, era)
}

// pipe opens a session as stdio does.
func (w *wire) pipe(t *testing.T, s *runtime.Server, caller access.Principal, era string) *mcp.ClientSession {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, caller) }()
	t.Cleanup(func() {
		_ = toServer.Close()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	})
	return w.connect(t, &mcp.IOTransport{Reader: io.NopCloser(io.TeeReader(fromServer, w)), Writer: toServer}, era)
}

func (w *wire) connect(t *testing.T, transport mcp.Transport, era string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "wire", Version: "1"}, nil).
		Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may have closed it
	return session
}

// call fills out with what a tool answers, and holds its text against it.
func call(t *testing.T, session *mcp.ClientSession, tool string, out any) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
	if err != nil || res.IsError {
		t.Fatalf("%s: %v %s", tool, err, mcptest.Text(res))
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(structured))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		t.Errorf("%s: %s: %v", tool, structured, err)
	}
	checkText(t, res, res.StructuredContent)
}

func TestDebugToolsOverHTTPInEveryEra(t *testing.T) {
	environment(t, map[string]string{"MYSQL_PWD": "hunter2", "HOME": "/srv"})
	inspector := debugtools.New(debugtools.Options{})
	url := mcptest.Serve(t, newServer(t, runtime.Options{}, desk(inspector), debugtools.Toolset(inspector)))
	for _, era := range eras {
		w := wire{header: http.Header{"X-Api-Key": {"hunter2"}, "Cookie": {"a=b"}, "X-Trace": {"one", "two"}}}
		session := w.dial(t, url+"?page=2&access_token=hunter2", "demo-boss", era)
		if got := mcptest.Tools(t, session); !slices.Equal(got, slices.Sorted(slices.Values(append([]string{"book", "close", "look", "whoami"}, debug...)))) {
			t.Errorf("%s: %v", era, got)
		}
		var env debugtools.Environment
		call(t, session, debugtools.ToolPrintEnv, &env)
		if !reflect.DeepEqual(env, debugtools.Environment{Variables: map[string]string{"MYSQL_PWD": mask, "HOME": "/srv"}, TotalCount: 2, MaskedCount: 1}) {
			t.Errorf("%s: %+v", era, env)
		}
		var info debugtools.ServerInfo
		call(t, session, debugtools.ToolGetServerInfo, &info)
		if info.ServerName != "desk" || info.Version != "1.4.0" || info.Transport != "http" || info.ProcessorCount < 1 {
			t.Errorf("%s: %+v", era, info)
		}
		var headers debugtools.HTTPHeaders
		call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
		if !headers.Available || headers.Message != "" || headers.Method != "POST" || headers.Path != "/mcp" || headers.QueryString != "page=2&access_token="+mask {
			t.Errorf("%s: %+v", era, headers)
		}
		for name, want := range map[string]string{
			"Authorization": mask, "Cookie": mask, "X-Api-Key": mask, "X-Trace": "one, two", "Content-Type": "application/json", "Mcp-Protocol-Version": era,
		} {
			if got := headers.Headers[name]; got != want {
				t.Errorf("%s: %s: %s", era, name, got)
			}
		}
		// Whoever has a session's id may end it.
		if got, sent := headers.Headers["Mcp-Session-Id"]; sent != (era != "2026-07-28") || sent && got != mask {
			t.Errorf("%s: a session %q", era, got)
		}
		var claims debugtools.UserClaims
		call(t, session, debugtools.ToolGetUserClaims, &claims)
		if !claims.Available || !claims.IsAuthenticated || claims.AuthenticationType != "Bearer" || claims.Claims["sub"] != "bea" {
			t.Errorf("%s: %+v", era, claims)
		}
		if heard := w.String(); strings.Contains(heard, "hunter2") || strings.Contains(heard, "demo-boss") || strings.Contains(heard, ghp) {
			t.Errorf("%s: a secret in\n%s", era, heard)
		}
	}
}

func TestDebugToolsSayOnStdioThatThereIsNoHTTP(t *testing.T) {
	environment(t, map[string]string{"MYSQL_PWD": "hunter2"})
	inspector := debugtools.New(debugtools.Options{})
	s := newServer(t, runtime.Options{}, desk(inspector), debugtools.Toolset(inspector))
	for _, era := range eras {
		session := new(wire).pipe(t, s, callers["demo-boss"], era)
		var env debugtools.Environment
		call(t, session, debugtools.ToolPrintEnv, &env)
		if !reflect.DeepEqual(env, debugtools.Environment{Variables: map[string]string{"MYSQL_PWD": mask}, TotalCount: 1, MaskedCount: 1}) {
			t.Errorf("%s: %+v", era, env)
		}
		var info debugtools.ServerInfo
		call(t, session, debugtools.ToolGetServerInfo, &info)
		if info.ServerName != "desk" || info.Version != "1.4.0" || info.Transport != "stdio" {
			t.Errorf("%s: %+v", era, info)
		}
		var headers debugtools.HTTPHeaders
		call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
		if !reflect.DeepEqual(headers, debugtools.HTTPHeaders{Message: "No HTTP context available", Headers: map[string]string{}}) {
			t.Errorf("%s: %+v", era, headers)
		}
		var claims debugtools.UserClaims
		call(t, session, debugtools.ToolGetUserClaims, &claims)
		if !reflect.DeepEqual(claims, debugtools.UserClaims{Message: "No HTTP context available", Claims: map[string]any{}}) {
			t.Errorf("%s: %+v", era, claims)
		}
	}
}

func TestDebugToolsAreReadOnlyAndTakeNoArguments(t *testing.T) {
	session := new(wire).pipe(t, newServer(t, runtime.Options{Identity: passing(nil)}, debugtools.Toolset(debugtools.New(debugtools.Options{}))), access.Principal{Subject: "ada", Role: "Admin"}, "")
	var listed []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.OutputSchema == nil || tool.Title == "" {
			t.Errorf("%+v", tool)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{"filter": "x"}})
		if err != nil || !res.IsError || !strings.Contains(mcptest.Text(res), "/filter") {
			t.Errorf("%s: %v %s", tool.Name, err, mcptest.Text(res))
		}
	}
	if !slices.Equal(listed, debug) {
		t.Errorf("%v", listed)
	}
}

// passing is a source whose credentials claim so much.
func passing(claims map[string]any) identity.Source {
	return identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: callers["demo-boss"], Scheme: "JWT", Claims: claims}, nil
	})
}

// TestHeadersQueriesAndClaimsAreMaskedAsVariablesAre: one rule for all.
func TestHeadersQueriesAndClaimsAreMaskedAsVariablesAre(t *testing.T) {
	header, query, claims := http.Header{}, url.Values{}, map[string]any{}
	for _, s := range shown {
		if !strings.Contains(s.value, "\n") { // which headers cannot hold
			header.Set("X-"+s.name, s.value)
		}
		query.Set(s.name, s.value)
		claims[s.name] = s.value
	}
	nested := map[string]any{"api_key": "hunter2", "count": 3.0, "plain": []any{"a", jwt, true, nil}}
	claims["deep"] = nested
	inspector := debugtools.New(debugtools.Options{})
	endpoint := mcptest.Serve(t, newServer(t, runtime.Options{Identity: passing(claims)}, desk(inspector), debugtools.Toolset(inspector)))
	session := (&wire{header: header}).dial(t, endpoint+"?"+query.Encode(), "demo-boss", "2026-07-28")
	var headers debugtools.HTTPHeaders
	call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
	asked, err := url.ParseQuery(headers.QueryString)
	if err != nil {
		t.Fatal(err)
	}
	var user debugtools.UserClaims
	call(t, session, debugtools.ToolGetUserClaims, &user)
	if user.AuthenticationType != "JWT" || user.Message != "" || len(user.Claims) != len(claims) {
		t.Errorf("%+v", user)
	}
	for _, s := range shown {
		if name := http.CanonicalHeaderKey("X-" + s.name); !strings.Contains(s.value, "\n") && s.name != "PWD" && headers.Headers[name] != s.want {
			t.Errorf("header %s: %q is shown as %q, want %q", name, s.value, headers.Headers[name], s.want)
		}
		if got := asked.Get(s.name); got != s.want {
			t.Errorf("parameter %s: %q is shown as %q, want %q", s.name, s.value, got, s.want)
		}
		if got := user.Claims[s.name]; got != s.want {
			t.Errorf("claim %s: %q is shown as %q, want %q", s.name, s.value, got, s.want)
		}
	}
	if !reflect.DeepEqual(user.Claims["deep"], map[string]any{"api_key": mask, "count": 3.0, "plain": []any{"a", mask, true, nil}}) {
		t.Errorf("%v", user.Claims["deep"])
	}
	// They are the source's, and shared.
	if nested["api_key"] != "hunter2" || claims["KEY"] != "hunter2" {
		t.Errorf("claims were changed: %v", claims)
	}
}

func TestSecretsOfTheServerAndOfTheInspectorAreBothKnown(t *testing.T) {
	environment(t, map[string]string{"PIN": "1234", "IBAN": "DE00", "OTHER": "x"})
	inspector := debugtools.New(debugtools.Options{Masker: redact.Masker{Names: []string{"iban"}}})
	s := newServer(t, runtime.Options{Masker: redact.Masker{Names: []string{"pin"}}, Identity: passing(map[string]any{"pin": "1234", "iban": "DE00", "other": "x"})},
		desk(inspector), debugtools.Toolset(inspector))
	session := (&wire{header: http.Header{"X-Pin": {"1234"}, "X-Iban": {"DE00"}, "X-Other": {"x"}}}).dial(t, mcptest.Serve(t, s)+"?pin=1234&iban=DE00&other=x", "demo-boss", "")
	var env debugtools.Environment
	call(t, session, debugtools.ToolPrintEnv, &env)
	if !maps.Equal(env.Variables, map[string]string{"PIN": mask, "IBAN": mask, "OTHER": "x"}) || env.MaskedCount != 2 {
		t.Errorf("%+v", env)
	}
	var headers debugtools.HTTPHeaders
	call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
	if h := headers.Headers; h["X-Pin"] != mask || h["X-Iban"] != mask || h["X-Other"] != "x" || headers.QueryString != "pin="+mask+"&iban="+mask+"&other=x" {
		t.Errorf("%+v", headers)
	}
	var user debugtools.UserClaims
	call(t, session, debugtools.ToolGetUserClaims, &user)
	if !maps.Equal(user.Claims, map[string]any{"pin": mask, "iban": mask, "other": "x"}) {
		t.Errorf("%+v", user)
	}
}

func TestClaimsAreThePrincipalsWhereTheSourcePassesNoneOn(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	expires := time.Now().Add(time.Hour)
	source := identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		if token == "bare" {
			return identity.Identity{Principal: access.Principal{Subject: "bare", Role: "Boss"}}, nil
		}
		return identity.Identity{Principal: callers["demo-boss"], Expires: expires}, nil
	})
	endpoint := mcptest.Serve(t, newServer(t, runtime.Options{Identity: source}, desk(inspector), debugtools.Toolset(inspector)))
	for token, want := range map[string]map[string]any{
		"full": {
			"iss": "desk", "sub": "bea", "client_id": "cli", "username": "bea7", "role": "Boss", "scope": "read write", "groups": []any{"night"},
			"orgs": []any{map[string]any{"name": "acme", "standing": "owner"}}, "teams": []any{map[string]any{"name": mask, "standing": "lead"}},
			"exp": float64(expires.Unix()),
		},
		"bare": {"sub": "bare", "role": "Boss"},
	} {
		var user debugtools.UserClaims
		call(t, new(wire).dial(t, endpoint, token, ""), debugtools.ToolGetUserClaims, &user)
		if !reflect.DeepEqual(user.Claims, want) || !user.IsAuthenticated || user.AuthenticationType != "Bearer" || !strings.Contains(user.Message, "passes no claims on") {
			t.Errorf("%s: %+v", token, user)
		}
	}
}

func TestHandlerUnderAnotherRuleTellsAnonymousCallersThatTheyAre(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, desk(debugtools.New(debugtools.Options{})))
	var user debugtools.UserClaims
	call(t, new(wire).dial(t, mcptest.Serve(t, s), "", ""), "whoami", &user)
	if user.IsAuthenticated || !user.Available || user.AuthenticationType != "" || !strings.Contains(user.Message, "anonymous") || len(user.Claims) != 0 {
		t.Errorf("%+v", user)
	}
}

// visit does what anybody could do to find the debug tools.
func visit(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	ctx := t.Context()
	if got := mcptest.Tools(t, session); slices.ContainsFunc(got, func(name string) bool { return strings.HasPrefix(name, "debug_") }) {
		t.Errorf("listed: %v", got)
	}
	for _, tool := range debug {
		for _, arguments := range []map[string]any{nil, {"filter": "x"}} {
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown tool %q", tool)) {
				t.Errorf("%s: %v", tool, err)
			}
		}
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: tool}, {Type: "ref/resource", URI: "debug://" + tool}} {
			if _, err := session.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "d"}}); err == nil {
				t.Errorf("completion of %s", tool)
			}
		}
		if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: tool}); err == nil {
			t.Errorf("prompt %s", tool)
		}
	}
	// A page and a call beside: neither a cursor nor a count differs.
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "debug_get"}); err == nil {
		t.Error("debug_get")
	}
}

// TestDebugToolsAreUnknownBelowTheHighestRole: all that such a caller gets from a server that has them is, byte for byte, what it gets
// from one that has not.
func TestDebugToolsAreUnknownBelowTheHighestRole(t *testing.T) {
	for _, pageSize := range []int{0, 1} {
		inspector := debugtools.New(debugtools.Options{})
		o := runtime.Options{Anonymous: true, PageSize: pageSize}
		with, without := newServer(t, o, desk(inspector), debugtools.Toolset(inspector)), newServer(t, o, desk(inspector))
		here, there := mcptest.Serve(t, with), mcptest.Serve(t, without)
		for _, era := range eras {
			for token, caller := range callers {
				if caller.Role == "Boss" {
					continue
				}
				var has, lacks wire
				visit(t, has.dial(t, here, token, era))
				visit(t, lacks.dial(t, there, token, era))
				if has.String() != lacks.String() || !strings.Contains(has.String(), "unknown tool") {
					t.Errorf("%s, %q over HTTP:\n%s\nwithout debug tools:\n%s", era, caller.Subject, &has, &lacks)
				}
				var pipe, other wire
				visit(t, pipe.pipe(t, with, caller, era))
				visit(t, other.pipe(t, without, caller, era))
				if pipe.String() != other.String() || !strings.Contains(pipe.String(), "unknown tool") {
					t.Errorf("%s, %q over stdio:\n%s\nwithout debug tools:\n%s", era, caller.Subject, &pipe, &other)
				}
			}
		}
	}
}

func TestDebugToolsFitAnyHierarchy(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	for name, test := range map[string]struct {
		toolsets []runtime.Toolset
		highest  string
		server   string
	}{
		"alone":                     {[]runtime.Toolset{debugtools.Toolset(inspector)}, "Admin", "debug"},
		"behind a service":          {[]runtime.Toolset{desk(inspector), debugtools.Toolset(inspector)}, "Boss", "desk"},
		"in front, naming a server": {[]runtime.Toolset{debugtools.Toolset(inspector), desk(inspector)}, "Boss", "debug"},
	} {
		s := newServer(t, runtime.Options{Identity: passing(nil)}, test.toolsets...)
		var info debugtools.ServerInfo
		call(t, new(wire).pipe(t, s, access.Principal{Subject: "top", Role: test.highest}, ""), debugtools.ToolGetServerInfo, &info)
		if info.ServerName != test.server {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

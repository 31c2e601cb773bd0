package debugtools_test

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
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

func TestDebugToolsOverHTTPInEveryEra(t *testing.T) {
	environment(t, map[string]string{"MYSQL_PWD": "hunter2", "HOME": "/srv"})
	inspector := debugtools.New(debugtools.Options{})
	url := mcptest.Serve(t, newServer(t, runtime.Options{}, desk(inspector),
		debugtools.Toolset(inspector)))
	for _, era := range eras {
		w := wire{header: http.Header{"X-Api-Key": {"hunter2"}, "Cookie": {"a=b"},
			"X-Trace": {"one", "two"}}}
		session := w.dial(t, url+"?page=2&access_token=hunter2", "demo-boss", era)
		if got := mcptest.Tools(t, session); !slices.Equal(
			got, slices.Sorted(slices.Values(
				append([]string{"book", "close", "look", "whoami"}, debug...)))) {
			t.Errorf("%s: %v", era, got)
		}
		var env debugtools.Environment
		call(t, session, debugtools.ToolPrintEnv, &env)
		if !reflect.DeepEqual(env, debugtools.Environment{
			Variables:      map[string]string{"MYSQL_PWD": mask, "HOME": "/srv"},
			EmptyVariables: []string{}, TotalCount: 2, MaskedCount: 1}) {
			t.Errorf("%s: %+v", era, env)
		}
		var info debugtools.ServerInfo
		call(t, session, debugtools.ToolGetServerInfo, &info)
		if info.ServerName != "desk" || info.Version != "1.4.0" || info.Transport != "http" ||
			info.ProcessorCount < 1 {
			t.Errorf("%s: %+v", era, info)
		}
		var headers debugtools.HTTPHeaders
		call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
		if !headers.Available || headers.Message != "" || headers.Method != "POST" ||
			headers.Path != "/mcp" || headers.QueryString != "page=2&access_token="+mask {
			t.Errorf("%s: %+v", era, headers)
		}
		for name, want := range map[string]string{
			"Authorization": mask, "Cookie": mask, "X-Api-Key": mask, "X-Trace": "one, two",
			"Content-Type": "application/json", "Mcp-Protocol-Version": era,
		} {
			if got := headers.Headers[name]; got != want {
				t.Errorf("%s: %s: %s", era, name, got)
			}
		}
		// A client with a session's id may end it.
		if got, sent := headers.Headers["Mcp-Session-Id"]; sent != (era != "2026-07-28") || sent &&
			got != mask {
			t.Errorf("%s: a session %q", era, got)
		}
		var claims debugtools.UserClaims
		call(t, session, debugtools.ToolGetUserClaims, &claims)
		if !claims.Available || !claims.IsAuthenticated || claims.AuthenticationType != "Bearer" ||
			claims.Claims["sub"] != "bea" {
			t.Errorf("%s: %+v", era, claims)
		}
		if heard := w.String(); strings.Contains(heard, "hunter2") ||
			strings.Contains(heard, "demo-boss") || strings.Contains(heard, ghp) {
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
		if !reflect.DeepEqual(env, debugtools.Environment{
			Variables: map[string]string{"MYSQL_PWD": mask}, EmptyVariables: []string{},
			TotalCount: 1, MaskedCount: 1}) {
			t.Errorf("%s: %+v", era, env)
		}
		var info debugtools.ServerInfo
		call(t, session, debugtools.ToolGetServerInfo, &info)
		if info.ServerName != "desk" || info.Version != "1.4.0" || info.Transport != "stdio" {
			t.Errorf("%s: %+v", era, info)
		}
		var headers debugtools.HTTPHeaders
		call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
		if !reflect.DeepEqual(headers, debugtools.HTTPHeaders{
			Message: "No HTTP context available", Headers: map[string]string{}}) {
			t.Errorf("%s: %+v", era, headers)
		}
		var claims debugtools.UserClaims
		call(t, session, debugtools.ToolGetUserClaims, &claims)
		if !reflect.DeepEqual(claims, debugtools.UserClaims{
			Message: "No HTTP context available", Claims: map[string]any{}}) {
			t.Errorf("%s: %+v", era, claims)
		}
	}
}

// The server serves what it lists: each transport and each version of the protocol.
func TestServerInfoHasTheTransportsThatThereAre(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	tools := debugtools.Toolset(inspector)
	s := newServer(t, runtime.Options{}, desk(inspector), tools)
	check := func(session *mcp.ClientSession, transport, version string, all ...string) []string {
		t.Helper()
		var info debugtools.ServerInfo
		call(t, session, debugtools.ToolGetServerInfo, &info)
		if info.Transport != transport || !slices.Equal(info.Transports, all) ||
			info.ProtocolVersion != version {
			t.Errorf("%s, %s: %+v, want %v", transport, version, info, all)
		}
		return info.ProtocolVersions
	}
	pipe := new(wire).pipe(t, s, callers["demo-boss"], "2025-11-25")
	versions := check(pipe, "stdio", "2025-11-25", "stdio")
	if !slices.Equal(versions, mcp.SupportedProtocolVersions()) {
		t.Errorf("versions: %v", versions)
	}
	url := mcptest.Serve(t, s)
	for _, version := range versions {
		check(new(wire).dial(t, url, "demo-boss", version), "http", version, "http", "stdio")
		check(new(wire).pipe(t, s, callers["demo-boss"], version), "stdio", version, "http",
			"stdio")
	}
	alone := newServer(t, runtime.Options{}, desk(inspector), tools)
	check(new(wire).dial(t, mcptest.Serve(t, alone), "demo-boss", "2026-07-28"), "http",
		"2026-07-28", "http")

	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	adopted, err := runtime.Adopt(own, runtime.Options{Logger: slog.New(slog.DiscardHandler)}, nil,
		desk(inspector), tools)
	if err != nil {
		t.Fatal(err)
	}
	got := check(new(wire).pipe(t, adopted, callers["demo-boss"], "2025-11-25"), "stdio",
		"2025-11-25", "stdio")
	if !slices.Equal(got, versions) {
		t.Errorf("versions of an adopted server: %v", got)
	}
}

func TestTransportEndsWithItsClient(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	s := newServer(t, runtime.Options{}, desk(inspector), debugtools.Toolset(inspector))
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(t.Context(), in, io.Discard, callers["demo-boss"]) }()
	_ = out.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var info debugtools.ServerInfo
	call(t, new(wire).dial(t, mcptest.Serve(t, s), "demo-boss", ""), debugtools.ToolGetServerInfo,
		&info)
	if !slices.Equal(info.Transports, []string{"http"}) {
		t.Errorf("%v", info.Transports)
	}
}

func TestEmptyCredentialHeaderIsShownAsEmpty(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	s := newServer(t, runtime.Options{}, desk(inspector), debugtools.Toolset(inspector))
	w := &wire{header: http.Header{"X-Api-Key": {""}, "Cookie": {""}, "X-Auth-Token": {"x"}}}
	var headers debugtools.HTTPHeaders
	call(t, w.dial(t, mcptest.Serve(t, s), "demo-boss", ""), debugtools.ToolGetHTTPHeaders,
		&headers)
	for name, want := range map[string]string{"X-Api-Key": "", "Cookie": "", "X-Auth-Token": mask} {
		if got, sent := headers.Headers[name]; !sent || got != want {
			t.Errorf("%s: %q, %v", name, got, sent)
		}
	}
}

func TestDebugToolsAreReadOnlyAndTakeNoArguments(t *testing.T) {
	session := new(wire).pipe(t, newServer(t, runtime.Options{Identity: passing(nil)},
		debugtools.Toolset(debugtools.New(debugtools.Options{}))),
		access.Principal{Subject: "ada", Roles: []string{"Admin"}}, "")
	var listed []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, tool.Name)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.OutputSchema == nil ||
			tool.Title == "" {
			t.Errorf("%+v", tool)
		}
		res, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{"filter": "x"}})
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
		return identity.Identity{Principal: callers["demo-boss"], Scheme: "JWT", Claims: claims},
			nil
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
	nested := map[string]any{"api_key": "hunter2", "count": 3.0,
		"plain": []any{"a", jwt, true, nil}}
	claims["deep"] = nested
	inspector := debugtools.New(debugtools.Options{})
	endpoint := mcptest.Serve(t, newServer(t, runtime.Options{Identity: passing(claims)},
		desk(inspector), debugtools.Toolset(inspector)))
	session := (&wire{header: header}).dial(t, endpoint+"?"+query.Encode(), "demo-boss",
		"2026-07-28")
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
		if name := http.CanonicalHeaderKey("X-" + s.name); !strings.Contains(s.value, "\n") &&
			s.name != "PWD" && headers.Headers[name] != s.want {
			t.Errorf("header %s: %q is shown as %q, want %q", name, s.value, headers.Headers[name],
				s.want)
		}
		if got := asked.Get(s.name); got != s.want {
			t.Errorf("parameter %s: %q is shown as %q, want %q", s.name, s.value, got, s.want)
		}
		if got := user.Claims[s.name]; got != s.want {
			t.Errorf("claim %s: %q is shown as %q, want %q", s.name, s.value, got, s.want)
		}
	}
	if !reflect.DeepEqual(user.Claims["deep"],
		map[string]any{"api_key": mask, "count": 3.0, "plain": []any{"a", mask, true, nil}}) {
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
	s := newServer(t, runtime.Options{
		Observe:  runtime.ObserveOptions{Masker: redact.Masker{Names: []string{"pin"}}},
		Identity: passing(map[string]any{"pin": "1234", "iban": "DE00", "other": "x"})},
		desk(inspector), debugtools.Toolset(inspector))
	session := (&wire{header: http.Header{"X-Pin": {"1234"}, "X-Iban": {"DE00"},
		"X-Other": {"x"}}}).dial(t, mcptest.Serve(t, s)+"?pin=1234&iban=DE00&other=x", "demo-boss",
		"")
	var env debugtools.Environment
	call(t, session, debugtools.ToolPrintEnv, &env)
	if !maps.Equal(env.Variables, map[string]string{"PIN": mask, "IBAN": mask, "OTHER": "x"}) ||
		env.MaskedCount != 2 {
		t.Errorf("%+v", env)
	}
	var headers debugtools.HTTPHeaders
	call(t, session, debugtools.ToolGetHTTPHeaders, &headers)
	if h := headers.Headers; h["X-Pin"] != mask || h["X-Iban"] != mask || h["X-Other"] != "x" ||
		headers.QueryString != "pin="+mask+"&iban="+mask+"&other=x" {
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
			return identity.Identity{Principal: access.Principal{Subject: "bare", Roles: []string{"Boss"}}},
				nil
		}
		return identity.Identity{Principal: callers["demo-boss"], Expires: expires}, nil
	})
	endpoint := mcptest.Serve(t, newServer(t, runtime.Options{Identity: source}, desk(inspector),
		debugtools.Toolset(inspector)))
	for token, want := range map[string]map[string]any{
		"full": {
			"iss": "desk", "sub": "bea", "client_id": "cli", "username": "bea7", "roles": []any{"Boss"},
			"scope": "read write", "groups": []any{"night"},
			"orgs":  []any{map[string]any{"name": "acme", "standing": "owner"}},
			"teams": []any{map[string]any{"name": mask, "standing": "lead"}},
			"exp":   float64(expires.Unix()),
		},
		"bare": {"sub": "bare", "roles": []any{"Boss"}},
	} {
		var user debugtools.UserClaims
		call(t, new(wire).dial(t, endpoint, token, ""), debugtools.ToolGetUserClaims, &user)
		if !reflect.DeepEqual(user.Claims, want) || !user.IsAuthenticated ||
			user.AuthenticationType != "Bearer" ||
			!strings.Contains(user.Message,
				"The identity source provides no claims: these are the fields of its principal") {
			t.Errorf("%s: %+v", token, user)
		}
	}
}

func TestHandlerUnderAnotherRuleIdentifiesAnonymousCallers(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, desk(debugtools.New(debugtools.Options{})))
	var user debugtools.UserClaims
	call(t, new(wire).dial(t, mcptest.Serve(t, s), "", ""), "whoami", &user)
	if user.IsAuthenticated || !user.Available || user.AuthenticationType != "" ||
		!strings.Contains(user.Message, "anonymous") || len(user.Claims) != 0 {
		t.Errorf("%+v", user)
	}
}

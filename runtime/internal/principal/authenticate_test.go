package principal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

type identityFunc func(*http.Request) (identity.Identity, error)

func (f identityFunc) Identify(r *http.Request) (identity.Identity, error) { return f(r) }

func TestRefusalsAreOfTheError(t *testing.T) {
	synctest.Test(t, testRefusals)
}

func testRefusals(t *testing.T) {
	pool := worker.NewPool()
	defer pool.Close()
	release := make(chan struct{})
	defer close(release)
	bearer := func(id identity.Identity, err error) identity.Source {
		return identity.Bearer(func(context.Context, string) (identity.Identity, error) {
			return id, err
		})
	}
	known := identity.Identity{Principal: access.Principal{Subject: "ada",
		Roles: []string{"Admin"}}}
	named := func(issuer, subject, client string) identity.Identity {
		return identity.Identity{Principal: access.Principal{
			Issuer: issuer, Subject: subject, Client: client}}
	}
	expired := known
	expired.Expires = time.Now().Add(-time.Second)
	for name, test := range map[string]struct {
		source        identity.Source
		authorization string
		status        int
		challenge     string
		logged        string
	}{
		"no credential": {bearer(known, nil), "", 401, `Bearer realm="team"`,
			"request without a credential refused"},
		"no source": {nil, "", 401, `Bearer realm="team"`, "request without a credential refused"},
		"no source, a credential": {nil, "Bearer x", 401,
			`Bearer realm="team", error="invalid_token"`,
			"no identity source can verify it"},
		"a wrong scheme": {bearer(known, nil), "Basic x", 401,
			`Bearer realm="team", error="invalid_token"`, "credential refused"},
		"expired": {bearer(expired, nil), "Bearer x", 401,
			`Bearer realm="team", error="invalid_token"`, "it has expired"},
		"a newline": {bearer(named("", "ada\nlevel=INFO", ""), nil), "Bearer x", 401,
			`Bearer realm="team", error="invalid_token"`, `Subject \"ada\\nlevel=INFO\" is not`},
		"a C1 character": {bearer(named("", "ada", "cli\u009b31m"), nil), "Bearer x", 401,
			`Bearer realm="team", error="invalid_token"`, `Client \"cli\\u009b31m\" is not`},
		"DEL": {bearer(named("https://login.example/\x7f", "ada", ""), nil), "Bearer x", 401,
			`Bearer realm="team", error="invalid_token"`,
			`Issuer \"https://login.example/\\x7f\" is not`},
		"no UTF-8": {bearer(named("", "ada\x9b", ""), nil), "Bearer x", 401,
			`Bearer realm="team", error="invalid_token"`, `Subject \"ada\\x9b\" is not`},
		"no subject": {bearer(identity.Identity{}, nil), "Bearer x", 503, "", "without a Subject"},
		"an error": {bearer(known, errors.New("down")), "Bearer x", 503, "",
			"the identity source failed"},
		"a panic": {identityFunc(func(*http.Request) (identity.Identity, error) {
			panic("boom")
		}), "Bearer x", 503, "", "it panicked: boom"},
		"Goexit": {identityFunc(func(*http.Request) (identity.Identity, error) {
			runtime.Goexit()
			return known, nil
		}), "Bearer x", 503, "", "its goroutine ended"},
		"too late": {identityFunc(func(*http.Request) (identity.Identity, error) {
			<-release
			return known, nil
		}), "Bearer x", 503, "", "no response in time (context deadline exceeded)"},
	} {
		var log bytes.Buffer
		a := NewAuthenticator(Config{
			Identity: test.source, Timeout: time.Minute, Realm: "te\"\\\nam", Pool: pool,
			Table: access.Table{Roles: access.DefaultRoles()},
			Log:   slog.New(slog.NewTextHandler(&log, nil)),
		})
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader("{}"))
		if test.authorization != "" {
			r.Header.Set("Authorization", test.authorization)
		}
		_, err := a.Authenticate(r)
		if err == nil {
			t.Errorf("%s: it passes", name)
			continue
		}
		refused := a.Refusal(r, "", err)
		if refused.Status != test.status || refused.Challenge != test.challenge ||
			refused.Reason == "" || strings.Contains(refused.Reason, "boom") {
			t.Errorf("%s: %+v", name, refused)
		}
		got := log.String()
		if !strings.Contains(got, test.logged) ||
			!strings.Contains(got, "remote=192.0.2.1") || strings.Contains(got, ":1234") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAuthenticatedCallerHasItsKnownRoles(t *testing.T) {
	synctest.Test(t, testKnownRoles)
}

func testKnownRoles(t *testing.T) {
	pool := worker.NewPool()
	defer pool.Close()
	a := NewAuthenticator(Config{
		Identity: identityFunc(func(r *http.Request) (identity.Identity, error) {
			if deadline, ok := r.Context().Deadline(); !ok || time.Until(deadline) != time.Minute {
				t.Error("no deadline of a minute")
			}
			if r.Body != http.NoBody {
				t.Error("the source can read the body")
			}
			r.Header.Del("Authorization")
			return identity.Identity{Principal: access.Principal{Subject: "ada",
				Roles: []string{"Support", "Manager", "Viewer", "Boss", "", "Manager"}}}, nil
		}),
		Timeout: time.Minute, Pool: pool, Table: access.Table{Roles: append(access.DefaultRoles(),
			[]string{"Support"})},
	})
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer x")
	id, err := a.Authenticate(r)
	if err != nil || !slices.Equal(id.Principal.Roles, []string{"Viewer", "Manager", "Support"}) ||
		r.Header.Get("Authorization") == "" {
		t.Errorf("%+v, %v", id, err)
	}
}

func TestUnknownRolesAndUnprintableNamesAreErrorsAtStart(t *testing.T) {
	table := access.Table{Roles: access.DefaultRoles()}
	static := identity.Static(map[string]access.Principal{
		identity.HashToken("t"): {Subject: "bot", Roles: []string{"Boss"}},
	})
	const hierarchy = `, which is not a role of Viewer < Member < Manager < Admin: use one of them`
	err := CheckKnown(static, table)
	if err == nil || err.Error() !=
		`Options.Identity: principal "bot": a role of the principal is "Boss"`+hierarchy {
		t.Errorf("%v", err)
	}
	hidden := identity.Static(map[string]access.Principal{
		identity.HashToken("t"): {Subject: "bot", Client: "a\r\nb"},
	})
	err = CheckKnown(hidden, table)
	if err == nil || err.Error() != `Options.Identity: principal "bot": the principal's Client `+
		`"a\r\nb" is not UTF-8 or has a control character: rename it at its source` {
		t.Errorf("%v", err)
	}
	err = CheckKnown(mapper{static}, table)
	if err == nil ||
		err.Error() != `Options.Identity: its role mapping results in "Manger"`+hierarchy {
		t.Errorf("%v", err)
	}
	if err := CheckKnown(nil, table); err != nil {
		t.Error(err)
	}
	if err := CheckRoles(table, access.Principal{}); err != nil {
		t.Error(err)
	}
}

func TestNamesHoldNoControlCharacter(t *testing.T) {
	for c := range rune(0x180) {
		name := "a" + string(c)
		want := c < ' ' || 0x7f <= c && c < 0xa0 // C0, DEL, C1
		for _, p := range []access.Principal{{Issuer: name}, {Subject: name}, {Client: name}} {
			err := CheckNames(p)
			if (err != nil) != want || err != nil &&
				!strings.Contains(err.Error(), strconv.Quote(name)) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
	if CheckNames(access.Principal{Subject: "a\xff"}) == nil {
		t.Error("text that is not UTF-8")
	}
}

type mapper struct{ identity.Source }

func (mapper) MappedRoles() []string { return []string{"Admin", "Manger"} }

type protected struct {
	identity.Source
	resource identity.Resource
}

func (p protected) Resource() identity.Resource { return p.resource }

func TestMetadataIsWhereChallengesPointTo(t *testing.T) {
	source := protected{identityFunc(nil), identity.Resource{
		URL: "https://mcp.example/a%2Fb/", AuthorizationServers: []string{"https://id.example"},
	}}
	m, err := MetadataOf(source, access.Table{})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAuthenticator(Config{Realm: "team", Metadata: m})
	const want = `Bearer realm="team", resource_metadata=` +
		`"https://mcp.example/.well-known/oauth-protected-resource/a%2Fb"`
	if got := a.challenge("", ""); got != want {
		t.Error(got)
	}
	paths := m.Paths("/mcp")
	for path, served := range map[string]bool{
		"": true, "/mcp": true, "/mcp/": true, "/a/b": true, "/a/b/": true, "/other": false, "/": false,
		"/mcp//": false,
	} {
		if slices.Contains(paths, PathResourceMetadata+path) != served {
			t.Errorf("%s: %q", path, paths)
		}
	}
	for url, ok := range map[string]bool{
		"http://localhost:80/mcp": true, "http://127.0.0.1": true, "http://mcp.example": false,
		"https://mcp.example?a": false, "mcp.example": false, "https://ada@mcp.example": false,
	} {
		source.resource.URL = url
		if _, err := MetadataOf(source, access.Table{}); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	source.resource.AuthorizationServers = nil
	source.resource.URL = "https://mcp.example"
	if _, err := MetadataOf(source, access.Table{}); err == nil {
		t.Error("no authorization server")
	}
	if m, err := MetadataOf(identityFunc(nil), access.Table{}); m != nil || err != nil {
		t.Error("metadata of a source without")
	}
	if (*Metadata)(nil).Paths("/mcp") != nil {
		t.Error("paths of no metadata")
	}
}

func TestChallengeHasTheScopesThatSuffice(t *testing.T) {
	scopes := []string{"read", "write all", "wr\"ite"}
	table := access.Table{Rules: []access.Rule{{Tool: "a", Scopes: scopes}}}
	d := table.Decide(access.Principal{Subject: "ada"}, "a")
	if !slices.Contains(d.ScopesThatWouldDo(true), "read") {
		t.Fatalf("%+v", d)
	}
	const want = `Bearer realm="team", error="insufficient_scope", scope="read"`
	a := NewAuthenticator(Config{Realm: "team"})
	if got := a.InsufficientScope(d, true, "catalog=ops"); got != want {
		t.Error(got)
	}
}

package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// journal is a log that tests can read while it is written.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// logger writes everything to the journal.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestCallerWithoutValidTokenIsChallenged(t *testing.T) {
	for _, test := range []struct {
		name          string
		anonymous     bool
		authorization string
		status        int
		challenge     string
	}{
		{"no token", false, "", 401, `Bearer realm="team"`},
		{"an unknown token", false, "Bearer nonsense", 401,
			`Bearer realm="team", error="invalid_token"`},
		{"an unknown token where anonymous callers are admitted", true, "Bearer nonsense", 401,
			`Bearer realm="team", error="invalid_token"`},
		{"another scheme where anonymous callers are admitted", true, "Basic dXNlcjpwYXNz", 401,
			`Bearer realm="team", error="invalid_token"`},
		{"an empty token where anonymous callers are admitted", true, "Bearer ", 401,
			`Bearer realm="team", error="invalid_token"`},
		{"two tokens in one header", true, "Bearer " + tokens["Admin"] + " " + tokens["Viewer"],
			401, `Bearer realm="team", error="invalid_token"`},
		{"a token of another case", false, "Bearer " + strings.ToUpper(tokens["Admin"]), 401,
			`Bearer realm="team", error="invalid_token"`},
	} {
		s := newServer(t, runtime.Options{Anonymous: test.anonymous}, directory(&desk{}))
		c := &raw{url: serve(t, s)}
		for _, method := range []string{"POST", "GET", "DELETE"} {
			for _, era := range []string{"", "2025-11-25", "2026-07-28"} {
				got := c.send(t, method, ping,
					map[string]string{"Authorization": test.authorization,
						"Mcp-Protocol-Version": era})
				if got.status != test.status ||
					got.header.Get("Www-Authenticate") != test.challenge {
					t.Errorf("%s, %s %s: %s", test.name, method, era, got)
				}
				if strings.Contains(got.String(), "nonsense") {
					t.Errorf("%s: the answer repeats the token: %s", test.name, got)
				}
			}
		}
	}
}

// A name with control characters could forge lines of logs and change what a terminal shows.
func TestNamesWithControlCharactersAreBadCredentials(t *testing.T) {
	for want, p := range map[string]access.Principal{
		`Subject "a\nlevel=ERROR"`: {Subject: "a\nlevel=ERROR"},
		`Client "a\u009b2J"`:       {Subject: "ada", Client: "a\u009b2J"},
		`Issuer "a\x7fb"`:          {Subject: "ada", Issuer: "a\x7fb"},
		"": {Issuer: "https://login.example",
			Subject: "Ada Löve\u00a0lace", Client: "日本"},
	} {
		var log journal
		verify := func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: p}, nil
		}
		s := newServer(t, runtime.Options{Anonymous: true, Logger: log.logger(),
			Identity: identity.Bearer(verify)}, directory(&desk{}))
		got := (&raw{url: serve(t, s), token: "x"}).send(t, "POST", ping, nil)
		if want == "" {
			if got.status != 200 {
				t.Errorf("%+v: %s", p, got)
			}
			continue
		}
		if got.status != 401 ||
			got.header.Get("Www-Authenticate") != `Bearer realm="team", error="invalid_token"` {
			t.Errorf("%+v: %s", p, got)
		}
		quoted := strconv.Quote(want) // the log quotes the error once more
		if got := log.String(); !strings.Contains(got, "credential refused") ||
			!strings.Contains(got, quoted[1:len(quoted)-1]) {
			t.Errorf("%+v: the log does not quote it: %s", p, got)
		}
	}
}

func TestTokensOutsideTheHeaderAreNotLookedFor(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := &raw{url: serve(t, s) + "?access_token=" + tokens["Admin"]}
	if got := c.send(t, "POST", ping, map[string]string{"Cookie": "access_token=" +
		tokens["Admin"]}); got.status != 401 {
		t.Errorf("%s", got)
	}
}

func TestIdentitySourceThatFailsDenies(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	for _, test := range []struct {
		name   string
		verify identity.Verifier
		status int
	}{
		{"an error", func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{}, errors.New("the database password is hunter2")
		}, 503},
		{"panics", func(context.Context, string) (identity.Identity, error) {
			panic("hunter2")
		}, 503},
		{"takes too long", func(context.Context, string) (identity.Identity, error) {
			<-stuck
			return identity.Identity{Principal: access.Principal{Subject: "late", Role: "Admin"}},
				nil
		}, 503},
		{"heeds its context", func(ctx context.Context, _ string) (identity.Identity, error) {
			<-ctx.Done()
			return identity.Identity{}, ctx.Err()
		}, 503},
		{"returns nobody", func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Role: "Admin"}}, nil
		}, 503},
		{"refuses", func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{}, fmt.Errorf("hunter2 is %w", identity.ErrInvalidToken)
		}, 401},
		{"returns an expired token", func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Subject: "old", Role: "Admin"},
				Expires: time.Now().Add(-time.Second)}, nil
		}, 401},
		{"returns an identity with an error",
			func(context.Context, string) (identity.Identity, error) {
				return identity.Identity{Principal: access.Principal{Subject: "both",
						Role: "Admin"}},
					errors.New("not sure")
			}, 503},
	} {
		patience := 10 * time.Second
		if test.name == "takes too long" || test.name == "heeds its context" {
			patience = 20 * time.Millisecond
		}
		for _, anonymous := range []bool{false, true} {
			s := newServer(t, runtime.Options{Identity: identity.Bearer(test.verify),
				Anonymous: anonymous, IdentityTimeout: patience}, directory(&desk{}))
			c := &raw{url: serve(t, s), token: "abc"}
			got := c.send(t, "POST", ping, nil)
			if got.status != test.status || strings.Contains(got.String(), "hunter2") {
				t.Errorf("a verifier that %s (anonymous %v): %s", test.name, anonymous, got)
			}
		}
	}
}

func TestHighestKnownRoleWinsAndUnknownOnesCountAsNothing(t *testing.T) {
	for _, test := range []struct {
		role  string
		roles []string
		tools int
	}{
		{"", nil, 2},
		{"", []string{}, 2},
		{"Viewer", nil, 3},
		{"", []string{"Viewer", "Manager", "Member"}, 5},
		{"Member", []string{"Viewer"}, 4},
		{"admin", []string{"ADMIN", "Admin ", "root", "Administrator"}, 2},
		{"root", []string{"Admin"}, 6},
		{"Viewer,Admin", nil, 2},
	} {
		verify := func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Subject: "x", Role: test.role},
				Roles: test.roles}, nil
		}
		s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, directory(&desk{}))
		list, err := connectHTTP(t, serve(t, s), "abc",
			"2026-07-28").ListTools(context.Background(), nil)
		if err != nil || len(list.Tools) != test.tools {
			t.Errorf("role %q, roles %q: %d tools, want %d (%v)", test.role, test.roles,
				len(list.Tools), test.tools, err)
		}
	}
}

func TestIdentityIsReadFromEachRequestAndNotFromTheSession(t *testing.T) {
	// The same person first with a token of an admin, then with one of a viewer.
	verify := func(_ context.Context, token string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Issuer: "i", Subject: "ada",
			Role: token}}, nil
	}
	s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, directory(&desk{}))
	c := newRaw(t, serve(t, s), "Admin", "2025-11-25")
	if got := c.call(t, "promote_to_manager", `,"arguments":{"id":"x"}`,
		nil); !strings.Contains(got.body, "structuredContent") {
		t.Fatalf("as admin: %s", got)
	}
	c.token = "Viewer"
	if got := c.call(t, "promote_to_manager", `,"arguments":{"id":"x"}`,
		nil); !strings.Contains(got.body, "unknown tool") {
		t.Errorf("as viewer, on the admin's session: %s", got)
	}
	if got := c.ask(t, "tools/list", "", nil); strings.Contains(got.body, "promote_to_manager") {
		t.Errorf("as viewer, on the admin's session: %s", got)
	}
}

func TestForeignSessionIsByteForByteAnUnknownSession(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, directory(&desk{}))
	url := serve(t, s)
	owners := []string{"", "Viewer", "Admin"}
	for _, owner := range owners {
		session := newRaw(t, url, tokens[owner], "2025-11-25").session
		for _, other := range owners {
			if other == owner {
				continue
			}
			c := &raw{url: url, token: tokens[other], era: "2025-11-25"}
			for _, method := range []string{"POST", "GET", "DELETE"} {
				c.session = session
				foreign := c.send(t, method, ping, nil)
				c.session = strings.Repeat("A", len(session))
				unknown := c.send(t, method, ping, nil)
				if foreign.status != http.StatusNotFound || foreign.String() != unknown.String() {
					t.Errorf("%q's session, %s by %q:\n%s\nan unknown session:\n%s", owner, method,
						other, foreign, unknown)
				}
			}
		}
		c := &raw{url: url, token: tokens[owner], era: "2025-11-25", session: session}
		if got := c.send(t, "POST", ping, nil); got.status != http.StatusOK {
			t.Errorf("%q's session no longer answers its owner: %s", owner, got)
		}
	}
}

func TestSameSubjectOfAnotherIssuerIsAnotherUser(t *testing.T) {
	verify := func(_ context.Context, issuer string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Issuer: issuer, Subject: "ada",
			Role: "Admin"}}, nil
	}
	s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, directory(&desk{}))
	c := newRaw(t, serve(t, s), "one", "2025-11-25")
	c.token = "two"
	if got := c.send(t, "POST", ping, nil); got.status != http.StatusNotFound {
		t.Errorf("%s", got)
	}
}

func TestSessionIsBoundToItsClientAsWell(t *testing.T) {
	people := map[string]access.Principal{
		"owner":        {Issuer: "i", Subject: "ada", Client: "cli"},
		"another":      {Issuer: "i", Subject: "ada", Client: "web"},
		"none":         {Issuer: "i", Subject: "ada"},
		"subject":      {Issuer: "i", Subject: "bob", Client: "cli"},
		"issuer":       {Issuer: "j", Subject: "ada", Client: "cli"},
		"joined":       {Issuer: "i", Subject: "ada3:cli"},
		"joined-front": {Issuer: "i3:ada", Subject: "cli", Client: "cli"},
	}
	verify := func(_ context.Context, token string) (identity.Identity, error) {
		p := people[token]
		p.Role = "Admin"
		return identity.Identity{Principal: p}, nil
	}
	s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, directory(&desk{}))
	c := newRaw(t, serve(t, s), "owner", "2025-11-25")
	for token := range people {
		c.token = token
		if got := c.send(t, "POST", ping,
			nil); (got.status == http.StatusOK) != (token == "owner") || token != "owner" &&
			got.status != http.StatusNotFound {
			t.Errorf("%s: %s", token, got)
		}
	}
}

func TestStreamEndsWithItsToken(t *testing.T) {
	verify := func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Admin"},
			Expires: time.Now().Add(300 * time.Millisecond)}, nil
	}
	s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, directory(&desk{}))
	c := newRaw(t, serve(t, s), "abc", "2025-11-25")
	start := time.Now()
	// send reads to the end of the stream; the client gives up after 20 seconds.
	if got := c.send(t, "GET", "", nil); got.status != http.StatusOK ||
		time.Since(start) > 10*time.Second {
		t.Errorf("after %s: %s", time.Since(start), got)
	}
}

func TestHandlersNeverSeeTheToken(t *testing.T) {
	for _, header := range []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"} {
		for _, era := range eras {
			seen := make(chan string, 1)
			s := newServer(t, runtime.Options{},
				oneTool("look",
					func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
						p, ok := runtime.Caller(ctx)
						text := fmt.Sprintf("%v %+v %+v", ok, p.Subject,
							toolset.Request[mcp.CallToolRequest](call).Extra.Header)
						if toolset.Request[mcp.CallToolRequest](call).Extra.TokenInfo != nil {
							text += fmt.Sprintf("TokenInfo %+v",
								toolset.Request[mcp.CallToolRequest](call).Extra.TokenInfo)
						}
						if info := auth.TokenInfoFromContext(ctx); info != nil {
							text += fmt.Sprintf("TokenInfo %+v", info)
						}
						seen <- text
						return toolset.Done(nil)
					}))
			c := newRaw(t, serve(t, s), tokens["Admin"], era)
			further := map[string]string{}
			if header != "Authorization" {
				further[header] = "session=" + tokens["Admin"]
			}
			if got := c.call(t, "look", "", further); !strings.Contains(got.body, `"content"`) {
				t.Fatalf("%s", got)
			}
			got := <-seen
			if strings.Contains(got, tokens["Admin"]) || strings.Contains(got, "TokenInfo") ||
				strings.Contains(got, "Bearer") {
				t.Errorf("%s in %s: a handler saw %s", header, era, got)
			}
			if !strings.HasPrefix(got, "true user-Admin") ||
				!strings.Contains(got, "Content-Type") {
				t.Errorf("a handler does not see its caller or its headers: %s", got)
			}
		}
	}
}

func TestLogsHoldNoSecrets(t *testing.T) {
	var log journal
	s := newServer(t, runtime.Options{Logger: log.logger()}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	c.ask(t, "tools/list", "", nil)
	c.call(t, "update", `,"arguments":{"id":"correct horse battery"}`, nil)
	c.call(t, "get_by_id", `,"arguments":{"id":"correct horse battery"}`, nil)
	c.token = "wrong-token-value"
	c.send(t, "POST", ping, nil)
	got := log.String()
	for _, secret := range []string{tokens["Viewer"], "wrong-token-value", "correct horse"} {
		if strings.Contains(got, secret) {
			t.Errorf("the log holds %q:\n%s", secret, got)
		}
	}
	for _, want := range []string{
		`level=DEBUG msg="list filtered" method=tools/list role=Viewer visible=3 total=6`,
		`level=INFO msg="call refused" tool=update principal=user-Viewer role=Viewer axis=role missing="needs role Manager"`,
		`level=INFO msg="credential refused" remote=127.0.0.1 path=/mcp reason=`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the log does not say %s:\n%s", want, got)
		}
	}
}

// What a host, a source and a caller say may hold a secret. None of it is written down.
func TestSecretsOfHostsAndSourcesAreMasked(t *testing.T) {
	const secret = "hunter2hunter2"
	fault := fmt.Errorf("dial postgres://mcp:%s@db.example/netbox: refused", secret)
	jwt := "eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("c2VjcmV0", 30) + ".c2lnbmF0dXJl"
	var log, records journal
	options := runtime.Options{
		Logger: log.logger(), Audit: audit.JSONLines(&records),
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			if token == "bad" {
				return identity.Identity{}, fault
			}
			return identity.Identity{Principal: access.Principal{Subject: "ada", User: "ada"}}, nil
		}, identity.NamesUsers()),
	}
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, options)
	h.failing(func(context.Context) error { return fault })
	url := serve(t, s)
	(&raw{url: url, token: "bad"}).send(t, "POST", ping, nil)
	c := newRaw(t, url, "good", "2026-07-28")
	c.call(t, "device_get", "", nil)
	c.call(t, jwt, "", nil)
	c.ask(t, "prompts/get", `"name":"`+jwt+`"`, nameOf("2026-07-28", jwt))
	c.ask(t, "completion/complete", `"ref":{"type":"ref/resource","uri":"x://`+jwt+
		`"},"argument":{"name":"a","value":""}`, nil)
	h.failing(func(context.Context) error { panic(fault) })
	ctx := context.Background()
	said := map[string]string{
		"explanation": s.Explain(ctx, access.Principal{Subject: "ada", User: "ada"},
			"device_get").String(),
		"doctor": s.Doctor(ctx, access.Principal{Subject: "ada", User: "ada"}).String(),
		"log":    log.String(), "audit": records.String(),
	}
	options.PermissionAware, options.Capabilities, options.Logger = true,
		oddHost{fakeHost: h, actions: func(context.Context) ([]string, error) {
			return nil, fault
		}}, quiet()
	_, err := runtime.New(options, stock())
	said["start"] = fmt.Sprint(err)
	for where, text := range said {
		if strings.Contains(text, secret) || strings.Contains(text, "c2VjcmV0c2VjcmV0") ||
			!strings.Contains(text, redact.Mask) {
			t.Errorf("%s: %s", where, text)
		}
	}
	for _, want := range []string{"the host's permissions could not be read",
		"the identity source failed"} {
		if !strings.Contains(said["log"], want) {
			t.Errorf("the log does not say %q:\n%s", want, said["log"])
		}
	}
}

func TestServerWithoutIdentityAnswersNobodyOverHTTP(t *testing.T) {
	var log journal
	s, err := runtime.New(runtime.Options{Logger: log.logger()}, directory(&desk{}))
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, s)
	for _, token := range []string{"", "abc"} {
		c := &raw{url: url, token: token}
		if got := c.send(t, "POST", ping, nil); got.status != http.StatusServiceUnavailable {
			t.Errorf("%s", got)
		}
	}
	if !strings.Contains(log.String(), "set Options.Identity") {
		t.Errorf("the log does not say what to do: %s", log.String())
	}
	session := connectIO(t, s, principalOf("Admin"), "2025-11-25")
	if list, err := session.ListTools(context.Background(), nil); err != nil ||
		len(list.Tools) != 6 {
		t.Errorf("stdio: %v, %v", list, err)
	}
}

func TestAnonymousServerWithoutIdentityRefusesEveryToken(t *testing.T) {
	s, err := runtime.New(runtime.Options{Logger: quiet(), Anonymous: true}, directory(&desk{}))
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, s)
	if list, err := connectHTTP(t, url, "", "2025-06-18").ListTools(context.Background(),
		nil); err != nil || len(list.Tools) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	c := &raw{url: url, token: "abc"}
	if got := c.send(t, "POST", ping, nil); got.status != http.StatusUnauthorized ||
		!strings.Contains(got.header.Get("Www-Authenticate"), "invalid_token") {
		t.Errorf("%s", got)
	}
}

func TestIsAdmin(t *testing.T) {
	highest := newServer(t, runtime.Options{}, directory(&desk{}))
	chosen := newServer(t, runtime.Options{AdminRole: "Manager"}, directory(&desk{}))
	for _, test := range []struct {
		p               access.Principal
		highest, chosen bool
	}{
		{access.Principal{Subject: "a", Role: "Admin"}, true, true},
		{access.Principal{Subject: "a", Role: "Manager"}, false, true},
		{access.Principal{Subject: "a", Role: "Member"}, false, false},
		{access.Principal{Subject: "a", Role: "Root"}, false, false},
		{access.Principal{Subject: "a"}, false, false},
		{access.Principal{Role: "Admin"}, false, false},
		{access.Principal{}, false, false},
	} {
		if highest.IsAdmin(test.p) != test.highest || chosen.IsAdmin(test.p) != test.chosen {
			t.Errorf("%+v: %v, %v", test.p, highest.IsAdmin(test.p), chosen.IsAdmin(test.p))
		}
	}
}

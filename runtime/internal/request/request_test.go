package request

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

func TestHandlerContextHidesTheToken(t *testing.T) {
	type kept struct{}
	type token struct{}
	info, other := &Info{ID: "this"}, &Info{ID: "other"}
	parent := With(context.WithValue(t.Context(), kept{}, "kept"), other)
	parent = context.WithValue(parent, token{}, &auth.TokenInfo{UserID: "creator"})
	parent, cancel := context.WithCancel(parent)
	c := ForHandler(parent, info, &info.Principal)
	if c.Value(kept{}) != "kept" || From(c) != info {
		t.Error("values are lost")
	}
	if v := c.Value(token{}); v != nil {
		t.Errorf("a token shows: %v", v)
	}
	derived, stop := context.WithCancel(c)
	defer stop()
	if cancel(); c.Err() != context.Canceled || derived.Err() != context.Canceled {
		t.Error("it does not end with its parent")
	}
}

// The token of go-sdk's own middleware does not show either.
func TestHandlerContextHidesTheTokenOfTheSDK(t *testing.T) {
	verify := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: "creator", Expiration: time.Now().Add(time.Hour)}, nil
	}
	served := false
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		served = true
		if auth.TokenInfoFromContext(r.Context()) == nil {
			t.Error("the test has no token")
		}
		c := ForHandler(r.Context(), &Info{}, &access.Principal{})
		if auth.TokenInfoFromContext(c) != nil {
			t.Error("a token shows")
		}
	})
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Authorization", "Bearer x")
	auth.RequireBearerToken(verify, nil)(h).ServeHTTP(httptest.NewRecorder(), r)
	if !served {
		t.Error("the handler did not run")
	}
}

func TestCallerIsTheOneThatAHandlerRunsFor(t *testing.T) {
	if p, ok := Caller(t.Context()); ok || !p.IsZero() || From(t.Context()) != nil {
		t.Errorf("outside of a call: %+v", p)
	}
	info := &Info{Principal: access.Principal{Subject: "ada", Roles: []string{"Member"}}}
	message := With(t.Context(), info)
	if p, ok := Caller(message); !ok || p.Roles[0] != "Member" || From(message) != info {
		t.Errorf("of a message: %+v", p)
	}
	now := access.Principal{Subject: "ada", Roles: []string{"Viewer"}}
	if p, ok := Caller(ForHandler(message, info, &now)); !ok || p.Roles[0] != "Viewer" {
		t.Errorf("of a handler: %+v", p)
	}
	if info.Principal.Roles[0] != "Member" {
		t.Error("the facts have changed")
	}
}

func TestIDsNameTheMessageWhenTheLineIsWritten(t *testing.T) {
	var out bytes.Buffer
	info := &Info{ID: "r1"}
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	ids := info.IDs()
	for _, step := range []struct {
		trace, span string
		ids         slog.Attr
		want        string
	}{
		{"", "", ids, "msg=m request_id=r1 a=1\n"},
		{"t1", "", ids, "msg=m request_id=r1 trace_id=t1 a=1\n"},
		{"t1", "s1", ids, "msg=m request_id=r1 trace_id=t1 span_id=s1 a=1\n"},
		{"", "", (*Info)(nil).IDs(), "msg=m a=1\n"},
	} {
		info.TraceID, info.SpanID = step.trace, step.span
		out.Reset()
		if log.Info("m", step.ids, "a", 1); out.String() != step.want {
			t.Errorf("%q, want %q", out.String(), step.want)
		}
	}
}

func TestFactsOfAnHTTPRequestHaveNoCredentials(t *testing.T) {
	type key struct{}
	r := httptest.NewRequest("POST", "/mcp?a=1", nil)
	r = r.WithContext(context.WithValue(r.Context(), key{}, "request"))
	for _, name := range []string{"Authorization", "Cookie", "X-Auth-Token", "X-Plain"} {
		r.Header.Set(name, "value")
	}
	r.Header.Set("X-Api-Key", "")
	expires := time.Now().Add(time.Hour)
	claims := map[string]any{"sub": "ada"}
	i := NewHTTP(r, identity.Identity{
		Principal: access.Principal{Subject: "ada"}, ClientItself: true, Expires: expires,
		Scheme: "JWT", Claims: claims,
	})
	if want := (http.Header{"X-Plain": {"value"}, "X-Api-Key": {""}}); !reflect.DeepEqual(
		i.HTTP.Header(), want) {
		t.Errorf("headers %v", i.HTTP.Header())
	}
	withheld := i.HTTP.Withheld()
	if !slices.Equal(withheld, []string{"Authorization", "Cookie", "X-Auth-Token"}) {
		t.Errorf("withheld %v", withheld)
	}
	if len(r.Header) != 5 {
		t.Errorf("the request itself has changed: %v", r.Header)
	}
	h := i.HTTP
	if h.Method != "POST" || h.Path != "/mcp" || h.Query != "a=1" || h.Scheme != "JWT" ||
		!reflect.DeepEqual(h.Claims, claims) || h.Context.Value(key{}) != "request" {
		t.Errorf("%+v", h)
	}
	if i.Principal.Subject != "ada" || !i.ClientItself || i.Expires != expires || i.ID == "" ||
		i.Started.IsZero() || i.Transport() != observe.TransportHTTP {
		t.Errorf("%+v", i)
	}
	stdio := New(identity.Identity{})
	if stdio.Transport() != observe.TransportStdio || stdio.ID == i.ID {
		t.Errorf("%+v", stdio)
	}
}

func TestInfoKnowsHowFarItsMessageIs(t *testing.T) {
	i := &Info{Version: NewestWithSessions}
	if i.Expired() || !i.HasSessions() {
		t.Errorf("%+v", i)
	}
	i.Version, i.Expires = Stateless, time.Now().Add(time.Hour)
	if i.Expired() || i.HasSessions() {
		t.Errorf("%+v", i)
	}
	if i.Expires = time.Now(); !i.Expired() {
		t.Error("a credential counts at its end")
	}
}

func TestUsersAndClientsOfPrincipals(t *testing.T) {
	for _, test := range []struct {
		p      access.Principal
		user   User
		client isolate.Client
	}{
		{access.Principal{}, User{}, isolate.Client{}},
		{access.Principal{Issuer: "i", Client: "c"}, User{}, isolate.Client{}},
		{
			access.Principal{Issuer: "i", Subject: "ada", Client: "cli"},
			User{"i", "ada"}, isolate.Client{Issuer: "i", ID: "cli"},
		},
		{
			access.Principal{Issuer: "i", Subject: "ada", Client: "web"},
			User{"i", "ada"}, isolate.Client{Issuer: "i", ID: "web"},
		},
	} {
		if u, c := UserOf(test.p), ClientOf(&test.p); u != test.user || c != test.client {
			t.Errorf("%+v: %+v, %+v", test.p, u, c)
		}
	}
}

func TestKnownVersions(t *testing.T) {
	for version, known := range map[string]bool{
		"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true,
		"2026-07-28": true, "": false, "2025-11-26": false, "2099-01-01": false,
	} {
		if got := KnownVersion(version); (got == version) != (known || version == "") ||
			!known && got != "" {
			t.Errorf("%s: %q", version, got)
		}
	}
}

func TestLoopbackHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.9.10": true, "::1": true,
		"::ffff:127.0.0.1": true, "": false, "0.0.0.0": false, "::": false, "10.0.0.1": false,
		"localhost.example": false, "127.0.0.1.example": false, "[::1]": false, "2130706433": false,
	} {
		if IsLoopback(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
}

func TestNilValues(t *testing.T) {
	var (
		err     error
		pointer *Info
		fn      func()
		channel chan int
		nested  any = error((*netError)(nil))
	)
	for _, v := range []any{nil, err, pointer, fn, channel, nested, map[int]int(nil), []int(nil)} {
		if !IsNil(v) {
			t.Errorf("%T is not nil", v)
		}
	}
	for _, v := range []any{0, "", Info{}.ID, &Info{}, []int{}, map[int]int{}, errors.New("x")} {
		if IsNil(v) {
			t.Errorf("%T is nil", v)
		}
	}
}

type netError struct{ error }

// Credentials of some services begin with four upper-case letters. An id must not look like one.
func TestMaskerLeavesIDs(t *testing.T) {
	var mask redact.Masker
	for range 1000 {
		id := NewID(time.Now())
		if id != strings.ToLower(id) || len(id) < 26 {
			t.Fatalf("the id %q", id)
		}
		for _, prefix := range []string{"ATBB", "AKIA", "ASIA", "ABIA", "ACCA", "LTAI", "AKID"} {
			id := strings.ToLower(prefix) + id[len(prefix):]
			if got := mask.Text(id); got != id {
				t.Fatalf("%q is masked: %q", id, got)
			}
		}
	}
}

// A message without a value hides that of a message around it, as of a server within a handler.
func TestContextOfAMessageHidesTheValueOfAnother(t *testing.T) {
	held := credential.Hold(identity.Identity{Value: identity.NewValue("outer")}, "x")
	outer := With(t.Context(), &Info{Credential: held})
	if credential.From(outer) != held {
		t.Error("its own value is lost")
	}
	for name, ctx := range map[string]context.Context{"message": With(outer, &Info{}),
		"handler": ForHandler(With(outer, &Info{}), &Info{}, &access.Principal{})} {
		if _, ok := credential.From(ctx).Identity(ctx); ok {
			t.Errorf("the %s within has the value", name)
		}
	}
}

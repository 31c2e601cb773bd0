package hasperm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/hasperm"
)

const token = "a token of a test, of at least 32 bytes"

var ada = access.Principal{Subject: "1", User: "ada b/../c&user=root"}

// serve is a source whose host returns a status and a body.
func serve(t *testing.T, status int, body string) (*hasperm.Source, *http.Request) {
	t.Helper()
	last := new(http.Request)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = *r
		w.Header().Set("Location", "/login")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(host.Close)
	source, err := hasperm.New(hasperm.Options{URL: host.URL + "/mcp", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return source, last
}

func TestOneRequestHasTheUserAndTheToken(t *testing.T) {
	source, last := serve(t, 200,
		`{"id":"7","name":"ada b/../c&user=root","permissions":["dcim.view_device"]}`)
	set, err := source.Capabilities(t.Context(), ada)
	if err != nil || !set.Has("dcim.view_device") || set.Has("dcim.add_device") {
		t.Errorf("%+v, %v", set, err)
	}
	if last.URL.Path != "/mcp" || last.URL.Query().Get("user") != ada.User ||
		len(last.URL.Query()) != 1 || last.Header.Get("Authorization") != "Bearer "+token {
		t.Errorf("%s %v", last.URL, last.Header)
	}
	user, err := source.Resolve(t.Context(), ada)
	if err != nil || user != (capability.User{ID: "7", Name: ada.User}) {
		t.Errorf("%+v, %v", user, err)
	}
	actions, err := source.Actions(t.Context())
	if err != nil || len(actions) != 1 || len(last.URL.Query()) != 0 {
		t.Errorf("%q, %v, %s", actions, err, last.URL)
	}
}

// Whatever the host returns besides the permissions of a user gives none. Only 404 is no user.
func TestOtherRepliesGiveNothing(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
	}{
		"no user":        {404, ""},
		"another token":  {401, ""},
		"a redirect":     {302, ""},
		"a failure":      {500, `{"id":"7","name":"ada b/../c&user=root","permissions":["a.b"]}`},
		"a login page":   {200, "<html>"},
		"no JSON object": {200, "[]"},
		"no id":          {200, `{"name":"ada b/../c&user=root","permissions":["a.b"]}`},
		"no name":        {200, `{"id":"7","permissions":["a.b"]}`},
		"another case":   {200, `{"id":"7","name":"Ada b/../c&user=root","permissions":["a.b"]}`},
		"a half reply":   {200, `{"id":"7","name":"ada b/../c&user=root","permissions":["a.b"]`},
		"other types":    {200, `{"id":"7","name":"ada b/../c&user=root","permissions":[["a.b"]]}`},
		"a reply of 2 MB": {200,
			`{"id":"7","name":"ada b/../c&user=root","permissions":["a.b"],"x":"` + strings.Repeat("x", 2<<20) + `"}`},
	} {
		source, last := serve(t, test.status, test.body)
		set, err := source.Capabilities(t.Context(), ada)
		_, resolveErr := source.Resolve(t.Context(), ada)
		if err == nil || resolveErr == nil || set.Has("a.b") ||
			errors.Is(err, capability.ErrNoUser) != (test.status == 404) ||
			strings.Contains(err.Error(), token) || last.URL.Path != "/mcp" {
			t.Errorf("%s: %+v, %v, %v", name, set, err, resolveErr)
		}
	}
	source, last := serve(t, 200, `{"id":"7","name":"ada b/../c&user=root","permissions":["a.b"]}`)
	_, err := source.Capabilities(t.Context(), access.Principal{Subject: "ada"})
	if !errors.Is(err, capability.ErrNoUser) || last.URL != nil {
		t.Errorf("a principal without a user: %v", err)
	}
	missing, _ := serve(t, 404, "")
	if _, err := missing.Actions(t.Context()); err == nil || errors.Is(err, capability.ErrNoUser) {
		t.Errorf("no view: %v", err)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	const view = "https://netops.example/mcp"
	for _, o := range []hasperm.Options{{}, {URL: view}, {URL: view, Token: token[:31]},
		{Token: token}, {URL: "netops.example/mcp", Token: token},
		{URL: "ftp://netops.example/mcp", Token: token}, {URL: view + "?x=1", Token: token},
		{URL: view + "#x", Token: token},
		{URL: "http://netops.example/mcp", Token: token}, {URL: "http://10.0.0.1/mcp",
			Token: token}, {URL: "https://a:b@netops.example/mcp", Token: token}} {
		if _, err := hasperm.New(o); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	source, err := hasperm.New(hasperm.Options{URL: view, Token: token, Client: &http.Client{}})
	if err != nil {
		t.Fatal(err)
	}
	for permission, ok := range map[string]bool{"dcim.view_device": true, "a.b.c": true,
		"view_device": false, "dcim.": false, ".x": false, "a.b c": false} {
		if got, err := source.MapAction(permission); (err == nil) != ok || ok && got != permission {
			t.Errorf("%s: %s, %v", permission, got, err)
		}
	}
}

package secrettest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpgen/mcpgen/internal/systemtest/secrettest"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// administered has the admin API and the console refuse requests with secrets in all their parts.
// What is kept of such a request, as a catalog's description is, comes back as it was sent; none
// here gets that far.
func (s *scene) administered(o runtime.Options) {
	s.t.Helper()
	source := stored.New(s.store, stored.Stored)
	a, err := admin.New(source, admin.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	o.Host.Source, o.Catalogs.Source, o.Admin = nil, source, a.Handler
	server, err := runtime.New(o, s.toolset())
	if err != nil {
		s.t.Fatal(err)
	}
	base := strings.TrimSuffix(mcptest.Serve(s.t, server), runtime.PathMCP)
	for i, secret := range s.of(secrettest.UnknownName) {
		text, name := secret.Text(), secret.Name
		if name == "" {
			name = "plain"
		}
		path := url.PathEscape(text)
		query := url.Values{name: {secret.Value}, "text": {text}, "name": {text}, "cursor": {text},
			"limit": {text}}.Encode()
		catalogs := runtime.PathAPI + "admin/mcp/tool_catalogs"
		for _, ask := range [][3]string{
			{"GET", runtime.PathAPI + path},
			{"GET", runtime.PathAPI + "orgs/" + path + "/mcp/tool_catalogs"},
			{"DELETE", catalogs + "/" + path},
			{"GET", catalogs + "?" + query}, {"GET", catalogs + "?" + url.QueryEscape(text) + "=1"},
			{"GET", runtime.PathAPI + "admin/audit/events?" + query},
			{"POST", catalogs, `{` + quoted(text) + `:1,"name":[` + quoted(text) + `]}`},
			{"POST", catalogs, `{"name":` + text},
			{"POST", catalogs, fmt.Sprintf(`{%s:%s,"name":7}`, quoted(name), quoted(secret.Value))},
			{"GET", runtime.PathConsole + "/" + path}, {"GET", runtime.PathConsole + "?" + query},
			{"POST", runtime.PathConsole + "/sign-in", query},
		} {
			if i%2 == 1 && ask[0] == "DELETE" {
				continue
			}
			s.asks(ask[0], base+ask[1], ask[2])
		}
	}
}

// asks sends a request to the admin API or the console, and keeps the answer.
func (s *scene) asks(method, url, body string) {
	s.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer boss")
	req.Header.Set("Content-Type", "application/json")
	if strings.Contains(url, runtime.PathConsole) {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	where := "admin"
	if res.StatusCode/100 == 2 {
		where = "admin, accepted"
	}
	// of the page for signing in, from which one comes back to the address that was asked for
	res.Header.Del("Location")
	_ = res.Header.Write(s.at(where)) // never fails
	if _, err := io.Copy(s.at(where), res.Body); err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintln(s.at(where), res.StatusCode)
}

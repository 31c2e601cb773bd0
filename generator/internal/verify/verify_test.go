package verify

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/report"
)

// TestVerifyJudgesWhatAServerResponds reads the response of a server, and compares it with one
// manifest. The exit code is 1 for a finding that is an error, and 2 for an error.
func TestVerifyJudgesWhatAServerResponds(t *testing.T) {
	const digest = "sha256:eda038c8d4eab37573084f6025d69f2542ff164c4c6c8c82d13645e3a6d1a9d9"
	for name, test := range map[string]struct {
		status     int
		body, want string
		code       int
	}{
		"equal": {200, `{"items":[{"package":"p","digest":"DIGEST"}]}`, "equal: package p", 0},
		"changed": {200, `{"items":[{"package":"p","digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`,
			"changed: package p", 1},
		"unknown": {200, `{"items":[{"package":"p"}]}`, "unknown: the server has no digest", 1},
		"missing": {200, `{"items":[]}`, "missing: the server does not serve package p", 1},
		"adopted": {200, `{"items":[{"package":"p","digest":"DIGEST"}],"adopted":true}`,
			"adopted: the", 0},
		"terminal": {200, `{"items":[{"package":"p"},{"package":"\u001b[2J"}]}`,
			"item 2 of the response is no package", 2},
		"lines": {200, `{"items":[{"package":"x\n::add-mask::prod\nequal: package p"}]}`,
			"item 1 of the response is no package", 2},
		"a digest": {200, `{"items":[{"package":"p","digest":"DIGEST\nequal: package q"}]}`,
			"item 1 of the response is no package", 2},
		"many": {200, `{"items":[{"package":"p"}` + strings.Repeat(`,{"package":"p"}`, maxPackages) +
			`]}`, "more than 10000 packages", 2},
		"a page":    {200, `<html>`, "is not that of an admin API", 2},
		"an object": {200, `{}`, "is not that of an admin API", 2},
		"large":     {200, strings.Repeat(" ", maxManifests+1), "more than 4 MiB", 2},
		"401":       {401, ``, "does not accept the token", 2},
		"403":       {403, ``, "no admin of the server", 2},
		"404":       {404, ``, "without the path of the MCP endpoint", 2},
		"503":       {503, ``, "status 503", 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/prefix/api/v1/admin/mcp/manifests" {
						t.Errorf("it reads %s", r.URL)
					}
					w.WriteHeader(test.status)
					_, _ = w.Write([]byte(strings.ReplaceAll(test.body, "DIGEST", digest)))
				}))
			defer server.Close()
			code, out := compared(t, server.URL+"/prefix/")
			if code != test.code || !strings.Contains(out, test.want) || strings.Contains(out, "\x1b") {
				t.Errorf("%d %s, want %d %s", code, out, test.code, test.want)
			}
		})
	}
}

// compared compares the manifests of a server with one without tools.
func compared(t *testing.T, url string) (code int, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.json")
	if err := os.WriteFile(file, []byte(`{"manifest":2,"package":"p"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	reviewed, err := Load(t.Context(), "", []string{file})
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := Endpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	served, err := Fetch(t.Context(), endpoint, "t0psecret")
	if err != nil {
		return 2, err.Error()
	}
	for _, f := range Compare(served, reviewed) {
		out += f.Code + ": " + f.Message + "\n"
		if f.Level == report.Error {
			code = 1
		}
	}
	return code, out
}

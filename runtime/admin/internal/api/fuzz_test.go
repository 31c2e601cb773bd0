package api_test

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
)

// FuzzRequests sends anything to every operation, as an admin and as somebody else: no request
// makes the API fail, and others learn nothing.
func FuzzRequests(f *testing.F) {
	w := newWorld(f, engines["sqlite"](f), runtime.Options{})
	all := w.operations()
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.id, b.id) })
	for i, op := range all {
		f.Add(i, "1", "old_tool", rows[op.id].body, `"1"`, "")
		f.Add(i, "code:kit", "ask", `{"name":null}`, "*", "limit=1&after=aTE")
		f.Add(i, "-9223372036854775808", "\x00", `{"name":"a","name":"b"}`, `W/"1", ,`, "org_id=1;team_id=2&%zz")
	}
	f.Fuzz(func(t *testing.T, which int, id, name, body, match, query string) {
		op := all[uint(which)%uint(len(all))]
		part := func(text string) string {
			if text == "" || strings.Trim(text, ".") == "" {
				text = "x" // the mux knows no empty part, and cleans these
			}
			return url.PathEscape(text)
		}
		path := strings.NewReplacer("{org_id}", part(id), "{team_id}", part(id), "{id}", part(id), "{tool_name}", part(name), "{name}", part(name)).Replace(op.path)
		for who, statuses := range map[string][]int{"root": {200, 201, 204, 400, 404, 409, 412, 413, 415, 422, 428, 429}, "stranger": {200, 201, 400, 403, 404, 413, 415, 422, 429}} {
			r := httptest.NewRequest(op.method, path, strings.NewReader(body))
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer "+who)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("If-Match", match)
			rec := httptest.NewRecorder()
			w.direct.ServeHTTP(rec, r)
			if !slices.Contains(statuses, rec.Code) || who == "stranger" && rec.Code < 300 && op.method != "GET" && op.id != "create-own-grant-request" {
				t.Errorf("%s %s?%s as %s, %q: %d %s", op.method, path, query, who, body, rec.Code, rec.Body)
			}
			if problem := rec.Header().Get("Content-Type") == "application/problem+json"; problem != (rec.Code >= 400) {
				t.Errorf("%s %s: %d %v", op.method, path, rec.Code, rec.Header())
			}
		}
	})
}

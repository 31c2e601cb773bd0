package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
)

// changeable are the operations on things that have versions, with a change of each.
var changeable = map[string]string{
	"/api/v1/admin/mcp/tool_catalogs/{id}": `{"description":"%s"}`, "/api/v1/orgs/{org_id}/mcp/tool_catalogs/{id}": `{"description":"%s"}`, "/api/v1/teams/{team_id}/mcp/tool_catalogs/{id}": `{"description":"%s"}`,
	"/api/v1/admin/orgs/{id}": `{"name":"%s"}`, "/api/v1/admin/teams/{id}": `{"name":"%s"}`, "/api/v1/admin/members/{id}": `{"standing":"%s"}`,
}

func TestChangeIsMadeAtTheVersionThatWasReadOnly(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for path, body := range changeable {
			values := []string{"first", "second", "third", "fourth"}
			if strings.Contains(path, "members") {
				values = []string{"lead", "admin", "owner", "member"}
			}
			at := at(path, w.acme.ID, w.lab.ID, w.thing(path, w.acmePlace(path)))
			for i, step := range []struct {
				match  []string
				status int
				etag   string
			}{
				{nil, 428, ""}, {[]string{`"2"`}, 412, ""}, {[]string{`"0"`}, 412, ""}, {[]string{`W/"1"`}, 412, ""}, {[]string{`"x"`}, 412, ""}, {[]string{`"01"`}, 412, ""},
				{[]string{`"1"`}, 200, `"2"`}, {[]string{`"1"`}, 412, ""}, {[]string{"*"}, 200, `"3"`}, {[]string{` * `}, 200, `"4"`},
				{[]string{`"1", "4"`}, 200, `"5"`}, {[]string{`"1", W/"5","6,7", ,"5"`}, 200, `"6"`}, {[]string{`"9"`, `"6"`}, 200, `"7"`}, {[]string{`"1", "2"`}, 412, ""},
				{[]string{""}, 400, ""}, {[]string{","}, 400, ""}, {[]string{"7"}, 400, ""}, {[]string{`"7`}, 400, ""}, {[]string{`"7"x`}, 400, ""}, {[]string{`*, "7"`}, 400, ""}, {[]string{`"7" "7"`}, 400, ""}, {[]string{`w/"7"`}, 400, ""},
				{[]string{`"7"`}, 200, `"8"`},
			} {
				var headers []string
				for _, m := range step.match {
					headers = append(headers, "If-Match", m)
				}
				got := w.send("root", "PATCH", at, fmt.Sprintf(body, fmt.Sprint(values[i%4])), headers...)
				if got.status != step.status || got.header.Get("ETag") != step.etag {
					t.Errorf("%s, If-Match %q: %s", path, step.match, got)
				}
				if read := w.send("root", "GET", at, ""); step.etag != "" && (read.header.Get("ETag") != step.etag || read.body != got.body || read.field("version") != strings.Trim(step.etag, `"`)) {
					t.Errorf("%s: %s, but then %s", path, got, read)
				}
			}
			for _, step := range []struct {
				match  string
				status int
			}{{`"7"`, 412}, {`W/"8"`, 412}, {"8", 400}, {`"7", "8"`, 204}, {"*", 404}, {`"8"`, 404}, {`"7", "8"`, 404}, {`"x"`, 404}} {
				if got := w.send("root", "DELETE", at, "", "If-Match", step.match); got.status != step.status || got.status == 204 && got.body != "" {
					t.Errorf("%s, If-Match %q: %s", path, step.match, got)
				}
			}
			if got := w.send("root", "PATCH", at, fmt.Sprintf(body, values[0]), "If-Match", "*"); got.status != 404 {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
}

// TestOneOfManyChangesAtOneVersionIsMade has many change one thing at once.
func TestOneOfManyChangesAtOneVersionIsMade(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for path, body := range changeable {
			at := at(path, w.acme.ID, w.lab.ID, w.thing(path, w.acmePlace(path)))
			value := func(i int) string {
				if strings.Contains(path, "members") {
					return []string{"lead", "admin", "owner"}[i%3]
				}
				return fmt.Sprint(path, i)
			}
			for version := 1; version <= 3; version++ {
				var all sync.WaitGroup
				answers := make([]reply, 6)
				for i := range answers {
					all.Go(func() {
						answers[i] = w.send("root", "PATCH", at, fmt.Sprintf(body, value(i)), "If-Match", fmt.Sprintf(`"%d"`, version))
					})
				}
				all.Wait()
				made := 0
				for _, got := range answers {
					if got.status == 200 {
						made++
					} else if got.status != 412 {
						t.Errorf("%s: %s", path, got)
					}
				}
				if made != 1 {
					t.Errorf("%s: %d changes were made at version %d", path, made, version)
				}
			}
		}
	})
}

// TestChangeAtAnyVersionIsMadeWhateverOthersDo has many change one thing at once, all of them at
// whatever it is.
func TestChangeAtAnyVersionIsMadeWhateverOthersDo(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	path := "/api/v1/admin/orgs/{id}"
	at := at(path, 0, 0, w.thing(path, place{}))
	var all sync.WaitGroup
	answers := make([]reply, 30)
	for i := range answers {
		all.Go(func() {
			answers[i] = w.send("root", "PATCH", at, fmt.Sprintf(`{"name":"name %d"}`, i), "If-Match", "*")
		})
	}
	all.Wait()
	made := 0
	for _, got := range answers {
		if got.status == 200 {
			made++
		} else if got.status != 409 {
			t.Error(got)
		}
	}
	if version := w.send("root", "GET", at, "").field("version"); made == 0 || version != fmt.Sprint(made+1) {
		t.Errorf("%d changes, and version %s", made, version)
	}
}

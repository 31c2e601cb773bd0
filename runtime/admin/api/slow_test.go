package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/api"
)

// TestBodyThatDoesNotEndHoldsNothing sends half a body, as nobody and as others: the API answers, hangs up, and can be shut
// down.
func TestBodyThatDoesNotEndHoldsNothing(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.direct.Hurry(200 * time.Millisecond)
	web := httptest.NewServer(w.direct)
	defer web.Close()
	for _, c := range []struct{ who, line, status string }{
		{"", "POST /api/v1/admin/orgs", "401"}, {"member", "POST /api/v1/admin/orgs", "403"}, {"root", "POST /api/v1/admin/orgs", "400"}, {"root", "GET /api/v1/admin/orgs", "200"},
		{"member", "POST /api/v1/mcp/grants/requests", "400"}, {"root", "POST /api/v1/admin/mcp/grants/requests/1/approve", "400"}, {"member", "POST /api/v1/admin/mcp/grants", "403"}, {"root", "GET /api/v1/admin/audit/export", "200"},
		{"root", "DELETE /api/v1/admin/orgs/999", "404"},
	} {
		conn := must(net.Dial("tcp", web.Listener.Addr().String()))
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", c.line, c.who)
		must(0, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status) {
			t.Errorf("%+v: %q, %v", c, answer, err)
		}
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := web.Config.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// ending is the end of a body, with which something else happens.
type ending func()

func (e ending) Read([]byte) (int, error) { e(); return 0, io.EOF }

// TestNothingIsDoneOnceTheCredentialHasEnded: it ends while the body comes, or right after it was looked at.
func TestNothingIsDoneOnceTheCredentialHasEnded(t *testing.T) {
	var end context.CancelFunc
	var atOnce bool
	w := newWorld(t, engines["sqlite"](t), runtime.Options{}, func(s *runtime.Server) api.Server {
		return ailing{Server: s, identify: func(ctx context.Context, err error) (context.Context, error) {
			ctx, end = context.WithCancel(ctx) // as with a deadline at its end
			if atOnce {
				end()
			}
			return ctx, err
		}, list: func() (runtime.Listing, error) { return runtime.Listing{}, context.Canceled }}
	})
	for _, op := range w.operations() {
		if strings.HasPrefix(op.id, "get-openapi") {
			continue
		}
		id := w.thing(op.path, w.acmePlace(op.path))
		w.recorded()
		body := w.filled(strings.ReplaceAll(rows[op.id].body, "%d", "late"))
		r := httptest.NewRequest(op.method, at(op.path, w.acme.ID, w.lab.ID, id), io.MultiReader(strings.NewReader(body), ending(func() { end() })))
		r.Header.Set("Authorization", "Bearer root")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", "*")
		atOnce = body == "" // which nobody reads to its end
		rec := httptest.NewRecorder()
		w.direct.ServeHTTP(rec, r)
		if got := answerOf(rec); got.status != 503 || !strings.HasPrefix(got.field("detail"), "no answer in time") {
			t.Errorf("%s: %s", op.id, got)
		}
		if changed := w.recorded(); len(changed) > 0 {
			t.Errorf("%s: %+v", op.id, changed)
		}
	}
}

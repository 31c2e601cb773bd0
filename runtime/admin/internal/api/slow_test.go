package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// TestBodyThatDoesNotEndHoldsNothing sends half a body, as nobody and as others: the API answers,
// hangs up, and can be shut down.
func TestBodyThatDoesNotEndHoldsNothing(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.direct.Hurry(200 * time.Millisecond)
	web := httptest.NewServer(w.direct)
	defer web.Close()
	for _, c := range []struct{ who, line, status string }{
		{"", "POST /api/v1/admin/orgs", "401"}, {"member", "POST /api/v1/admin/orgs", "403"},
		{"root", "POST /api/v1/admin/orgs", "400"}, {"root", "GET /api/v1/admin/orgs", "200"},
		{"member", "POST /api/v1/mcp/grants/requests", "400"},
		{"root", "POST /api/v1/admin/mcp/grants/requests/1/approve", "400"},
		{"member", "POST /api/v1/admin/mcp/grants", "403"},
		{"root", "GET /api/v1/admin/audit/export", "200"},
		{"root", "DELETE /api/v1/admin/orgs/999", "404"},
	} {
		conn := must(net.Dial("tcp", web.Listener.Addr().String()))
		fmt.Fprintf(
			conn,
			"%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: "+
				"application/json\r\nContent-Length: 100\r\n\r\n{", c.line, c.who)
		must(0, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		reply, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(reply), "HTTP/1.1 "+c.status) {
			t.Errorf("%+v: %q, %v", c, reply, err)
		}
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := web.Config.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// slowly is a registry in which a grant takes longer than huma gives a body by default.
type slowly struct{ *grant.Memory }

func (s slowly) Grant(ctx context.Context, g grant.Grant) (grant.Grant, error) {
	select {
	case <-time.After(6 * time.Second):
		return s.Memory.Grant(ctx, g)
	case <-ctx.Done():
		return grant.Grant{}, ctx.Err()
	}
}

// TestSlowChangeLeavesItsConnectionUsable sends a change that takes 6 seconds, and then requests to
// the API and to the MCP endpoint on the same connection.
func TestSlowChangeLeavesItsConnectionUsable(t *testing.T) {
	before := registry
	registry = func(*world) grant.Registry { return slowly{grant.NewMemory()} }
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	registry = before
	t.Parallel()
	web := httptest.NewServer(w.handler)
	defer web.Close()
	conn := must(net.Dial("tcp", web.Listener.Addr().String()))
	defer conn.Close()
	must(0, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	answers := bufio.NewReader(conn)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for i, c := range []struct {
		line, body string
		want       int
	}{
		{"POST /api/v1/admin/mcp/grants", `{"issuer":"x","client":"desk","reason":"slow",` +
			`"type":"file.read","resource":"public/a"}`, 201},
		{"GET /api/v1/whoami", "", 200},
		{"POST /api/v1/admin/orgs", `{"name":"new"}`, 201},
		{"POST /mcp", list, 200},
		{"GET /api/v1/admin/orgs", "", 200},
	} {
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer root\r\n"+
			"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"+
			"Content-Length: %d\r\n\r\n%s", c.line, web.Listener.Addr(), len(c.body), c.body)
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("%d: %s: %v", i, c.line, err)
		}
		body := must(io.ReadAll(res.Body))
		if res.StatusCode != c.want || res.Close {
			t.Errorf("%d: %s: %s %s", i, c.line, res.Status, body)
		}
	}
}

// TestBodyThatTricklesIsCutOff sends a byte a second, which would take hours: the deadline is for
// the whole body.
func TestBodyThatTricklesIsCutOff(t *testing.T) { synctest.Test(t, bodyThatTricklesIsCutOff) }

func bodyThatTricklesIsCutOff(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for _, path := range []string{"/api/v1/admin/orgs", "/api/v1/admin/mcp/grants/revoke"} {
		conn, theirs := net.Pipe()
		web := &http.Server{Handler: w.handler}
		go web.Serve(&single{conn: theirs})
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer root\r\n"+
			"Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", path)
		var writing sync.WaitGroup
		writing.Go(func() {
			for range 60_000 {
				if _, err := io.WriteString(conn, " "); err != nil {
					return // the server has hung up
				}
				time.Sleep(time.Second)
			}
		})
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusBadRequest || !res.Close {
			t.Errorf("%s: %+v, %v", path, res, err)
		}
		conn.Close()
		writing.Wait()
		web.Close()
	}
}

// single is a listener with one connection.
type single struct{ conn net.Conn }

func (s *single) Accept() (net.Conn, error) {
	if c := s.conn; c != nil {
		s.conn = nil
		return c, nil
	}
	return nil, net.ErrClosed
}

func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// ending is the end of a body, with which something else happens.
type ending func()

func (e ending) Read([]byte) (int, error) { e(); return 0, io.EOF }

// TestNothingIsDoneOnceTheCredentialHasEnded: it ends while the body comes, or right after it was
// looked at.
func TestNothingIsDoneOnceTheCredentialHasEnded(t *testing.T) {
	var end context.CancelFunc
	var atOnce bool
	w := newWorld(t, engines["sqlite"](t), runtime.Options{},
		func(s runtime.Administered) runtime.Administered {
			return ailing{Administered: s,
				identify: func(ctx context.Context, err error) (context.Context, error) {
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
		r := httptest.NewRequest(op.method, at(op.path, w.acme.ID, w.lab.ID, id),
			io.MultiReader(strings.NewReader(body), ending(func() {
				end()
			})))
		r.Header.Set("Authorization", "Bearer root")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", "*")
		atOnce = body == "" // which nobody reads to its end
		rec := httptest.NewRecorder()
		w.direct.ServeHTTP(rec, r)
		if got := replyOf(rec); got.status != 503 || !strings.HasPrefix(got.field("detail"),
			"no response in time") {
			t.Errorf("%s: %s", op.id, got)
		}
		if changed := w.recorded(); len(changed) > 0 {
			t.Errorf("%s: %+v", op.id, changed)
		}
	}
}

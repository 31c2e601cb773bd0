package console_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// patience is short, and long enough for what is there already.
const patience = 200 * time.Millisecond

// hasty is a console that does not wait long for a form, on a server of its own.
func hasty(w *world, m console.Machine) *httptest.Server {
	w.Handler = console.NewOf(m, w.store, authority.New(w.machine, w.store, stored.Stored), console.Options{}.Hasty(patience))
	return httptest.NewServer(w.Handler)
}

// TestFormThatDoesNotEndHoldsNothing sends half a form, as nobody and as an admin: the console
// answers, hangs up, and can be shut down.
func TestFormThatDoesNotEndHoldsNothing(t *testing.T) {
	w := onSQLite(t)
	web := hasty(w, w.machine)
	defer web.Close()
	for _, line := range []string{
		"POST /console/sign-in", "POST /console/sign-out", "POST /console/orgs", "POST /console/nowhere", "GET /console", "GET /console/sign-in", "PUT /console/orgs",
		"POST /console/orgs\nCookie: mcpgen-console=token-admin", "POST /console/sign-in\nSec-Fetch-Site: cross-site", "POST /console/orgs\nTransfer-Encoding: chunked",
	} {
		line, header, _ := strings.Cut(line, "\n")
		if !strings.Contains(header, "chunked") {
			header += "\nContent-Length: 100"
		}
		conn := must(net.Dial("tcp", web.Listener.Addr().String()))
		head := fmt.Sprintf("%s HTTP/1.1\nHost: %s\nContent-Type: application/x-www-form-urlencoded\n%s\n\n", line, web.Listener.Addr(), strings.TrimPrefix(header, "\n"))
		must(io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n")+"name="))
		must(0, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") {
			t.Errorf("%s: %q, %v", line, answer, err)
		}
		conn.Close()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := web.Config.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// ending is the end of a form, with which something else happens.
type ending func()

func (e ending) Read([]byte) (int, error) { e(); return 0, io.EOF }

// TestWhoSendsAFormIsAskedWhenAllOfItIsThere: a credential that ends while a form comes does
// nothing.
func TestWhoSendsAFormIsAskedWhenAllOfItIsThere(t *testing.T) {
	w := onSQLite(t)
	for _, at := range []string{"/console/orgs", "/console/catalogs"} {
		w.machine.callers = callers
		r := request(http.MethodPost, at, "token-admin", nil)
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("name=late&scope=global"), ending(func() { w.machine.callers = nil }))), -1
		led(t, w.do(r), "/console/sign-in?problem=ended")
	}
	w.machine.callers = callers
	orgs, _, err := w.store.Orgs(t.Context(), store.Page[int64]{})
	if err != nil || len(orgs) != 2 {
		t.Errorf("%v, %v", orgs, err)
	}
}

// pondering is a server that takes its time to find out who is calling.
type pondering struct {
	*machine
	asked func(context.Context) error
}

func (p pondering) Identify(r *http.Request) (context.Context, access.Principal, error) {
	ctx, who, err := p.machine.Identify(r)
	if err == nil {
		err = p.asked(ctx)
	}
	return ctx, who, err
}

// TestFormThatIsThereIsNotWaitedForAnyMore: the time for a form is none for what is done with it,
// which has its own.
func TestFormThatIsThereIsNotWaitedForAnyMore(t *testing.T) {
	synctest.Test(t, formThatIsThereIsNotWaitedForAnyMore)
}

func formThatIsThereIsNotWaitedForAnyMore(t *testing.T) {
	w := onSQLite(t)
	slow := pondering{w.machine, func(ctx context.Context) error {
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > 30*time.Second {
			t.Errorf("it may take until %v", end)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * front.Patience):
			return nil
		}
	}}
	conn, theirs := net.Pipe()
	web := &http.Server{Handler: console.NewOf(slow, w.store,
		authority.New(w.machine, w.store, stored.Stored), console.Options{})}
	defer web.Close()
	go web.Serve(&single{theirs})
	r := must(http.NewRequest(http.MethodPost, "http://localhost/console/orgs",
		strings.NewReader("name=new")))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: "mcpgen-console", Value: "token-admin"})
	must(0, r.Write(conn))
	res := must(http.ReadResponse(bufio.NewReader(conn), r))
	if body := must(io.ReadAll(res.Body)); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), "/console/orgs/") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, body)
	}
	conn.Close()
}

// single is a listener with one connection.
type single struct{ conn net.Conn }

func (s *single) Accept() (net.Conn, error) {
	if c := s.conn; c != nil {
		s.conn = nil
		return local{c}, nil
	}
	return nil, net.ErrClosed
}

func (s *single) Close() error   { return nil }
func (s *single) Addr() net.Addr { return local{}.RemoteAddr() }

// local is a connection from this machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
)

// wire leads to a database, until it is cut.
type wire struct {
	net.Listener
	mu   sync.Mutex
	ends []net.Conn
}

func wired(t *testing.T, socket string) *wire {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	w := &wire{Listener: l}
	t.Cleanup(w.cut)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", socket)
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.ends = append(w.ends, near, far)
			w.mu.Unlock()
			go func() { _, _ = io.Copy(near, far); near.Close() }()
			go func() { _, _ = io.Copy(far, near); far.Close() }()
		}
	}()
	return w
}

func (w *wire) cut() {
	w.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, end := range w.ends {
		end.Close()
	}
}

// TestDatabaseThatIsDownIsReported: what only reads has changed nothing, and neither has what could
// not be sent.
func TestDatabaseThatIsDownIsReported(t *testing.T) {
	db := testdb.PostgreSQL(t)
	cable := wired(t, filepath.Join(db.Host, ".s.PGSQL."+fmt.Sprint(db.Port)))
	w := newWorld(t, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", db.User, cable.Addr(),
		db.Name), runtime.Options{})
	if got := w.send("root", "GET", "/api/v1/admin/orgs", ""); got.status != 200 {
		t.Fatal(got)
	}
	cable.cut()
	for range 2 { // over connections that were open, and over none
		for _, c := range []struct{ who, method, path, body, message string }{
			{"root", "GET", "/api/v1/admin/orgs", "", "nothing was changed"},
			{"member", "GET", "/api/v1/whoami", "", "nothing was changed"},
			{"member", "GET", "/api/v1/mcp/tool_catalogs", "", "nothing was changed"},
			{"owner", "GET", "/api/v1/orgs/1/mcp/tool_catalogs", "", "nothing was changed"},
			{"root", "POST", "/api/v1/admin/orgs", `{"name":"new"}`, "change"},
		} {
			got := w.send(c.who, c.method, c.path, c.body)
			if detail := got.field("detail"); got.status != 503 ||
				!strings.HasPrefix(detail, "the database does not respond: try again; ") ||
				!strings.Contains(detail, c.message) {
				t.Errorf("%+v: %s", c, got)
			}
			if !strings.Contains(w.log.String(), "request_id="+got.id) {
				t.Errorf("%+v: the log does not tell of %s: %s", c, got.id, w.log)
			}
		}
	}
	// By now there is no connection: nothing was sent.
	if got := w.send("root", "POST", "/api/v1/admin/orgs",
		`{"name":"new"}`); !strings.HasSuffix(got.field("detail"), "; nothing was changed") {
		t.Error(got)
	}
}

// TestDatabaseThatHangsIsNotWaitedForInVain: a table is locked, as by a migration that does not
// end, and a request ends while it waits for the lock.
func TestDatabaseThatHangsIsNotWaitedForInVain(t *testing.T) {
	url := engines["postgresql"](t)
	w := newWorld(t, url, runtime.Options{})
	db := must(sql.Open("pgx", url))
	defer db.Close()
	lock := must(db.BeginTx(t.Context(), nil))
	defer lock.Rollback()
	must(lock.Exec(`LOCK TABLE organizations IN ACCESS EXCLUSIVE MODE`))
	const waiting = `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND database =
		(SELECT oid FROM pg_database WHERE datname = current_database()))`
	for _, c := range []struct{ method, body, message string }{{"GET", "",
		"try again; nothing was changed"}, {"POST", `{"name":"new"}`,
		"the change may have been made: check before you send it again"}} {
		for waits := true; waits; { // the database ends the request before by itself
			if err := db.QueryRowContext(t.Context(), waiting).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for waits := false; !waits && ctx.Err() == nil; {
				if err := db.QueryRowContext(ctx, waiting).Scan(&waits); err != nil {
					return
				}
			}
		}()
		r := httptest.NewRequestWithContext(ctx, c.method, "/api/v1/admin/orgs",
			strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer root")
		r.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, r)
		cancel()
		if got := replyOf(rec); got.status != 503 || !strings.HasPrefix(got.field("detail"),
			"no response in time: ") || !strings.Contains(got.field("detail"), c.message) ||
			got.id == "" {
			t.Error(got)
		}
	}
}

// TestDatabaseThatTakesNoChangesIsUnavailable has one that may only be read, as after a failover to
// a standby.
func TestDatabaseThatTakesNoChangesIsUnavailable(t *testing.T) {
	db := testdb.PostgreSQL(t)
	address := func(name string) string { return db.URLOf(db.User, name) }
	w := newWorld(t, address(db.Name), runtime.Options{})
	admin := must(sql.Open("pgx", address("postgres")))
	defer admin.Close()
	must(admin.Exec("ALTER DATABASE " + db.Name + " SET default_transaction_read_only = on"))
	must(admin.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`,
		db.Name))
	got := w.send("root", "POST", "/api/v1/admin/orgs", `{"name":"new"}`)
	for range 5 { // over connections that were open
		if strings.HasPrefix(got.field("detail"), "the database is read-only") {
			break
		}
		got = w.send("root", "POST", "/api/v1/admin/orgs", `{"name":"new"}`)
	}
	const want = "the database is read-only: try again later; nothing was changed"
	if got.status != 503 || got.field("detail") != want {
		t.Error(got)
	}
	if got := w.send("root", "GET", "/api/v1/admin/orgs", ""); got.status != 200 {
		t.Error(got)
	}
}

package capability_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// tables are those of a Django host in which ada may view devices.
const tables = `
CREATE TABLE django_content_type (id integer PRIMARY KEY, app_label text, model text);
CREATE TABLE auth_permission (id integer PRIMARY KEY, content_type_id integer, codename text);
CREATE TABLE auth_group (id integer PRIMARY KEY, name text);
CREATE TABLE auth_group_permissions (group_id integer, permission_id integer);
CREATE TABLE auth_user (id integer PRIMARY KEY, username text, is_active boolean,
	is_superuser boolean);
CREATE TABLE auth_user_groups (user_id integer, group_id integer);
CREATE TABLE auth_user_user_permissions (user_id integer, permission_id integer);
INSERT INTO django_content_type VALUES (1, 'dcim', 'device');
INSERT INTO auth_permission VALUES (1, 1, 'view_device');
INSERT INTO auth_user VALUES (1, 'ada', TRUE, FALSE);
INSERT INTO auth_user_user_permissions VALUES (1, 1);`

// engines are the databases of a host. lose opens one once more for a reader, at first without the
// database: back brings it back, and away takes it away.
var engines = []engine{
	{dialect.SQLite, testdb.SQLite, loseFile}, {dialect.PostgreSQL, testdb.PostgreSQL, loseSocket}}

type engine struct {
	dialect dialect.Dialect
	open    func(testing.TB) *testdb.Database
	lose    func(testing.TB, *testdb.Database) (reader *sql.DB, away, back func() error)
}

func loseFile(t testing.TB, db *testdb.Database) (reader *sql.DB, away, back func() error) {
	name := filepath.Join(t.TempDir(), "host.db")
	dsn := url.URL{Scheme: "file", Opaque: name, RawQuery: "mode=ro"}
	return openDB(t, db.Driver, dsn.String()), remove(name), link(db.File, name)
}

func loseSocket(t testing.TB, db *testdb.Database) (reader *sql.DB, away, back func() error) {
	dir, err := os.MkdirTemp("/tmp", "host") // the name of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	socket := ".s.PGSQL." + db.Port
	dsn := fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable",
		dir, db.Port, db.User, db.Name)
	name := filepath.Join(dir, socket)
	return openDB(t, db.Driver, dsn), remove(name), link(filepath.Join(db.Host, socket), name)
}

func remove(name string) func() error { return func() error { return os.Remove(name) } }

func link(target, name string) func() error {
	return func() error { return os.Symlink(target, name) }
}

// openDB opens a database by a connection for each query.
func openDB(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(0)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// unchecked is an adapter without a check of its own.
type unchecked struct{ capability.Source }

// adapter makes a source of a database.
type adapter func(*sql.DB) capability.Source

// everyAdapter runs a test on each engine, with the adapter as it is and without its check.
func everyAdapter(t *testing.T, test func(*testing.T, engine, *testdb.Database, adapter)) {
	for _, e := range engines {
		for name, change := range map[string]func(capability.Source) capability.Source{
			"as it is":  func(s capability.Source) capability.Source { return s },
			"unchecked": func(s capability.Source) capability.Source { return unchecked{s} },
		} {
			t.Run(e.dialect.String()+" "+name, func(t *testing.T) {
				db := e.open(t)
				if _, err := db.Exec(tables); err != nil {
					t.Fatal(err)
				}
				test(t, e, db, func(reader *sql.DB) capability.Source {
					s, err := django.New(reader, e.dialect, django.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return change(s)
				})
			})
		}
	}
}

// serve makes a server of the tool devices, for a token of ada's.
func serve(source capability.Source, ttl time.Duration, log io.Writer) (*runtime.Server, error) {
	call := func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"name": "edge-1"}, nil)
	}
	view := access.Permission{App: "dcim", Action: "view", Object: "device"}
	return runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("t"): {Subject: "ada", User: "ada"}}),
		Host:   runtime.HostOptions{Source: source, TTL: ttl},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}, toolset.NewToolset(toolset.Generated{
		Package: "example.com/devices", Server: toolset.ServerInfo{Name: "devices", Version: "1"},
		Table: access.Table{Rules: []access.Rule{{Tool: "devices", Permission: view}}},
		Tools: []toolset.Tool{{Name: "devices", Input: `{"type":"object"}`, Call: call}},
	}))
}

func TestServerDoesNotStartOnTablesThatItCannotRead(t *testing.T) {
	everyAdapter(t, func(t *testing.T, e engine, db *testdb.Database, source adapter) {
		order := func(statement string) {
			t.Helper()
			if _, err := db.Exec(statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		reader := db.DB
		broken := map[string][2]string{ // what is missing: how it goes and comes back
			"auth_user_groups": {"ALTER TABLE auth_user_groups RENAME TO gone",
				"ALTER TABLE gone RENAME TO auth_user_groups"},
			"is_active": {"ALTER TABLE auth_user RENAME is_active TO gone",
				"ALTER TABLE auth_user RENAME gone TO is_active"},
		}
		if e.dialect == dialect.PostgreSQL {
			var account string
			account, reader = db.Account(t)
			order("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + account)
			broken["auth_group_permissions"] = [2]string{
				"REVOKE SELECT ON auth_group_permissions FROM " + account,
				"GRANT SELECT ON auth_group_permissions TO " + account}
		}
		for missing, orders := range broken {
			order(orders[0])
			s, err := serve(source(reader), 0, io.Discard)
			if err == nil || !strings.Contains(err.Error(), missing) ||
				!errors.As(err, new(*capability.ConfigurationError)) {
				t.Errorf("without %s: %v", missing, err)
			}
			if s != nil {
				_ = s.Shutdown(t.Context())
			}
			order(orders[1])
		}
		s, err := serve(source(reader), 0, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestServerFollowsItsHost starts a server without its host, and takes the host away again later.
// The server is in a bubble, because it runs the check of readiness at most once a second. While it
// waits for the database, the time of the bubble stands still.
func TestServerFollowsItsHost(t *testing.T) {
	everyAdapter(t, func(t *testing.T, e engine, db *testdb.Database, source adapter) {
		t.Parallel()
		reader, away, back := e.lose(t, db)
		synctest.Test(t, func(t *testing.T) {
			var log journal
			s, err := serve(source(reader), 0, &log)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: direct{s.Handler()}}
			for i, step := range []struct {
				change  func() error
				status  int
				changes int // lines of the log, of either kind
			}{{nil, 503, 0}, {back, 200, 1}, {away, 503, 1}, {back, 200, 2}} {
				if step.change != nil {
					if err := step.change(); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(10 * time.Second)
				res, err := client.Get("http://localhost" + runtime.PathReadyz)
				if err != nil {
					t.Fatal(err)
				}
				if res.StatusCode != step.status {
					t.Errorf("step %d: readiness is %d: %s", i, res.StatusCode, &log)
				}
				allowed := step.status == 200
				text := ask(t, client, "http://localhost", "tools/call", "devices")
				if strings.Contains(text, "edge-1") != allowed {
					t.Errorf("step %d: %s", i, text)
				}
				failed := strings.Count(log.String(), "the server is not ready")
				passed := strings.Count(log.String(), "a readiness check passes again")
				if passed != step.changes || allowed != (failed == passed) || failed > passed+1 {
					t.Errorf("step %d: %d and %d lines in %s", i, failed, passed, &log)
				}
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

// direct sends requests to a handler without a connection.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// journal is a log that goroutines write to.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// ask sends a request of a method with ada's token. name is of the tool, if the method has one.
func ask(t testing.TB, client *http.Client, base, method, name string) string {
	t.Helper()
	params := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientCapabilities":{}}`
	if name != "" {
		params += fmt.Sprintf(`,"name":%q,"arguments":{}`, name)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+runtime.PathMCP,
		strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`,
			method, params)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer t", "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": method, "Mcp-Name": name} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMessageIsOneQueryOfTheDatabase counts the statements that reach the database of the host.
func TestMessageIsOneQueryOfTheDatabase(t *testing.T) {
	for _, e := range engines {
		t.Run(e.dialect.String(), func(t *testing.T) {
			db := e.open(t)
			if _, err := db.Exec(tables); err != nil {
				t.Fatal(err)
			}
			probe := db.Probe(t)
			base := serveHost(t, probe.DB, e.dialect, 0)
			for _, method := range []string{"tools/list", "tools/call"} {
				name := ""
				if method == "tools/call" {
					name = "devices"
				}
				before := probe.Queries()
				text := ask(t, http.DefaultClient, base, method, name)
				if n := probe.Queries() - before; n != 1 || strings.Contains(text, `"error"`) {
					t.Errorf("%s: %d queries: %s", method, n, text)
				}
			}
		})
	}
}

// serveHost serves the tool devices over HTTP, with the permissions of a Django host.
func serveHost(t testing.TB, db *sql.DB, d dialect.Dialect, ttl time.Duration) string {
	t.Helper()
	source, err := django.New(db, d, django.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve(source, ttl, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		_ = s.Shutdown(context.WithoutCancel(t.Context()))
		web.Close()
	})
	return web.URL
}

// BenchmarkHost measures messages over HTTP whose permissions are in a Django host on PostgreSQL
// with 300 permissions of the caller's group, once for each message and with CapabilityTTL.
func BenchmarkHost(b *testing.B) {
	db := testdb.PostgreSQL(b)
	if _, err := db.Exec(tables + `
		INSERT INTO auth_permission SELECT n, 1, 'view_' || n FROM generate_series(2, 1000) n;
		INSERT INTO auth_group VALUES (1, 'staff');
		INSERT INTO auth_group_permissions SELECT 1, n FROM generate_series(2, 300) n;
		INSERT INTO auth_user_groups VALUES (1, 1);
		ALTER TABLE auth_group_permissions ADD PRIMARY KEY (group_id, permission_id);
		ALTER TABLE auth_user_groups ADD PRIMARY KEY (user_id, group_id);
		ALTER TABLE auth_user ADD UNIQUE (username);
		ANALYZE`); err != nil {
		b.Fatal(err)
	}
	for _, ttl := range []time.Duration{0, time.Hour} {
		base := serveHost(b, db.DB, dialect.PostgreSQL, ttl)
		for method, name := range map[string]string{"tools/call": "devices", "tools/list": ""} {
			b.Run(fmt.Sprintf("%s/ttl=%s", method, ttl), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ask(b, http.DefaultClient, base, method, name)
				}
			})
			b.Run(fmt.Sprintf("%s/parallel/ttl=%s", method, ttl), func(b *testing.B) {
				b.SetParallelism(8)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						ask(b, http.DefaultClient, base, method, name)
					}
				})
			})
		}
	}
}

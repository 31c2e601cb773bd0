package bench

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

// trail is a place for the records of mcpgen.
type trail struct {
	peer    string
	records int // of one call: its outcome, and its intent
	// place returns an empty place of the trail, which the server process opens.
	place func(t testing.TB) string
	open  func(place string) (audit.Sink, error)
	// count counts the records of a call in a place.
	count func(t testing.TB, place string) int
}

// trails are what a call is measured with. Each row has all of them, so that the difference to
// the first one is of one run.
func trails() []trail {
	none := trail{"none", 0, func(testing.TB) string { return "" },
		func(string) (audit.Sink, error) { return nil, nil },
		func(testing.TB, string) int { return 0 }}
	file := trail{"chain", 1,
		func(t testing.TB) string { return filepath.Join(t.TempDir(), "audit.jsonl") }, openChain,
		func(t testing.TB, place string) int {
			text, err := os.ReadFile(place)
			if err != nil {
				t.Fatal(err)
			}
			return bytes.Count(text, []byte(`"tool_called"`))
		}}
	all := []trail{none, file}
	for _, records := range []int{1, 2} {
		for _, engine := range []string{"postgresql", "sqlite"} {
			t := trail{engine, records, postgreSQL, openStore, countEvents("pgx", "")}
			if engine == "sqlite" {
				t.place = func(t testing.TB) string {
					return "sqlite:" + filepath.Join(t.TempDir(), "store.db")
				}
				t.count = countEvents("sqlite", "sqlite:")
			}
			if records > 1 {
				t.peer += "-and-intent"
			}
			all = append(all, t)
		}
	}
	return all
}

// postgreSQL returns the URL of an empty database.
func postgreSQL(t testing.TB) string {
	db := testdb.PostgreSQL(t)
	address := url.URL{Scheme: "postgres", User: url.User(db.User), Path: "/" + db.Name,
		RawQuery: url.Values{"host": {db.Host}, "port": {db.Port},
			"sslmode": {"disable"}}.Encode()}
	return address.String()
}

func openChain(file string) (audit.Sink, error) {
	lines, err := audit.Rotating(file, audit.RotateOptions{})
	if err != nil {
		return nil, err
	}
	return chain.New(lines, chain.Options{Key: bytes.Repeat([]byte("k"), chain.MinKey),
		Replica: "bench"})
}

func openStore(address string) (audit.Sink, error) {
	s, err := store.Open(context.Background(), address)
	if err != nil {
		return nil, err
	}
	return s.Audit(), nil
}

func countEvents(driver, scheme string) func(t testing.TB, place string) int {
	return func(t testing.TB, place string) (n int) {
		db, err := sql.Open(driver, strings.TrimPrefix(place, scheme))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		const query = `SELECT count(*) FROM audit_events WHERE type = 'tool_called'`
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// trailPeers are mcpgen with each trail in a place. The tool of freight is not readonly, so that
// a call has an intent unless the policy is against it.
func trailPeers(place string) (peers []peer) {
	for _, t := range trails() {
		peers = append(peers, peer{name: t.peer, web: func(string) (http.Handler, error) {
			o := options()
			sink, err := t.open(place)
			if err != nil {
				return nil, err
			}
			if o.Audit.Sink = sink; t.records == 1 {
				o.Audit.Intent = audit.IntentNone
			}
			server, err := runtime.New(o, freight.Toolset())
			if err != nil {
				return nil, err
			}
			return server.Handler(), nil
		}})
	}
	return peers
}

func (r trail) job(t testing.TB) Job {
	return Job{Peer: r.peer, Place: r.place(t), Through: "http", Version: stateless}
}

// benchmarkRecord measures a call by 64 clients with each trail.
func benchmarkRecord(b *testing.B) {
	postgreSQL(b) // so that no row has the start of its cluster
	for _, r := range trails() {
		b.Run("through=http/peer="+r.peer, func(b *testing.B) {
			p := serving(b, r.job(b))
			var clients []*client
			for range 64 {
				clients = append(clients, p.connect(b))
			}
			b.Run("clients=64", func(b *testing.B) { calls().measure(b, p, 1, clients...) })
		})
	}
}

// A trail without records would cost nothing.
func TestEveryTrailHasTheRecordsOfItsCalls(t *testing.T) {
	for _, r := range trails() {
		t.Run(r.peer, func(t *testing.T) {
			job := r.job(t)
			c := serving(t, job).connect(t)
			for range 3 {
				checkResponse(t, c.call(t, "tools/call", callParams))
			}
			if n := r.count(t, job.Place); n != 3*r.records {
				t.Error(fmt.Sprint(n, " records of 3 calls"))
			}
		})
	}
}

package store_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestRecordsOfAnEarlierVersionAreFoundWithNewOnes: the rows in testdata are those that the version
// with the type tool_call and the status ok has written. New records go on in the same trail.
func TestRecordsOfAnEarlierVersionAreFoundWithNewOnes(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		name := "postgresql"
		if isSQLite(url) {
			name = "sqlite"
		}
		rows := string(must(os.ReadFile("testdata/earlier-" + name + ".sql")))
		must(raw(t, url).Exec(rows))
		c := begin(t, s, "web-1")
		for i, f := range []audit.Failure{"", audit.Denied, audit.Errored, audit.Timeout} {
			e := audit.Event{Time: longAgo, Type: audit.ToolCalled, RequestID: fmt.Sprint("n", i)}
			e.End(f)
			keep(t, c, e)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			f    store.EventFilter
			want string
		}{
			{store.EventFilter{Failure: audit.Denied}, "n1 r27 r26 r23 r13"},
			{store.EventFilter{Failure: audit.Errored}, "n2 r20 r11 r3"},
			{store.EventFilter{Failure: audit.Timeout}, "n3 r5"},
			{store.EventFilter{Status: audit.Failed},
				"n3 n2 n1 r27 r26 r23 r20 r17 r14 r13 r11 r9 r7 r5 r3"},
			{store.EventFilter{Type: audit.ToolCalled, Status: audit.Success}, "n0 r1"},
			{store.EventFilter{Type: audit.ToolCalled, Failure: audit.Denied}, "n1 r13"},
			{store.EventFilter{Type: audit.ToolCalled, Status: audit.Intent}, "r15"},
			{store.EventFilter{Type: audit.ToolCalled},
				"n3 n2 n1 n0 r15 r14 r13 r11 r9 r7 r5 r3 r1"},
		} {
			var got []string
			for _, r := range walk(t, func(after int64) ([]store.Recorded, bool, error) {
				return s.SearchEvents(t.Context(), test.f, store.Page[int64]{After: after,
					Limit: 2})
			}, func(r store.Recorded) int64 { return r.ID }) {
				got = append(got, r.RequestID)
				f := test.f
				if f.Type != "" && r.Type != f.Type || f.Status != "" && r.Status != f.Status ||
					f.Failure != "" && r.Failure != f.Failure {
					t.Errorf("%+v: %+v", f, r.Event)
				}
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("%+v: %s", test.f, s)
			}
			var out bytes.Buffer
			must(s.ExportEvents(t.Context(), &out, test.f))
			if n := strings.Count(out.String(), "\n"); n < len(got) {
				t.Errorf("%+v: %d exported", test.f, n)
			}
		}
		text, report := exported(t, s, chain.VerifyOptions{})
		if !report.Sound() || report.Chains != 2 {
			t.Errorf("%+v", report)
		}
		for line := range strings.Lines(rows) { // the export has the text that was recorded
			_, event, _ := strings.Cut(strings.TrimSuffix(line, "');\n"), "'{")
			if !strings.Contains(text, "{"+event+"\n") {
				t.Errorf("no %s", event)
			}
		}
	})
}

// TestSearchesForAllVersionsUseAnIndex with the rows in order: no table is read whole, and nothing
// is sorted but the page.
func TestSearchesForAllVersionsUseAnIndex(t *testing.T) {
	for name, engine := range map[string]struct {
		database func(testing.TB) *testdb.Database
		url      func(*testdb.Database) string
		looks    func(*testing.T, *testdb.Database, testdb.Query) (string, bool)
	}{
		"sqlite": {testdb.SQLite,
			func(db *testdb.Database) string { return "sqlite:" + db.File }, sqliteSearches},
		"postgresql": {testdb.PostgreSQL,
			func(db *testdb.Database) string { return postgresURL(db, db.User) }, postgresSearches},
	} {
		t.Run(name, func(t *testing.T) {
			db := engine.database(t)
			s := must(store.Open(t.Context(), engine.url(db)))
			reads, probe := s.Reads(), db.Probe(t)
			s.ReadBy(probe.DB)
			defer func() {
				s.ReadBy(reads)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			for _, f := range []store.EventFilter{{Status: audit.Success}, {Status: audit.Failed},
				{Failure: audit.Errored}, {Failure: audit.Denied}, {Type: audit.ToolCalled},
				{Type: audit.ToolCalled, Status: audit.Failed}} {
				page := store.Page[int64]{After: 9}
				if _, _, err := s.SearchEvents(t.Context(), f, page); err != nil {
					t.Fatal(err)
				}
			}
			asked := probe.Recorded()
			if len(asked) != 6 {
				t.Errorf("%d statements", len(asked))
			}
			for _, q := range asked {
				if plan, all := engine.looks(t, db, q); all {
					t.Errorf("%s\nreads or sorts all rows:\n%s", q.Text, plan)
				}
			}
		})
	}
}

func sqliteSearches(t *testing.T, db *testdb.Database, q testdb.Query) (string, bool) {
	plan, _ := sqliteLooks(t, db, q)
	return plan, strings.Contains(plan, "SCAN audit_events") ||
		strings.Contains(plan, "TEMP B-TREE")
}

func postgresSearches(t *testing.T, db *testdb.Database, q testdb.Query) (string, bool) {
	plan, _ := postgresLooks(t, db, q)
	return plan, strings.Contains(plan, "Seq Scan") || strings.Count(plan, "Sort Key") > 1
}

package store_test

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// visited counts the calls of the function visited of SQLite, which is once for each row that a
// query reads, before other conditions.
var visited atomic.Int64

func init() {
	sqlite.MustRegisterScalarFunction("visited", 1,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			visited.Add(1)
			return int64(1), nil
		})
}

// trails are tables of rows of a number i, in SQL.
var trails = map[string]string{
	// two kinds of events alternate
	"alternating": `i, 'tool_called', CASE i % 2 WHEN 0 THEN 'success' ELSE 'denied' END,
		'r' || i % 2, 'p' || i % 2, 'c' || i % 2, 't' || i % 2`,
	"at one time": `7, 'tool_called', CASE i % 2 WHEN 0 THEN 'success' ELSE 'denied' END,
		'r' || i % 2, 'p' || i % 2, 'c' || i % 2, 't' || i % 2`,
	// all by one principal, and the other values once each, in the oldest rows
	"one principal": `i, 'tool_called', CASE WHEN i < 9 THEN 'denied' ELSE 'success' END,
		'r' || min(i, 9), 'p1', 'c' || min(i, 9), 't' || min(i, 9)`,
	// each has its outcome in the other half
	"intents": `i, 'tool_called', CASE WHEN i <= ROWS / 2 THEN 'success' ELSE 'intent' END,
		'r' || i % (ROWS / 2), 'p1', 'c1', 't1'`,
}

// seed puts a trail past the store. The oldest row has the number 1, and a second for each number.
func seed(t testing.TB, db *testdb.Database, rows int, columns string) {
	t.Helper()
	columns = strings.ReplaceAll(columns, "ROWS", fmt.Sprint(rows))
	at, _, _ := strings.Cut(columns, ",")
	columns = strings.TrimPrefix(columns, at)
	if db.File == "" {
		at = `to_timestamp(` + at + `)`
		columns = strings.ReplaceAll(columns, "min(", "least(")
	} else {
		at = `1000000 * (` + at + `)`
	}
	must(db.Exec(fmt.Sprintf(`INSERT INTO audit_events (at, type, status, request_id, principal,
		client, tool, issuer, event) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1
		FROM n WHERE i < %d) SELECT %s %s, '', '{"request_id":"' || i || '"}' FROM n`, rows, at,
		columns)))
}

var tables = regexp.MustCompile(`FROM audit_events( AS o)?\s+WHERE`)

// readRows is the number of rows that a statement of a search reads, with those that its conditions
// refuse.
func readRows(t *testing.T, db *testdb.Database, q testdb.Query) (rows int) {
	t.Helper()
	if db.File != "" {
		before := visited.Load()
		q.Text = tables.ReplaceAllStringFunc(q.Text, func(table string) string {
			if strings.Contains(table, " AS o") {
				return table + " visited(o.id) AND"
			}
			return table + " visited(id) AND"
		})
		found := must(db.Query(q.Text, q.Args...))
		for found.Next() {
		}
		must(0, found.Close())
		return int(visited.Load() - before)
	}
	db.SetMaxOpenConns(1)
	for _, name := range []string{"sort", "seqscan", "bitmapscan"} {
		must(db.Exec("SET enable_" + name + " = off"))
	}
	text := plan(t, db, "EXPLAIN (ANALYZE, FORMAT JSON) ", q,
		func(scan func(...any) error) (line string, err error) { return line, scan(&line) })
	type node struct {
		Relation string  `json:"Relation Name"`
		Rows     float64 `json:"Actual Rows"`
		Loops    float64 `json:"Actual Loops"`
		Filtered float64 `json:"Rows Removed by Filter"`
		Checked  float64 `json:"Rows Removed by Index Recheck"`
		Plans    []json.RawMessage
	}
	var all []struct{ Plan json.RawMessage }
	must(0, json.Unmarshal([]byte(text), &all))
	var count func(raw json.RawMessage) float64
	count = func(raw json.RawMessage) (sum float64) {
		var n node
		must(0, json.Unmarshal(raw, &n))
		if n.Relation != "" {
			sum = (n.Rows + n.Filtered + n.Checked) * n.Loops
		}
		for _, p := range n.Plans {
			sum += count(p)
		}
		return sum
	}
	return int(count(all[0].Plan))
}

// filters are all combinations of fields of a search.
func filters() (all []store.EventFilter) {
	for i := range 1 << 6 {
		var f store.EventFilter
		for k, set := range []func(){
			func() { f.Principal = "p1" }, func() { f.Client = "c0" }, func() { f.Tool = "t1" },
			func() { f.Type = audit.ToolCalled }, func() { f.Status = audit.Failed },
			func() { f.RequestID = "r1" },
		} {
			if i>>k&1 == 1 {
				set()
			}
		}
		all = append(all, f)
	}
	return append(all, store.EventFilter{Status: audit.Intent}, store.EventFilter{Client: "c1"},
		store.EventFilter{Principal: "p1", Client: "c1", Status: audit.Intent})
}

func fieldsOf(f store.EventFilter) (n int) {
	for _, has := range []bool{f.Principal != "", f.Client != "", f.Tool != "", f.Type != "",
		f.Status != "", f.RequestID != ""} {
		if has {
			n++
		}
	}
	return n
}

func TestPageOfASearchReadsABoundedNumberOfRows(t *testing.T) {
	const rows, limit, most = 4000, 10, 200
	for name, engine := range map[string]struct {
		database func(testing.TB) *testdb.Database
		url      func(*testdb.Database) string
	}{
		"sqlite": {testdb.SQLite,
			func(db *testdb.Database) string { return "sqlite:" + db.File }},
		"postgresql": {testdb.PostgreSQL,
			func(db *testdb.Database) string { return postgresURL(db, db.User) }},
	} {
		for trail, columns := range trails {
			t.Run(name+"/"+strings.ReplaceAll(trail, " ", "-"), func(t *testing.T) {
				db := engine.database(t)
				s := must(store.Open(t.Context(), engine.url(db)))
				reads, probe := s.Reads(), db.Probe(t)
				s.ReadBy(probe.DB)
				defer func() {
					s.ReadBy(reads)
					must(0, s.Close())
				}()
				s.ReadAtMost(most)
				seed(t, db, rows, columns)
				if n := readRows(t, db, testdb.Query{
					Text: `SELECT id FROM audit_events WHERE event || '' = ''`}); n != rows {
					t.Fatalf("a statement that reads all rows is counted as %d rows", n)
				}
				at := func(i int64) time.Time { return time.Unix(i, 0) }
				for _, in := range [][2]time.Time{{}, {at(0), at(rows / 2)},
					{at(rows / 2), at(rows * 2)}, {at(rows), at(rows + 9)}, {at(-9), at(0)}} {
					for _, f := range filters() {
						f.From, f.Until = in[0], in[1]
						before := len(probe.Recorded())
						found, next, err := s.SearchEvents(t.Context(), f,
							store.EventPage{Limit: limit})
						if err != nil {
							t.Fatal(err)
						}
						read := 0
						for _, q := range probe.Recorded()[before:] {
							if strings.Contains(q.Text, "audit_events") {
								read += readRows(t, db, q)
							}
						}
						// each entry of an intent is one, and its outcome one or two more
						if read > most*5/2 {
							t.Errorf("%+v reads %d rows", f, read)
						}
						intents := trail == "intents"
						if fieldsOf(f) < 2 && !intents && len(found) < limit &&
							next != (store.EventPlace{}) {
							t.Errorf("%+v: %d events on a page that is not the last", f,
								len(found))
						}
					}
				}
			})
		}
	}
}

// TestSearchFindsWhatAModelFinds while events of the past and of now are recorded.
func TestSearchFindsWhatAModelFinds(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		type kept struct {
			audit.Event
			id int64
		}
		var all []kept
		record := func(e audit.Event) {
			keep(t, s.Audit(), e)
			all = append(all, kept{e, int64(len(all) + 1)})
		}
		random := func(status audit.Status) audit.Event {
			one := func(words ...string) string { return words[rand.IntN(len(words))] }
			e := audit.Event{
				Time: longAgo.Add(time.Duration(rand.IntN(9)) * time.Second),
				Type: audit.Type(one("tool_called", "tool_call", "changed")), Status: status,
				Principal: one("", "p", "q"), Client: one("", "c", "d"), Tool: one("", "t", "u"),
				RequestID: fmt.Sprint(status == audit.Intent, rand.IntN(30)),
			}
			if status == "" {
				e.End(audit.Failure(one("", "", "denied", "error")))
			}
			return e
		}
		matches := func(f store.EventFilter, e kept) bool {
			hidden := e.Status == audit.Intent && f.RequestID == "" &&
				slices.ContainsFunc(all, func(o kept) bool {
					return o.RequestID == e.RequestID && o.Type == e.Type && o.Status != e.Status
				})
			has := func(want, got string) bool { return want == "" || want == got }
			return !hidden && has(f.Principal, e.Principal) && has(f.Client, e.Client) &&
				has(f.Tool, e.Tool) && has(f.RequestID, e.RequestID) &&
				(f.Type == "" || slices.Contains(f.Type.Words(), string(e.Type))) &&
				has(string(f.Status), string(e.Status)) &&
				has(string(f.Failure), string(e.Failure)) &&
				(f.From.IsZero() || !e.Time.Before(f.From)) &&
				(f.Until.IsZero() || e.Time.Before(f.Until))
		}
		for range 120 {
			record(random([]audit.Status{"", "", audit.Intent}[rand.IntN(3)]))
			if e := all[len(all)-1].Event; e.Status == audit.Intent && rand.IntN(2) == 0 {
				e.End("")
				record(e)
			}
		}
		for round := range 120 {
			var f store.EventFilter
			for _, set := range []func(){
				func() { f.Principal = "p" }, func() { f.Client = "c" }, func() { f.Tool = "t" },
				func() { f.Type = audit.ToolCalled }, func() { f.Status = audit.Failed },
				func() { f.Failure = audit.Denied }, func() { f.Status = audit.Intent },
				func() { f.RequestID = all[rand.IntN(len(all))].RequestID },
				func() { f.From = longAgo.Add(2 * time.Second) },
				func() { f.Until = longAgo.Add(7 * time.Second) },
			} {
				if rand.IntN(5) == 0 {
					set()
				}
			}
			s.ReadAtMost([]int{4, 30, 4000}[round%3])
			page := store.EventPage{Limit: 1 + rand.IntN(9)}
			begun, passed := len(all), map[int64]bool{} // recorded before the part that was read
			var got, want []int64
			for done := false; !done; {
				found, next, err := s.SearchEvents(t.Context(), f, page)
				if err != nil || len(found) > page.Limit {
					t.Fatal(len(found), err)
				}
				for _, r := range found {
					got = append(got, r.ID)
				}
				if done = next == (store.EventPlace{}); !done && len(all) < begun+5 {
					record(random(""))
					e := all[len(all)-1]
					passed[e.id] = e.Time.After(next.Time) || e.Time.Equal(next.Time) && e.id > next.ID
				}
				page.After = next
			}
			model := slices.Clone(all)
			slices.SortFunc(model, func(a, b kept) int {
				if c := b.Time.Compare(a.Time); c != 0 {
					return c
				}
				return int(b.id - a.id)
			})
			for _, e := range model {
				if !passed[e.id] && matches(f, e) {
					want = append(want, e.id)
				}
			}
			if !slices.Equal(got, want) {
				for _, id := range got {
					if !slices.Contains(want, id) {
						t.Errorf("extra %+v", all[id-1])
					}
				}
				for _, id := range want {
					if !slices.Contains(got, id) {
						t.Errorf("missing %+v", all[id-1])
					}
				}
				t.Fatalf("%+v, pages of %d: %v, want %v", f, page.Limit, got, want)
			}
			var out strings.Builder
			must(s.ExportEvents(t.Context(), &out, f))
			var times, wanted []string
			for line := range strings.Lines(out.String()) {
				var e audit.Event
				must(0, json.Unmarshal([]byte(line), &e))
				times = append(times, e.Time.String()+e.RequestID)
			}
			for _, e := range all {
				f := f
				if e.Status == audit.Intent && f.RequestID == "" {
					f.RequestID = e.RequestID // an export has all intents
				}
				if matches(f, e) {
					wanted = append(wanted, e.Time.String()+e.RequestID)
				}
			}
			if !slices.Equal(times, wanted) {
				t.Fatalf("%+v exports %v, want %v", f, times, wanted)
			}
		}
	})
}

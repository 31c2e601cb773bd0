package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var longAgo = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func keep(t testing.TB, sink audit.Sink, events ...audit.Event) {
	t.Helper()
	for _, e := range events {
		if err := sink.Record(context.Background(), e); err != nil {
			t.Error(err)
		}
	}
}

// searched is all that a search finds, page by page.
func searched(t testing.TB, s *store.Store, f store.EventFilter, limit int) (
	all []store.Recorded) {
	t.Helper()
	for page := (store.EventPage{Limit: limit}); ; {
		found, next, err := s.SearchEvents(t.Context(), f, page)
		if err != nil || len(found) > limit {
			t.Fatalf("%d events on a page of %d, %v", len(found), limit, err)
		}
		if all = append(all, found...); next == (store.EventPlace{}) {
			return all
		}
		if page.After = next; next != must(store.ParseEventPlace(next.String())) {
			t.Fatalf("%+v is not read back", next)
		}
	}
}

func begin(t testing.TB, s *store.Store, replica string) *chain.Chain {
	t.Helper()
	last := must(s.LastEvent(context.Background(), replica))
	return must(chain.New(s.Audit(), chain.Options{Key: key, Replica: replica, Last: last,
		Logger: slog.New(slog.DiscardHandler)}))
}

// exported is the whole trail, verified.
func exported(t testing.TB, s *store.Store, options chain.VerifyOptions) (string, chain.Report) {
	t.Helper()
	var out bytes.Buffer
	n := must(s.ExportEvents(context.Background(), &out, store.EventFilter{}))
	if lines := strings.Count(out.String(), "\n"); int64(lines) != n {
		t.Errorf("%d lines of %d events", lines, n)
	}
	options.Key = key
	return out.String(), must(chain.Verify(chain.Lines("export", bytes.NewReader(out.Bytes())),
		options))
}

func TestEventsAreFoundNewestFirst(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		var all []audit.Event
		for i := range 12 {
			all = append(all, audit.Event{
				Time: longAgo.Add(time.Duration(i) * time.Minute),
				Type: []audit.Type{audit.ToolCalled, audit.ToolList}[i%2],
				RequestID: fmt.Sprint("r",
					i/2),
				Principal: []string{"ada", "bob"}[i/6], Client: []string{"cli", "web",
					"x\x00y"}[i%3], Tool: []string{"read", "write", ""}[i%3],
			})
			all[i].End([]audit.Failure{"", audit.Denied}[i/4%2])
		}
		keep(t, s.Audit(), all...)
		at := func(i int) time.Time { return longAgo.Add(time.Duration(i) * time.Minute) }
		for name, test := range map[string]struct {
			f    store.EventFilter
			want string
		}{
			"all":       {store.EventFilter{}, "11 10 9 8 7 6 5 4 3 2 1 0"},
			"principal": {store.EventFilter{Principal: "bob"}, "11 10 9 8 7 6"},
			"client":    {store.EventFilter{Client: "web"}, "10 7 4 1"},
			"odd":       {store.EventFilter{Client: "x\x00y"}, "11 8 5 2"},
			"tool":      {store.EventFilter{Tool: "read"}, "9 6 3 0"},
			"type":      {store.EventFilter{Type: audit.ToolList}, "11 9 7 5 3 1"},
			"status":    {store.EventFilter{Status: audit.Failed}, "7 6 5 4"},
			"failure":   {store.EventFilter{Failure: audit.Denied}, "7 6 5 4"},
			"neither":   {store.EventFilter{Status: audit.Success, Failure: audit.Denied}, ""},
			"no status": {store.EventFilter{Status: "no"}, ""},
			"request":   {store.EventFilter{RequestID: "r2"}, "5 4"},
			"time":      {store.EventFilter{From: at(3), Until: at(6)}, "5 4 3"},
			"some": {store.EventFilter{Principal: "ada", Status: audit.Success, From: at(1)},
				"3 2 1"},
			"none": {store.EventFilter{Principal: "eve"}, ""},
		} {
			var got []string
			events := searched(t, s, test.f, 2)
			for _, r := range events {
				got = append(got, fmt.Sprint(int(r.Time.Sub(longAgo)/time.Minute)))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), test.want)
			}
			var out bytes.Buffer
			if n := must(s.ExportEvents(t.Context(), &out, test.f)); int(n) != len(got) ||
				strings.Count(out.String(), "\n") != len(got) {
				t.Errorf("%s: %d exported", name, n)
			}
		}
	})
}

// TestEachCallIsFoundOnceByItsOutcomeOrByItsIntent: intents are exported all the same, and can be
// verified.
func TestEachCallIsFoundOnceByItsOutcomeOrByItsIntent(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		event := func(request string, status audit.Status) audit.Event {
			return audit.Event{Type: audit.ToolCalled, RequestID: request, Principal: "ada",
				Tool: "pay", Status: status, Intended: status == audit.Success}
		}
		keep(t, s.Audit(), event("1", audit.Intent), event("2", audit.Intent),
			event("1", audit.Success),
			event("3", audit.Failed), event("4", audit.Intent),
			// a request of permission during the call
			audit.Event{Type: audit.Changed, RequestID: "2", Principal: "ada",
				Status: audit.Success},
			event("5", audit.Intent), event("5", audit.Success))
		for name, test := range map[string]struct {
			f    store.EventFilter
			want string
		}{
			"all": {store.EventFilter{},
				"5 success, 2 success, 4 intent, 3 failed, 1 success, 2 intent"},
			"a tool": {store.EventFilter{Tool: "pay", Principal: "ada"},
				"5 success, 4 intent, 3 failed, 1 success, 2 intent"},
			"without outcome": {store.EventFilter{Status: audit.Intent}, "4 intent, 2 intent"},
			"one request":     {store.EventFilter{RequestID: "1"}, "1 success, 1 intent"},
			"intent of one": {store.EventFilter{RequestID: "1", Status: audit.Intent},
				"1 intent"},
		} {
			var got []string
			for _, r := range searched(t, s, test.f, 2) {
				got = append(got, r.RequestID+" "+string(r.Status))
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), test.want)
			}
		}
		var out bytes.Buffer
		if n := must(s.ExportEvents(t.Context(), &out, store.EventFilter{})); n != 8 ||
			strings.Count(out.String(), `"status":"intent"`) != 4 ||
			strings.Count(out.String(), `"intended":true`) != 2 {
			t.Errorf("%d exported:\n%s", n, out.String())
		}
	})
}

func TestExportThatCannotBeWrittenIsAnError(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		keep(t, s.Audit(), audit.Event{Tool: strings.Repeat("x", 100<<10)}, audit.Event{})
		full := errors.New("full")
		if _, err := s.ExportEvents(t.Context(), writer(func([]byte) (int, error) {
			return 0, full
		}), store.EventFilter{}); !errors.Is(err, full) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.ExportEvents(ctx, &bytes.Buffer{}, store.EventFilter{}); !errors.Is(err,
			context.Canceled) {
			t.Error(err)
		}
		if _, err := s.LastEvent(ctx, "web-1"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := s.PruneEvents(ctx, longAgo, ada); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestTrailOfSeveralReplicasVerifiesOutOfTheStore has two of them write calls, and change things,
// at once.
func TestTrailOfSeveralReplicasVerifiesOutOfTheStore(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		first := open(t, url)
		replicas := map[string]*store.Store{"web-1": first, "web-2": first}
		if !isSQLite(url) {
			replicas["web-2"] = open(t, url)
		} else {
			delete(replicas, "web-2")
		}
		var points []chain.Checkpoint
		for round := range 2 {
			var all sync.WaitGroup
			var mu sync.Mutex
			for name, s := range replicas {
				c := must(chain.New(s.Audit(), chain.Options{
					Key: key, Replica: name, Last: must(s.LastEvent(t.Context(), name)), Every: 7,
					Checkpoints: func(_ context.Context, p chain.Checkpoint) error {
						mu.Lock()
						defer mu.Unlock()
						points = append(points, p)
						return nil
					},
				}))
				s.SealBy(c)
				all.Go(func() {
					var some sync.WaitGroup
					for w := range 8 {
						some.Go(func() {
							for i := range 5 {
								keep(t, c, audit.Event{RequestID: fmt.Sprint(w, "-", i),
									Tool: "größe \x00"})
							}
						})
						some.Go(func() {
							must(s.CreateOrg(t.Context(), fmt.Sprint(name, " ", w, " ", round),
								ada))
						})
						some.Go(func() { // what is refused takes no place
							if err := s.DeleteOrg(t.Context(), 999, 0, ada); !errors.Is(err,
								store.ErrNotFound) {
								t.Error(err)
							}
						})
					}
					some.Wait()
					if err := c.Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		text, got := exported(t, first, chain.VerifyOptions{Checkpoints: points})
		if len(got.Findings) > 0 || got.Chains != 2*len(replicas) ||
			got.Records < int64(96*len(replicas)) ||
			got.Records != int64(strings.Count(text, "\n")) {
			t.Errorf("%+v", got)
		}
		lines := strings.SplitAfter(text, "\n")
		without := strings.Join(append(lines[:20:20], lines[21:]...), "")
		if got := must(chain.Verify(chain.Lines("export", strings.NewReader(without)),
			chain.VerifyOptions{Key: key, Checkpoints: points})); got.Sound() {
			t.Error("a record that is missing is not missed")
		}
	})
}

func TestEventsArePrunedFromTheOldestOnAndTheCutIsRecorded(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		c, other := begin(t, s, "web-1"), begin(t, s, "web-2")
		s.SealBy(c)
		old := func(i int) audit.Event {
			return audit.Event{RequestID: fmt.Sprint(i),
				Time: longAgo.Add(time.Duration(i) * time.Hour)}
		}
		for i := range 6 {
			keep(t, c, old(i))
			keep(t, other, old(i))
		}
		// its time is earlier than its place
		keep(t, c, audit.Event{RequestID: "late", Time: longAgo.Add(time.Minute)})
		for _, recent := range []time.Time{time.Now(), time.Now().Add(time.Hour)} {
			if _, err := s.PruneEvents(t.Context(), recent, ada); !errors.Is(err,
				store.ErrInvalid) {
				t.Error(err)
			}
		}
		if n := must(s.PruneEvents(t.Context(), longAgo.Add(-time.Hour), ada)); n != 0 ||
			len(trail(t, s)) != 13 {
			t.Errorf("%d deleted", n)
		}
		if n := must(s.PruneEvents(t.Context(), longAgo.Add(2*time.Hour), ada)); n != 4 {
			t.Errorf("%d deleted", n)
		}
		left := trail(t, s)
		if len(left) != 10 || left[0].RequestID != "2" || left[8].RequestID != "late" {
			t.Errorf("%+v", left)
		}
		cut := left[9]
		if cut.Action != "prune audit events" || cut.Object != "audit events up to 4" ||
			cut.Principal != "ada" || len(cut.Cut) != 2 || cut.Cut[0].Seq != 2 || cut.Chain == nil {
			t.Errorf("%+v", cut)
		}
		if _, got := exported(t, s, chain.VerifyOptions{}); len(got.Findings) > 0 ||
			got.Records != 10 {
			t.Errorf("%+v", got)
		}
		// One that is younger than the cut stays, for every caller.
		db := raw(t, url)
		for _, statement := range []string{`DELETE FROM audit_events`,
			`DELETE FROM audit_events WHERE id > 4`, `DELETE FROM audit_cuts`,
			`UPDATE audit_cuts SET upto = 100`, `UPDATE audit_events SET tool = 'x'`} {
			if _, err := db.Exec(statement); err == nil {
				t.Errorf("done: %s", statement)
			}
		}
		// A second cut takes the record of the first one with it, and says what that said.
		keep(t, other, audit.Event{RequestID: "new", Time: time.Now()})
		must(s.CreateOrg(t.Context(), "acme", ada))
		if n := must(s.PruneEvents(t.Context(), longAgo.Add(3*time.Hour), ada)); n != 2 {
			t.Errorf("%d deleted", n)
		}
		if _, got := exported(t, s, chain.VerifyOptions{}); len(got.Findings) > 0 {
			t.Errorf("%+v", got)
		}
		// Who makes a cut of its own leaves a gap that no event names.
		now := "now()"
		if isSQLite(url) {
			now = "1"
		}
		for _, statement := range []string{`INSERT INTO audit_cuts (upto, at) VALUES (7, ` + now +
			`)`, `DELETE FROM audit_events WHERE id <= 7`} {
			must(db.Exec(statement))
		}
		if _, got := exported(t, s, chain.VerifyOptions{}); got.Sound() {
			t.Error("a cut that nobody recorded is not noticed")
		}
	})
}

func TestPruneGoesOnWhereOneEndedEarly(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		now, old := "now()", "now() - interval '1 year'"
		if isSQLite(url) {
			now, old = "1", "1"
		}
		must(
			raw(t, url).Exec(
				`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000) SELECT ` + old + `, 't', 'ok', 'r', '', 'bob', '{}' FROM n`))
		must(raw(t, url).Exec(`INSERT INTO audit_cuts (upto, at) VALUES (6000, ` + now + `)`))
		if n := must(s.PruneEvents(t.Context(), longAgo.Add(time.Hour), ada)); n != 6000 ||
			len(trail(t, s)) != 0 {
			t.Errorf("%d deleted, %d left", n, len(trail(t, s)))
		}
	})
}

func TestLastEventOfAReplicaIsFoundAmongOthers(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		if got := must(s.LastEvent(t.Context(), "web-1")); got != nil {
			t.Errorf("%q", got)
		}
		keep(t, begin(t, s, "web-1"), audit.Event{RequestID: "a"})
		keep(t, begin(t, s, "web-10"), audit.Event{RequestID: "b"})
		keep(t, s.Audit(), audit.Event{RequestID: "c"})
		if got := must(s.LastEvent(t.Context(), "web-1")); !strings.Contains(string(got),
			`"request_id":"a"`) {
			t.Errorf("%q", got)
		}
	})
}

func TestEventsOfAnEarlierVersionAreFoundByClientAndTool(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		if err := store.Migrate(t.Context(), url, 4); err != nil {
			t.Fatal(err)
		}
		now := "now()"
		if isSQLite(url) {
			now = "1"
		}
		long := strings.Repeat("é", 300)
		for _, event := range []string{`{"client":"` + long + `","tool":"` + long + `"}`,
			`{"client":"cli","tool":"read"}`, `{"client_id":"web","tool_name":"write"}`,
			`{"client":"x\u0000"}`} {
			must(
				raw(t, url).Exec(
					`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) VALUES (` + now + `, 't', 'ok', 'r', '', 'bob', '` + event + `')`))
		}
		for i := range 3 { // no two are alike, so that no compression makes them short
			must(
				raw(t, url).Exec(
					`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) VALUES (`+now+`, 't', 'ok', $1, '', 'bob', '{}')`, fmt.Sprint(i)+noise(3000)))
		}
		s := open(t, url)
		for _, f := range []store.EventFilter{{Client: "cli", Tool: "read"},
			{Client: "web", Tool: "write"}, {Client: long, Tool: long}} {
			got, _, err := s.SearchEvents(t.Context(), f, store.EventPage{})
			if err != nil || len(got) != 1 || got[0].Client != f.Client || got[0].Tool != f.Tool {
				t.Errorf("%+v, %v", got, err)
			}
		}
	})
}

// A search from or until a time that no event can have, or that an engine cannot store, is one from
// or until the end of all times.
func TestSearchTakesEachTime(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		keep(t, s.Audit(), audit.Event{Time: longAgo})
		for _, far := range []time.Time{time.Unix(1<<61, 0),
			time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
			before := time.Unix(-far.Unix(), 0)
			for f, want := range map[store.EventFilter]int{
				{From: far}: 0, {Until: far}: 1, {From: before}: 1, {Until: before}: 0,
			} {
				found, _, err := s.SearchEvents(t.Context(), f, store.EventPage{})
				if err != nil || len(found) != want {
					t.Errorf("%+v: %d events, want %d, %v", f, len(found), want, err)
				}
			}
		}
	})
}

package store_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// many puts so many records into a trail, an hour apart, past the store.
func many(t *testing.T, url string, n int) {
	t.Helper()
	at := `timestamptz '2026-01-01 00:00Z' + i * interval '1 hour'`
	if isSQLite(url) {
		at = fmt.Sprintf(`%d + i * %d`, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(),
			time.Hour.Microseconds())
	}
	must(raw(t, url).Exec(fmt.Sprintf(`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s, 't', 'ok', 'r' || (i %% 2), '', 'bob', '{"request_id":"' || i || '"}' FROM n`, n, at)))
}

// first calls do as the first part of an export is written, and keeps all of it.
type first struct {
	bytes.Buffer
	do func()
}

func (f *first) Write(p []byte) (int, error) {
	if f.do != nil {
		f.do()
		f.do = nil
	}
	return f.Buffer.Write(p)
}

func TestExportHoldsNoConnectionWhileItsReaderWaits(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		many(t, url, 1500)
		const readers = 12 // more than there are connections
		stop, begun := make(chan struct{}), make(chan struct{}, readers)
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				s.ExportEvents(context.Background(), writer(func([]byte) (int, error) {
					begun <- struct{}{}
					<-stop
					return 0, io.ErrClosedPipe
				}), store.EventFilter{})
			})
		}
		for range readers {
			select {
			case <-begun:
			case <-time.After(time.Minute):
				t.Error("an export waits for those of others")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.Revision(ctx); err != nil {
			t.Error(err)
		}
		close(stop)
		all.Wait()
	})
}

func TestExportOfManyPartsIsWhatTheTrailWasAtItsBeginning(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		many(t, url, 1000)
		keep(t, s.Audit(), audit.Event{Time: longAgo, RequestID: "long", Object: strings.Repeat("x",
			3<<20)})
		many(t, url, 2000) // a part ends with the last of them
		for name, f := range map[string]store.EventFilter{"all": {}, "half": {RequestID: "r1"},
			"none": {Principal: "nobody"}, "long": {RequestID: "long"}} {
			column := column(t, raw(t, url), `SELECT event FROM audit_events WHERE `+
				map[string]string{
					"all": "true", "half": "request_id = 'r1'", "none": "principal = 'nobody'",
					"long": "request_id = 'long'",
				}[name]+` ORDER BY id`)
			out := &first{do: func() {
				keep(t, s.Audit(), audit.Event{Time: longAgo, Principal: "late"})
			}}
			n, err := s.ExportEvents(t.Context(), out, f)
			if want := strings.Join(append(column, ""), "\n"); err != nil || out.String() != want ||
				int(n) != len(column) {
				t.Errorf("%s: %d events of %d in %d bytes of %d, %v", name, n, len(column),
					out.Len(), len(want), err)
			}
		}
	})
}

// TestRecordThatWasOnItsWayAsAnExportBeganIsNotInIt has one whose id comes before that of others
// which stand.
func TestRecordThatWasOnItsWayAsAnExportBeganIsNotInIt(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		if isSQLite(url) {
			return // which has one writer: there ids are in the order of commits
		}
		s := open(t, url)
		many(t, url, 1500)
		tx := must(raw(t, url).Begin())
		must(tx.Exec(`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) VALUES (now(), 't', 'ok', '', '', '', '{"request_id":"on its way"}')`))
		many(t, url, 1)
		out := &first{do: func() {
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		}}
		if n, err := s.ExportEvents(t.Context(), out, store.EventFilter{}); n != 1501 ||
			err != nil || strings.Contains(out.String(), "on its way") {
			t.Errorf("%d, %v", n, err)
		}
		if n := must(s.ExportEvents(t.Context(), out, store.EventFilter{})); n != 1502 ||
			!strings.Contains(out.String(), "on its way") {
			t.Error(n)
		}
	})
}

func TestExportOfWhatIsPrunedMeanwhileIsAnError(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		for _, test := range []struct {
			f    store.EventFilter
			upto int // the last one that is pruned
			ok   bool
		}{
			{store.EventFilter{}, 700, true}, // which has been written before
			{store.EventFilter{}, 1700, false},
			{store.EventFilter{RequestID: "r0"}, 1900, true}, // of every second
			{store.EventFilter{RequestID: "r0"}, 2300, false},
		} {
			if err := store.Migrate(t.Context(), url, 0); err != nil {
				t.Fatal(err)
			}
			s := open(t, url)
			many(t, url, 3000)
			out := &first{do: func() {
				must(s.PruneEvents(t.Context(), time.Date(2026, 1, 1, test.upto, 30, 0, 0,
					time.UTC), ada))
			}}
			_, err := s.ExportEvents(t.Context(), out, test.f)
			if test.ok != (err == nil) || err != nil && !strings.HasSuffix(err.Error(),
				"the oldest records are being deleted, so the export has a gap: export again afterwards") {
				t.Errorf("%+v: %v", test, err)
			}
		}
	})
}

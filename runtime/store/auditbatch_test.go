package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// A batch is several statements on SQLite, and arrays on PostgreSQL. In pools without prepared
// statements, as PgBouncer's, it is prepared for each batch.
func TestBatchIsKeptInItsOrderWithItsTextAndKeys(t *testing.T) {
	both(t, func(t *testing.T, address string) {
		modes := []string{""}
		if !isSQLite(address) {
			modes = append(modes, "&default_query_exec_mode=exec",
				"&default_query_exec_mode=simple_protocol")
		}
		at := time.Date(1999, 12, 31, 23, 59, 59, 123_456_789, time.FixedZone("east", 3600))
		for m, mode := range modes {
			s := open(t, address+mode)
			for _, n := range []int{1, 2, 7, 31, 256, 300} {
				request := fmt.Sprintf("%d of %d", m, n)
				var events []audit.Event
				for i := range n {
					e := audit.Event{Time: at.AddDate(i, 0, 0), RequestID: request, Total: i,
						Tool: "a\x00\"é<\\\xff", Issuer: strings.Repeat("é", 300),
						Principal: fmt.Sprint("p", i), Client: "NULL", Type: audit.ToolCalled}
					e.End(audit.Denied)
					events = append(events, e)
				}
				for range 2 { // with statements that are prepared
					check(t, s.Audit().(audit.BatchSink).RecordBatch(t.Context(), events))
				}
				rows := must(raw(t, address).Query(`SELECT at, type, status, issuer, principal, client,
					tool, event FROM audit_events WHERE request_id = '` + request + `' ORDER BY id`))
				kept := 0
				for ; rows.Next(); kept++ {
					e := events[kept%n]
					var moment any
					got := make([]string, 7)
					check(t, rows.Scan(&moment, &got[0], &got[1], &got[2], &got[3], &got[4], &got[5],
						&got[6]))
					want := []string{"tool_called", "denied", e.Issuer[:512], e.Principal, e.Client,
						"a\uFFFD\"é<\\\uFFFD", string(must(json.Marshal(e)))}
					micros, ok := moment.(int64)
					if !ok {
						micros = moment.(time.Time).UnixMicro()
					}
					if !slices.Equal(got, want) || micros != e.Time.UnixMicro() {
						t.Fatalf("%s%s: %d\n%q\n%q\n%v", request, mode, kept, got, want, moment)
					}
				}
				check(t, rows.Close())
				if kept != 2*n {
					t.Errorf("%s%s: %d events", request, mode, kept)
				}
			}
		}
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

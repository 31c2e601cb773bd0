package store_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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
			e := audit.Event{Time: longAgo.AddDate(9, 0, 0), Type: audit.ToolCalled,
				RequestID: fmt.Sprint("n", i)}
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
			for _, r := range searched(t, s, test.f, 2) {
				got = append(got, r.RequestID)
				f := test.f
				if old := r.RequestID[0] == 'r' && r.Principal != ""; old != slices.Equal(r.Roles,
					[]string{"Member"}) {
					t.Errorf("%s has the roles %q", r.RequestID, r.Roles)
				}
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

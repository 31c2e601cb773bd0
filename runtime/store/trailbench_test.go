package store_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var trailRows = flag.Int("trail-rows", 10_000,
	"measure pages of audit trails of 10,000 rows and so on, up to this number")

// BenchmarkAuditPage reads a page of 100 events from trails of several sizes. One event in 1,000
// has a rare client and a rare tool, the other ones are by the same principal.
func BenchmarkAuditPage(b *testing.B) {
	const trail = `i, CASE i % 5 WHEN 0 THEN 'tool_list' ELSE 'tool_called' END,
		CASE WHEN i % 4 = 0 THEN 'intent' WHEN i % 10 = 1 THEN 'denied' ELSE 'success' END,
		'r' || (i + 1) / 4, CASE i % 4 WHEN 0 THEN 'user' || i % 1000 ELSE 'agent' END,
		CASE i % 1000 WHEN 1 THEN 'rare' ELSE 'c' || i % 20 END,
		CASE i % 1000 WHEN 1 THEN 'rare' ELSE 't' || i % 100 END`
	for name, engine := range map[string]func(testing.TB) (*testdb.Database, string){
		"sqlite": func(t testing.TB) (*testdb.Database, string) {
			db := testdb.SQLite(t)
			return db, "sqlite:" + db.File
		},
		"postgresql": func(t testing.TB) (*testdb.Database, string) {
			db := testdb.PostgreSQL(t)
			return db, db.URL()
		},
	} {
		for rows := 10_000; rows <= *trailRows; rows *= 10 {
			db, url := engine(b)
			s := hasty(b, open(b, url), url)
			seed(b, db, rows, trail)
			middle := time.Unix(int64(rows/2), 0)
			searches := map[string]store.EventFilter{
				"all":                 {},
				"window":              {From: middle, Until: middle.Add(time.Hour)},
				"empty-window":        {Until: time.Unix(0, 0)},
				"principal":           {Principal: "agent"},
				"principal-in-window": {Principal: "agent", Until: middle},
				"client":              {Client: "rare"},
				"tool":                {Tool: "t7"},
				"type":                {Type: audit.ToolCalled},
				"failed":              {Status: audit.Failed},
				"intent":              {Status: audit.Intent},
				"request":             {RequestID: "r7"},
				"principal+client":    {Principal: "agent", Client: "rare"},
				"principal+tool":      {Principal: "agent", Tool: "rare"},
				"disjoint":            {Principal: "agent", Client: "c8"},
				"four":                {Principal: "agent", Client: "c8", Tool: "t7", Status: audit.Failed},
			}
			for _, search := range slices.Sorted(maps.Keys(searches)) {
				b.Run(fmt.Sprintf("%s/%s/rows=%d", name, search, rows), func(b *testing.B) {
					for b.Loop() {
						must2(s.SearchEvents(b.Context(), searches[search], store.EventPage{}))
					}
				})
			}
		}
	}
}

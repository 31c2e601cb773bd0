package stored_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// populate puts 100 organisations of 10 teams each into an empty store, somebody in each team and
// its organisation, and 10,000 catalogs: each organisation and each team has "kit 1" to "kit 9" of
// 10 tools, and in place of some team's kit 9 each organisation has a "big" one of 1,000 tools.
func populate(b *testing.B, db *sql.DB, now string) {
	b.Helper()
	for _, statement := range []string{
		`INSERT INTO organizations (name, created_at, updated_at) SELECT 'org ' || i, NOW, NOW FROM n WHERE i <= 100`,
		`INSERT INTO teams (org_id, name, created_at, updated_at) SELECT o.id, 'team ' || i, NOW, NOW FROM n, organizations o WHERE i <= 10`,
		`INSERT INTO memberships (org_id, issuer, subject, standing, created_at, updated_at) SELECT org_id, '` + issuer + `', 'member ' || id, 'member', NOW, NOW FROM teams`,
		`INSERT INTO memberships (team_id, issuer, subject, standing, created_at, updated_at) SELECT id, '` + issuer + `', 'member ' || id, 'member', NOW, NOW FROM teams`,
		`INSERT INTO tool_catalogs (name, description, team_id, is_active, created_at, updated_at) SELECT 'kit ' || i, '', t.id, TRUE, NOW, NOW FROM n, teams t WHERE i <= 9 AND NOT (i = 9 AND t.name = 'team 10')`,
		`INSERT INTO tool_catalogs (name, description, org_id, is_active, created_at, updated_at) SELECT 'kit ' || i, '', o.id, TRUE, NOW, NOW FROM n, organizations o WHERE i <= 10`,
		`INSERT INTO tool_catalogs (name, description, org_id, is_active, created_at, updated_at) SELECT 'big', '', o.id, TRUE, NOW, NOW FROM organizations o`,
		`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) SELECT c.id, 'a_tool_of_ordinary_length_' || i, '', NOW FROM n, tool_catalogs c WHERE i <= 10 OR c.name = 'big'`,
	} {
		into, from, _ := strings.Cut(statement, " SELECT ")
		if _, err := db.Exec(into + " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT " + strings.ReplaceAll(from, "NOW", now)); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM tool_catalogs").Scan(&n); err != nil || n != 10_000 {
		b.Fatal(n, err)
	}
	if _, err := db.Exec("ANALYZE"); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkResolve finds a catalog of 10 and of 1,000 tools among 10,000, by its name and by its
// id, for one of a thousand callers. Cold is at another revision each time, warm at the same all
// the time.
func BenchmarkResolve(b *testing.B) {
	for name, engine := range engines {
		b.Run(name, func(b *testing.B) {
			url := engine(b)
			s := open(b, url)
			driver, source, now := "pgx", url, "now()"
			if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
				driver, source, now = "sqlite", file, "1"
			}
			db := must(sql.Open(driver, source))
			db.SetMaxOpenConns(1)
			defer db.Close()
			if driver == "sqlite" {
				must(db.Exec("PRAGMA synchronous = OFF"))
			}
			populate(b, db, now)
			bump := func() { must(db.Exec("UPDATE store_revision SET revision = revision + 1")) }
			for _, size := range []struct {
				name  string
				tools int
			}{{"kit 3", 10}, {"big", 1000}} {
				type question struct {
					caller access.Principal
					ref    catalog.Ref
				}
				ids, names := []question{}, []question{}
				for team := int64(1); team <= 1000; team += 7 {
					t := must(s.Team(b.Context(), store.Anywhere, team))
					org := must(s.Org(b.Context(), t.Org))
					caller := access.Principal{
						Issuer: issuer, Subject: fmt.Sprint("member ", team),
						Orgs: []access.Membership{{Name: org.Name}}, Teams: []access.Membership{{Name: t.Name}},
					}
					found := must(stored.New(s, stored.Stored).Catalog(b.Context(), caller, catalog.Ref{Name: size.name}))
					names, ids = append(names, question{caller, catalog.Ref{Name: size.name}}), append(ids, question{caller, catalog.Ref{ID: found.ID}})
				}
				for by, questions := range map[string][]question{"name": names, "id": ids} {
					for kind, memberships := range map[string]stored.Memberships{"stored": stored.Stored, "claimed": stored.Claimed(issuer)} {
						for _, state := range []string{"cold", "warm"} {
							b.Run(fmt.Sprintf("%d/%s/%s/%s", size.tools, by, kind, state), func(b *testing.B) {
								r := stored.New(s, memberships)
								ask := func(q question) {
									if got := must(r.Catalog(b.Context(), q.caller, q.ref)); len(got.Tools) != size.tools {
										b.Fatal(got)
									}
								}
								for _, q := range questions {
									ask(q)
								}
								b.ReportAllocs()
								var took []time.Duration
								for i := 0; b.Loop(); i++ {
									if state == "cold" {
										bump()
									}
									start := b.Elapsed()
									ask(questions[i%len(questions)])
									took = append(took, b.Elapsed()-start)
								}
								report(b, took)
							})
						}
					}
				}
			}
		})
	}
}

// report is of what was measured alone, without what was done in between.
func report(b *testing.B, took []time.Duration) {
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	slices.SortFunc(took, cmp.Compare[time.Duration])
	at := func(percent int) float64 { return float64(took[len(took)*percent/100].Nanoseconds()) / 1000 }
	b.ReportMetric(float64(sum.Nanoseconds())/float64(len(took)), "ns/op")
	b.ReportMetric(at(50), "p50-us")
	b.ReportMetric(at(99), "p99-us")
}

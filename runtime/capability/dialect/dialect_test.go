package dialect_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

func TestNamesAndParametersAreTakenByTheEngines(t *testing.T) {
	for d, open := range map[dialect.Dialect]func(testing.TB) *testdb.Database{dialect.SQLite: testdb.SQLite, dialect.PostgreSQL: testdb.PostgreSQL} {
		t.Run(d.String(), func(t *testing.T) {
			db := open(t)
			for _, name := range []string{"plain", "Upper", "two words", `a "quoted" one`, "semi;colon -- x", "größe"} {
				quoted := dialect.Quote(name)
				if _, err := db.Exec("CREATE TABLE " + quoted + " (" + quoted + " text); INSERT INTO " + quoted + " VALUES ('x')"); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				var got string
				if err := db.QueryRow("SELECT "+quoted+" FROM "+quoted+" WHERE "+quoted+" = "+d.First(), "x").Scan(&got); err != nil || got != "x" {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
		})
	}
}

func TestZeroDialectIsNone(t *testing.T) {
	var d dialect.Dialect
	if d.Known() || d.String() != "no engine" || !dialect.SQLite.Known() || !dialect.PostgreSQL.Known() {
		t.Error(d)
	}
}

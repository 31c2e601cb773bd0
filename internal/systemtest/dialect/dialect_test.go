package dialect_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
)

func TestNamesAndParametersAreTakenByTheEngines(t *testing.T) {
	for d, open := range map[dialect.Dialect]func(testing.TB) *testdb.Database{
		dialect.SQLite: testdb.SQLite, dialect.PostgreSQL: testdb.PostgreSQL,
	} {
		t.Run(d.String(), func(t *testing.T) {
			db := open(t)
			for _, name := range []string{"plain", "Upper", "two words", `a "quoted" one`,
				"semi;colon -- x", "größe"} {
				quoted := hostcheck.Quote(name)
				if _, err := db.Exec("CREATE TABLE " + quoted + " (" + quoted + " text); INSERT INTO " +
					quoted + " VALUES ('x')"); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				var got string
				if err := db.QueryRow("SELECT "+quoted+" FROM "+quoted+" WHERE "+quoted+" = "+d.First(),
					"x").Scan(&got); err != nil || got != "x" {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
		})
	}
}

func TestZeroDialectIsNone(t *testing.T) {
	var d dialect.Dialect
	if d.Known() || d.String() != "no engine" || !dialect.SQLite.Known() ||
		!dialect.PostgreSQL.Known() {
		t.Error(d)
	}
}

// MySQLDriver has the name of the driver that programs use for MySQL and MariaDB.
type MySQLDriver struct{}

var errNoServer = errors.New("no server")

func (MySQLDriver) Open(string) (driver.Conn, error)             { return nil, errNoServer }
func (MySQLDriver) Connect(context.Context) (driver.Conn, error) { return nil, errNoServer }
func (d MySQLDriver) Driver() driver.Driver                      { return d }

func TestAdaptersRefuseMySQL(t *testing.T) {
	db := sql.OpenDB(MySQLDriver{})
	defer db.Close()
	const refused = ": the driver dialect_test.MySQLDriver is for MySQL, which is not supported"
	for _, d := range []dialect.Dialect{dialect.PostgreSQL, dialect.SQLite} {
		_, ofDjango := django.New(db, d, django.Options{})
		_, ofNetBox := objectperm.New(db, d, objectperm.NetBox(), objectperm.Options{})
		for adapter, err := range map[string]error{"django": ofDjango, "objectperm": ofNetBox} {
			if err == nil || !strings.HasPrefix(err.Error(), adapter+refused) {
				t.Errorf("%s on %s: %v", adapter, d, err)
			}
		}
	}
	if err := hostcheck.CheckDriver(testdb.SQLite(t).DB); err != nil {
		t.Error(err)
	}
}

package testdb_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
)

func TestAccountMayDoWhatItWasGrantedAndNoMore(t *testing.T) {
	db := testdb.PostgreSQL(t)
	if _, err := db.Exec("CREATE TABLE user_of (id integer, secret text)"); err != nil {
		t.Fatal(err)
	}
	name, reader := db.Account(t)
	may := func(column string) bool {
		t.Helper()
		_, err := reader.Exec("SELECT " + column + " FROM user_of")
		if err != nil && !strings.Contains(err.Error(), "permission denied for table user_of") {
			t.Fatal(err)
		}
		return err == nil
	}
	one, all := testdb.Right{Table: "user_of", Column: "id"}, testdb.Right{Table: "user_of"}
	for _, step := range []struct {
		statement  string
		id, secret bool
	}{
		{"SELECT 1", false, false},
		{one.Grant(name), true, false},
		{one.Revoke(name), false, false},
		{all.Grant(name), true, true},
		{all.Revoke(name), false, false},
	} {
		if _, err := db.Exec(step.statement); err != nil {
			t.Fatal(err)
		}
		if id, secret := may("id"), may("secret"); id != step.id || secret != step.secret {
			t.Errorf("after %s: %v, %v", step.statement, id, secret)
		}
	}
}

func TestRightsAreReadFromMarkdownAndGo(t *testing.T) {
	want := []testdb.Right{{Table: "u", Column: "id"}, {Table: "u", Column: "name"}, {Table: "a"},
		{Table: "b"}}
	for _, text := range []string{
		"GRANT SELECT ON no TO mcp_reader;\n-- here\nGRANT SELECT (id, name) ON u TO mcp_reader;\n" +
			"GRANT SELECT ON a,\n\tb TO mcp_reader;\nGRANT SELECT ON c TO mcp_reader;\n",
		"// -- here\n//\n//\tGRANT SELECT (id, name) ON u TO mcp_reader;\n//\tGRANT SELECT ON a,\n" +
			"//\t\tb TO mcp_reader;\npackage x\n",
	} {
		file := filepath.Join(t.TempDir(), "document")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := testdb.Documented(t, file, "-- here\n"); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	}
}

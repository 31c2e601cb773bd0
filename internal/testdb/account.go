package testdb

import (
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Account makes an account of PostgreSQL that may do no more than everybody, and opens the database
// as it.
func (d *Database) Account(t testing.TB) (name string, db *sql.DB) {
	t.Helper()
	name = "reader_" + d.Name
	if _, err := d.Exec("CREATE ROLE " + name + " LOGIN"); err != nil {
		t.Fatal(err)
	}
	source := fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable",
		d.Host, d.Port, name, d.Name)
	db, err := sql.Open(d.Driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return name, db
}

// Right is to select from one table, or one column of it.
type Right struct{ Table, Column string }

// Grant is the statement that gives an account the right.
func (r Right) Grant(account string) string { return "GRANT " + r.on() + " TO " + account }

// Revoke is the statement that takes it back.
func (r Right) Revoke(account string) string { return "REVOKE " + r.on() + " FROM " + account }

func (r Right) on() string {
	if r.Column != "" {
		return "SELECT (" + r.Column + ") ON " + r.Table
	}
	return "SELECT ON " + r.Table
}

var (
	comments = regexp.MustCompile(`(?m)^//\s*`)
	granting = regexp.MustCompile(`GRANT SELECT (?:\(([^)]*)\) )?ON ([^;]*?)\s+TO mcp_reader;`)
)

// Documented are the rights that a document, Markdown or Go, gives the account mcp_reader by the
// two statements that follow a text in it: columns of the table of users, and other tables.
func Documented(t testing.TB, document, after string) []Right {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), after)
	statements := granting.FindAllStringSubmatch(comments.ReplaceAllString(rest, ""), 2)
	if !found || len(statements) != 2 {
		t.Fatalf("%s has %d statements after %q", document, len(statements), after)
	}
	var rights []Right
	for _, s := range statements {
		for table := range strings.SplitSeq(s[2], ",") {
			for column := range strings.SplitSeq(s[1], ",") {
				rights = append(rights, Right{strings.TrimSpace(table), strings.TrimSpace(column)})
			}
		}
	}
	return rights
}

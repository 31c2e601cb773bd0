package directory

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
)

// Open opens the directory of a team in a SQLite file, and creates a missing file. The program
// imports the driver with the name sqlite. The caller closes the directory.
//
//mcp:ignore reason="opens the service, before there are callers"
func Open(ctx context.Context, team, file string) (*Directory, error) {
	source := url.URL{Scheme: "file", Opaque: url.PathEscape(file),
		RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)"}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("team directory %s: %w", file, err)
	}
	const schema = `CREATE TABLE IF NOT EXISTS people (
		id     INTEGER PRIMARY KEY,
		name   TEXT NOT NULL,
		email  TEXT NOT NULL,
		rank   TEXT NOT NULL CHECK (rank IN ('member', 'manager')),
		joined TEXT NOT NULL,
		salary INTEGER
	)`
	if _, err := db.ExecContext(ctx, schema); err != nil {
		db.Close()
		return nil, fmt.Errorf("team directory %s: %w", file, err)
	}
	return &Directory{team: team, db: db}, nil
}

// Close closes the file.
func (d *Directory) Close() error { return d.db.Close() }

package dcim

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
)

const schema = `
CREATE TABLE IF NOT EXISTS device (
	name TEXT PRIMARY KEY, site TEXT NOT NULL, role TEXT NOT NULL,
	status TEXT NOT NULL CHECK (status IN ('active', 'planned', 'offline'))
);
CREATE TABLE IF NOT EXISTS dns_record (
	id INTEGER PRIMARY KEY, zone TEXT NOT NULL, name TEXT NOT NULL,
	type TEXT NOT NULL CHECK (type IN ('A', 'AAAA', 'CNAME')), value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS ip_address (
	id INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE,
	device TEXT REFERENCES device ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS facts (
	device TEXT PRIMARY KEY REFERENCES device ON UPDATE CASCADE ON DELETE CASCADE,
	vendor TEXT NOT NULL, model TEXT NOT NULL, os_version TEXT NOT NULL, uptime INTEGER NOT NULL
);`

const demonstration = `
INSERT OR IGNORE INTO device VALUES
	('edge-1', 'berlin', 'router', 'active'), ('edge-2', 'oslo', 'router', 'active'),
	('leaf-1', 'berlin', 'switch', 'active'), ('leaf-2', 'oslo', 'switch', 'planned');
INSERT OR IGNORE INTO dns_record VALUES
	(1, 'example.net', 'edge-1', 'A', '192.0.2.1'),
	(2, 'example.net', 'edge-two', 'A', '192.0.2.2'),
	(3, 'example.net', 'www', 'CNAME', 'edge-1.example.net'),
	(4, 'example.net', 'old', 'A', '192.0.2.9');
INSERT OR IGNORE INTO ip_address VALUES
	(1, '192.0.2.1', 'edge-1'), (2, '192.0.2.2', 'edge-2'), (3, '192.0.2.3', NULL);
INSERT OR IGNORE INTO facts VALUES
	('edge-1', 'Example', 'R1', '7.4', 86400), ('edge-2', 'Example', 'R1', '7.2', 3600);`

// Source returns the data source name of a SQLite file.
func Source(file, parameters string) string {
	source := url.URL{Scheme: "file", Opaque: url.PathEscape(file),
		RawQuery: "_pragma=busy_timeout(5000)&" + parameters}
	return source.String()
}

// Open opens the inventory in a SQLite file, and creates a missing file. The caller closes it.
//
//mcp:ignore reason="opens the service, before there are callers"
func Open(ctx context.Context, file string) (*Inventory, error) {
	// A transaction locks the file for writing when it begins. SQLite does not wait for a lock that
	// a transaction requests later.
	db, err := sql.Open("sqlite",
		Source(file, "_pragma=journal_mode(wal)&_pragma=foreign_keys(1)&_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("inventory %s: %w", file, err)
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		db.Close()
		return nil, fmt.Errorf("inventory %s: %w", file, err)
	}
	return &Inventory{db}, nil
}

// Demonstrate adds a few devices, records and addresses, unless they exist.
//
//mcp:ignore reason="fills the service, before there are callers"
func (i *Inventory) Demonstrate(ctx context.Context) error {
	_, err := i.db.ExecContext(ctx, demonstration)
	return err
}

// Close closes the file.
func (i *Inventory) Close() error { return i.db.Close() }

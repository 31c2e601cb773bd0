package migrate

import (
	"context"
	"database/sql/driver"
)

// IndexesSince is the version from which the indexes of [Indexes] exist.
const IndexesSince = 10

// Index is an index of audit_events that is made while servers write to the table.
type Index struct {
	Name     string
	Column   string // before the time and the id, which end each index; empty for the time alone
	Where    string // the condition of a partial index, or empty
	Replaces string // the index of earlier versions, which is dropped afterwards
}

// Indexes are the indexes of audit_events besides its primary key. Each has the rows of a filter in
// the order of a search. Rows without a principal, a client or a tool have no entry: a search
// cannot select them.
var Indexes = []Index{
	{"audit_events_by_time", "", "", "audit_events_at"},
	{"audit_events_by_principal", "principal", "principal <> ''", "audit_events_principal"},
	{"audit_events_by_client", "client", "client <> ''", "audit_events_client"},
	{"audit_events_by_tool", "tool", "tool <> ''", "audit_events_tool"},
	{"audit_events_by_type", "type", "", "audit_events_type"},
	{"audit_events_by_status", "status", "", "audit_events_status"},
	{"audit_events_by_request", "request_id", "", "audit_events_request"},
}

// Create returns the statement that makes the index. how follows CREATE INDEX, and key is the rest
// of each key.
func (i Index) Create(how, key string) string {
	if i.Column != "" {
		key = i.Column + ", " + key
	}
	text := "CREATE INDEX " + how + " " + i.Name + " ON audit_events (" + key + ")"
	if i.Where != "" {
		text += " WHERE " + i.Where
	}
	return text
}

// Each calls do for each index of a database of a version.
func Each(ctx context.Context, version int64, do func(Index) error) error {
	if version < IndexesSince {
		return nil
	}
	for _, i := range Indexes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// Exists reports whether a query has a row.
func Exists(ctx context.Context, c driver.Conn, query string) (bool, error) {
	text, err := Text(ctx, c, "SELECT EXISTS ("+query+")")
	return text == "1" || text == "true", err
}

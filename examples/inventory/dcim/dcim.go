// Package dcim is an inventory of devices, DNS records and addresses kept in a SQLite file. What a
// caller may do with it is up to the host whose permissions are projected onto its tools.
//
//mcp:server name=inventory version=1.4.0 title="Inventory" app=dcim
//mcp:roles Viewer < Member < Manager < Admin
//mcp:default authenticated
package dcim

//go:generate go tool mcpgen

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Inventory answers the calls. Its methods are safe for concurrent use.
type Inventory struct{ db *sql.DB }

var (
	// ErrNotFound says that there is nothing of the name or number asked for, or nothing that
	// is the caller's to work on.
	ErrNotFound = errors.New("not found")
	// ErrTaken says that something else has the name already.
	ErrTaken = errors.New("the name is taken")
)

// row is what one row of a table is read from.
type row interface{ Scan(...any) error }

// one reads the only row of a query.
func one[T any](r row, scan func(row) (T, error)) (T, error) {
	v, err := scan(r)
	return v, told(err)
}

// all reads the rows of a query. None is an empty list.
func all[T any](ctx context.Context, db *sql.DB, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// remove deletes the row that a statement names.
func (i *Inventory) remove(ctx context.Context, statement string, args ...any) error {
	res, err := i.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return told(err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// told is an error in words for the caller.
func told(err error) error {
	var of *sqlite.Error
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case errors.As(err, &of) && (of.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || of.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
		return ErrTaken
	case errors.As(err, &of) && of.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fmt.Errorf("%w: a device that is named", ErrNotFound)
	}
	return err
}

// Report is what [Inventory.CheckReferences] found.
type Report struct {
	// Devices, Records and Addresses are how many there are.
	Devices   int `json:"devices"`
	Records   int `json:"records"`
	Addresses int `json:"addresses"`
	// Unnamed are the addresses of DNS records that no device has.
	Unnamed []string `json:"unnamed"`
}

// CheckReferences counts everything, and lists the addresses that DNS records point to and no device
// has. It looks after the inventory's own file: no permission of the host is about that.
//
//mcp:tool minrole=Manager action=none readonly
func (i *Inventory) CheckReferences(ctx context.Context) (Report, error) {
	var r Report
	err := i.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM device), (SELECT count(*) FROM dns_record), (SELECT count(*) FROM ip_address)`).
		Scan(&r.Devices, &r.Records, &r.Addresses)
	if err != nil {
		return Report{}, err
	}
	r.Unnamed, err = all(ctx, i.db, func(r row) (s string, err error) { return s, r.Scan(&s) }, `
		SELECT DISTINCT value FROM dns_record
		WHERE type IN ('A', 'AAAA') AND value NOT IN (SELECT address FROM ip_address WHERE device <> '') ORDER BY value`)
	return r, err
}

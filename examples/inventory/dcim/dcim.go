// Package dcim is an inventory of devices, DNS records and addresses in a SQLite file. The
// permissions of a host decide which tools a caller may use.
//
//mcp:server name=inventory version=1.4.0 title="Inventory" app=dcim optional=null
//mcp:roles Viewer < Member < Manager < Admin
//mcp:default authenticated facts=private
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

// Inventory runs the calls. Its methods are safe for concurrent use.
type Inventory struct{ db *sql.DB }

var (
	// ErrNotFound is the error if no row has the name or number, or none that the caller's
	// permission covers.
	ErrNotFound = errors.New("not found")
	// ErrTaken is the error if another row has the name.
	ErrTaken = errors.New("the name is taken")
)

// row is a row of a result.
type row interface{ Scan(...any) error }

// one reads the only row of a query.
func one[T any](r row, scan func(row) (T, error)) (T, error) {
	v, err := scan(r)
	return v, translate(err)
}

// all reads the rows of a query. Without rows the list is empty, not nil.
func all[T any](ctx context.Context, db *sql.DB, scan func(row) (T, error), query string,
	args ...any) ([]T, error) {
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
		return translate(err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// translate returns the error for the caller.
func translate(err error) error {
	var of *sqlite.Error
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case errors.As(err, &of) && (of.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE ||
		of.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
		return ErrTaken
	case errors.As(err, &of) && of.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fmt.Errorf("%w: the device", ErrNotFound)
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

// CheckReferences counts all rows. It lists the addresses that DNS records point to and that no
// device has. No permission of the host covers it.
//
//mcp:tool minrole=Manager action=none readonly
func (i *Inventory) CheckReferences(ctx context.Context) (Report, error) {
	var r Report
	err := i.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM device),
		(SELECT count(*) FROM dns_record), (SELECT count(*) FROM ip_address)`).
		Scan(&r.Devices, &r.Records, &r.Addresses)
	if err != nil {
		return Report{}, err
	}
	r.Unnamed, err = all(ctx, i.db, func(r row) (s string, err error) { return s, r.Scan(&s) }, `
		SELECT DISTINCT value FROM dns_record WHERE type IN ('A', 'AAAA') AND value NOT IN
		(SELECT address FROM ip_address WHERE device <> '') ORDER BY value`)
	return r, err
}

package migrate

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// Execute runs a statement without parameters on a connection of one of the drivers.
func Execute(ctx context.Context, c driver.Conn, statement string) error {
	_, err := c.(driver.ExecerContext).ExecContext(ctx, statement, nil)
	return err
}

// Text returns the first column of the first row of a query, and io.EOF without a row.
func Text(ctx context.Context, c driver.Conn, query string) (string, error) {
	rows, err := c.(driver.QueryerContext).QueryContext(ctx, query, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil {
		return "", err
	}
	return fmt.Sprint(row[0]), nil
}

// held gives database/sql one connection, which is always in a transaction: further transactions
// are savepoints in it. As its own connector it returns only itself, so that a broken connection is
// not replaced by one without the lock.
type held struct {
	driver.Conn
	failed func(error) // called for each statement that fails
}

func (h *held) Connect(context.Context) (driver.Conn, error) { return h, nil }

func (h *held) Driver() driver.Driver { return heldDriver{} }

// Close does nothing: the caller of the migration closes the connection.
func (h *held) Close() error { return nil }

func (h *held) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if err := Execute(ctx, h.Conn, "SAVEPOINT migration"); err != nil {
		return nil, err
	}
	return savepoint{h.Conn}, nil
}

func (h *held) ExecContext(ctx context.Context, statement string,
	args []driver.NamedValue) (driver.Result, error) {
	result, err := h.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
	if err != nil {
		h.failed(err)
	}
	return result, err
}

func (h *held) QueryContext(ctx context.Context, query string,
	args []driver.NamedValue) (driver.Rows, error) {
	rows, err := h.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		h.failed(err)
	}
	return rows, err
}

// savepoint ends without a context, as in [driver.Tx]. The time limit of end is enough for it.
type savepoint struct{ driver.Conn }

func (s savepoint) Commit() error { return s.end("RELEASE SAVEPOINT migration") }

func (s savepoint) Rollback() error {
	return s.end("ROLLBACK TO SAVEPOINT migration", "RELEASE SAVEPOINT migration")
}

func (s savepoint) end(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, statement := range statements {
		if err := Execute(ctx, s.Conn, statement); err != nil {
			return err
		}
	}
	return nil
}

// heldDriver opens no connection: database/sql requires a connector to return a driver.
type heldDriver struct{}

func (heldDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("store: a migration uses one connection")
}

package store

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// execute runs a statement without parameters on a connection of one of the engines' drivers.
func execute(ctx context.Context, c driver.Conn, statement string) error {
	_, err := c.(driver.ExecerContext).ExecContext(ctx, statement, nil)
	return err
}

// text is the first column of the first row that a query gives, and io.EOF if it gives none.
func text(ctx context.Context, c driver.Conn, query string) (string, error) {
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

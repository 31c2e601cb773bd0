package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// Array is an array as a parameter, in PostgreSQL's binary format: a dimension from 1 on without
// nulls, and the length and the bytes of each element (PostgreSQL's array_recv).
type Array []byte

// Texts begins an array of so many texts in the memory of an old one.
func Texts(old Array, n int) Array { return begun(old, pgtype.TextOID, n) }

// Times begins an array of so many times.
func Times(old Array, n int) Array { return begun(old, pgtype.TimestamptzOID, n) }

func begun(old Array, oid uint32, n int) Array {
	a := old[:0]
	for _, field := range []uint32{1, 0, oid, uint32(n), 1} {
		a = binary.BigEndian.AppendUint32(a, field)
	}
	return a
}

// AppendText appends a text, which is valid UTF-8 without NUL.
func AppendText[T string | []byte](a Array, text T) Array {
	return append(binary.BigEndian.AppendUint32(a, uint32(len(text))), text...)
}

// AppendTime appends a time, to the microsecond. PostgreSQL counts from 2000 on.
func (a Array) AppendTime(t time.Time) Array {
	const from = 946_684_800
	micros := (t.Unix()-from)*1_000_000 + int64(t.Nanosecond())/1000
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(a, 8), uint64(micros))
}

// attempts is how often a statement is tried if its connection ended before the statement was sent.
const attempts = 3

// Execute executes a statement with arrays as its parameters. It prepares the statement once on
// each connection, unless default_query_exec_mode in the URL excludes that.
func (d *Database) Execute(ctx context.Context, db *sql.DB, statement string,
	arrays [][]byte) (err error) {
	for range attempts {
		if err = d.execute(ctx, db, statement, arrays); !pgconn.SafeToRetry(err) {
			break
		}
	}
	return err
}

func (d *Database) execute(ctx context.Context, db *sql.DB, statement string,
	arrays [][]byte) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close() // to the pool
	var failed error
	err = c.Raw(func(c any) error {
		failed = d.send(ctx, c.(*stdlib.Conn).Conn(), statement, arrays)
		if c.(*stdlib.Conn).Conn().IsClosed() {
			return driver.ErrBadConn // the pool drops it
		}
		return nil
	})
	if failed != nil {
		return failed
	}
	return err
}

func (d *Database) send(ctx context.Context, c *pgx.Conn, statement string,
	arrays [][]byte) error {
	binary := []int16{pgx.BinaryFormatCode}
	if d.config.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		_, err := c.PgConn().ExecParams(ctx, statement, arrays, nil, binary, nil).Close()
		return err
	}
	prepared, err := c.Prepare(ctx, statement, statement)
	if err != nil {
		return err
	}
	_, err = c.PgConn().ExecPrepared(ctx, prepared.Name, arrays, binary, nil).Close()
	return err
}

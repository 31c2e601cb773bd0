package front

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// RetryAfter is the Retry-After header of responses with status 503, in seconds.
const RetryAfter = "5"

// Outage returns the message for a temporary error: a request without a response in time, or
// without a database that can do it. It is empty for other errors. reads is true if the request
// writes nothing.
func Outage(ctx context.Context, err error, reads bool) string {
	text, undone := outage(err)
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled) {
		text = "no response in time: try again"
	}
	switch {
	case text == "":
		return ""
	case reads || undone:
		return text + "; nothing was changed"
	}
	return text + "; the change may have been made: check before you send it again"
}

const (
	silent     = "the database does not respond: try again"
	readOnly   = "the database is read-only: try again later"
	full       = "the disk of the database is full: try again later"
	unwritable = "the database accepts no changes: try again later" // as without its file
)

// outage describes the error of a database that is not available, and reports whether the change
// was certainly not made. The drivers' own types are not looked for, so that this holds for
// whatever store there is.
func outage(err error) (text string, undone bool) {
	var network *net.OpError
	var retryable interface{ SafeToRetry() bool } // as pgx reports it
	undone = errors.Is(err, store.ErrClosed) || errors.As(err, &network) && network.Op == "dial" ||
		errors.As(err, &retryable) && retryable.SafeToRetry()
	var state interface{ SQLState() string }
	var result interface {
		error
		Code() int
	}
	switch {
	case errors.As(err, &state):
		return postgres(state.SQLState(), undone)
	case errors.As(err, &result) && sqlite[result.Code()&0xff] != "": // extended codes have more bits
		// SQLITE_READONLY_DBMOVED, and a file that was deleted, moved or replaced
		if code := result.Code(); code == 8|4<<8 || code == 14 && errors.Is(err, store.ErrUnwritable) {
			return unwritable, true
		}
		return sqlite[result.Code()&0xff], result.Code()&0xff != 10
	case errors.Is(err, store.ErrUnwritable):
		return unwritable, undone
	case undone, network != nil:
		return silent, undone
	}
	for _, gone := range []error{driver.ErrBadConn, sql.ErrConnDone, io.ErrUnexpectedEOF,
		net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return silent, undone
		}
	}
	return "", undone
}

// sqlite are the result codes of an SQLite database that is not available. With all of them but
// SQLITE_IOERR the transaction is rolled back.
var sqlite = map[int]string{
	5:  silent,   // SQLITE_BUSY
	6:  silent,   // SQLITE_LOCKED
	8:  readOnly, // SQLITE_READONLY
	10: silent,   // SQLITE_IOERR
	13: full,     // SQLITE_FULL
	14: silent,   // SQLITE_CANTOPEN
}

// postgres is outage for an SQLSTATE (PostgreSQL, appendix A).
func postgres(state string, undone bool) (string, bool) {
	switch {
	case state == "25006": // read_only_sql_transaction
		return readOnly, true
	case state == "53100": // disk_full
		return full, true
	case strings.HasPrefix(state, "08"), strings.HasPrefix(state, "58"), // connection, system
		strings.HasPrefix(state, "57P"): // a server that starts or ends
		return silent, undone
	}
	switch state[:min(2, len(state))] {
	case "28", "3D", // who connects, and to which database
		"40", "53", "55": // rolled back, no memory or connection, a lock
		return silent, true
	}
	return "", undone
}

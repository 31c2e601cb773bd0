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

// Outage returns the message for a temporary error: a request without a response in time, or
// without a database. It is empty for other errors. reads is true if the request writes nothing.
func Outage(ctx context.Context, err error, reads bool) string {
	outcome := "a change may have been made or not: look before you send it again"
	if reads || unsent(err) {
		outcome = "nothing was changed"
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "no answer in time: try again; " + outcome
	case silent(err):
		return "the database does not answer: try again; " + outcome
	}
	return ""
}

// silent reports whether an error says that the database could not be reached, or went away. The drivers' own types are
// not looked for, so that this holds for whatever store there is.
func silent(err error) bool {
	var network *net.OpError
	var state interface{ SQLState() string }
	switch {
	case errors.As(err, &state):
		// 08 is of connections, 57P of a server that starts or ends, 53300 of one with no room (PostgreSQL, appendix A).
		code := state.SQLState()
		return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P") || code == "53300"
	case errors.As(err, &network), unsent(err):
		return true
	}
	for _, gone := range []error{driver.ErrBadConn, sql.ErrConnDone, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// unsent reports whether nothing can have come of what was asked of the database.
func unsent(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return true
	}
	var retryable interface{ SafeToRetry() bool } // as pgx says it
	return errors.As(err, &retryable) && retryable.SafeToRetry() || busy(err) || errors.Is(err, store.ErrClosed)
}

// busy reports whether a writer of another process has kept an SQLite file for longer than the store waits: SQLITE_BUSY
// and SQLITE_LOCKED, in their extended forms too. The transaction is then rolled back.
func busy(err error) bool {
	var result interface {
		error
		Code() int
	}
	return errors.As(err, &result) && (result.Code()&0xff == 5 || result.Code()&0xff == 6)
}

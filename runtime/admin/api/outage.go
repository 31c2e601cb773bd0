package api

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// silent reports whether an error says that the database could not be reached, or went away: what time mends, and no
// other request. The drivers' own types are not looked for, so that this holds for whatever store there is.
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

// unsent reports whether nothing can have reached the database.
func unsent(err error) bool {
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return true
	}
	var retryable interface{ SafeToRetry() bool } // as pgx says it
	return errors.As(err, &retryable) && retryable.SafeToRetry()
}

// outcome says what came of a request that the database did not answer.
func (r *request) outcome(err error) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || unsent(err) {
		return "nothing was changed"
	}
	return "a change may have been made or not: look before you send it again"
}

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

var (
	// ErrNotFound reports an item that the scope does not contain. An item of another scope gives
	// the same error, with the same text.
	ErrNotFound = errors.New("not found")
	// ErrExists reports a name that its scope already has, or an entry or a member that exists.
	ErrExists = errors.New("exists already")
	// ErrConflict reports an item that has changed since the caller's version. Read it again.
	ErrConflict = errors.New("changed since it was read: read it again")
	// ErrLimit reports that a place has its maximum number of items: see [MaxEntries] and the other
	// limits. The error names the limit.
	ErrLimit = errors.New("is the most")
	// ErrInvalid reports a name, a standing, a scope, a version or a URL that is not valid. Errors
	// of this kind have a text of their own: use [errors.Is].
	ErrInvalid = errors.New("not valid")
	// ErrUnwritable reports a database that accepts no changes: its disk is full, it is read-only,
	// or its file was deleted or moved. [Store.Ping] returns such an error as long as that lasts.
	ErrUnwritable = errors.New("the database is read-only")
	// ErrNewer reports a database that a newer program has migrated.
	ErrNewer = errors.New("the database is newer than this program")
	// ErrClosed reports a use of the store after [Store.Close].
	ErrClosed = errors.New("the store is closed")
)

// fault is what an engine says, in the words of neither.
type fault int

const (
	other      fault = iota
	taken            // a unique key
	orphan           // a foreign key
	again            // a deadlock or a failed serialisation: the same again may well work
	blocked          // by another transaction, for too long
	unfit            // a value that the database does not take
	occupied         // another table has the name
	forbidden        // to make tables, or to use them
	unwritable       // the database, at the moment: it is full, may only be read, or is gone
)

// explain wraps an error of the database with what was being done and, where it is known, the cure.
// The end of the context comes first: drivers say it in words of their own.
func (e *engine) explain(ctx context.Context, doing string, err error) error {
	// database/sql exports no such error.
	if strings.HasSuffix(err.Error(), "sql: database is closed") {
		err = ErrClosed
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("store: %s: %w (%v)", doing, ended, err)
	}
	cured := e.cured(err)
	if e.fault(err) == unwritable {
		cured = unwritableError{cured}
	}
	return fmt.Errorf("store: %s: %w", doing, cured)
}

// unwritableError is an [ErrUnwritable] with the text of its cause.
type unwritableError struct{ error }

func (e unwritableError) Is(target error) bool { return target == ErrUnwritable }

func (e unwritableError) Unwrap() error { return e.error }

// notValid is an [ErrInvalid] that says what is wrong and what to do, and ends with that.
type notValid string

func (e notValid) Error() string { return string(e) }

func (e notValid) Is(target error) bool { return target == ErrInvalid }

func wrong(format string, args ...any) error { return notValid(fmt.Sprintf(format, args...)) }

// known reports whether an error is one of this package's, which needs no further words.
func known(err error) bool {
	for _, own := range []error{
		ErrNotFound, ErrExists, ErrConflict, ErrLimit, ErrInvalid,
		grant.ErrUnknown, grant.ErrDecided, grant.ErrTooMany, grant.ErrInvalid, grant.ErrFull,
	} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

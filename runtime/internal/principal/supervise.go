package principal

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

type result[T any] struct {
	value T
	err   error
}

var errCrashed = errors.New("the adapter panicked or ended its goroutine")

// Supervise calls an adapter on a worker until ctx ends: then the error is [worker.ErrNoResponse].
// It masks the text of other errors, because a driver's may contain how its database is reached.
func Supervise[T any](ctx context.Context, pool *worker.Pool, mask redact.Masker,
	call func() (T, error)) (T, error) {
	do := func(context.Context) (r result[T]) {
		if r.value, r.err = call(); r.err != nil {
			r.err = masked(mask, r.err) // here, because the error's methods may panic
		}
		return r
	}
	out := worker.Run(pool, worker.Job[result[T]]{Context: ctx, Do: do})
	if out.Abandoned {
		out.Value.err = worker.ErrNoResponse
	} else if out.Crash != nil {
		text := mask.Text(out.Crash.Error())
		out.Value.err = maskedError{text: text, is: []error{errCrashed}}
	}
	return out.Value.value, out.Value.err
}

// maskedError is the masked text of an error, and which known errors it is.
type maskedError struct {
	text string
	is   []error
}

func masked(mask redact.Masker, err error) error {
	known := []error{
		capability.ErrNoUser, catalog.ErrUnknown, catalog.ErrClosed, errors.ErrUnsupported,
		context.Canceled, context.DeadlineExceeded,
	}
	other := func(target error) bool { return !errors.Is(err, target) }
	text := mask.Text(err.Error())
	m := maskedError{text: text, is: slices.DeleteFunc(known, other)}
	if misconfigured(err, text) {
		return capability.Misconfigured(m)
	}
	return m
}

// misconfigured reports whether an adapter marks an error as a [capability.ConfigurationError], or
// a driver returns it for a table, column, account or grant that is missing: PostgreSQL's in the
// classes of SQLSTATE (appendix A), and SQLite's by its text.
func misconfigured(err error, text string) bool {
	var sql interface{ SQLState() string }
	switch {
	case errors.As(err, new(*capability.ConfigurationError)):
		return true
	case errors.As(err, &sql):
		class := sql.SQLState()
		return len(class) == 5 && slices.Contains([]string{"28", "3D", "3F", "42"}, class[:2])
	}
	return strings.Contains(text, "no such table: ") || strings.Contains(text, "no such column: ")
}

func (e maskedError) Error() string        { return e.text }
func (e maskedError) Is(target error) bool { return slices.Contains(e.is, target) }

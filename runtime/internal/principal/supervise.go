package principal

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

type result[T any] struct {
	value T
	err   error
}

// Supervise calls an adapter on a worker until ctx ends: then the error is [worker.ErrNoAnswer]. It
// masks the text of other errors, because a driver's may contain how its database is reached.
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
		out.Value.err = worker.ErrNoAnswer
	} else if out.Crash != nil {
		out.Value.err = errors.New(mask.Text(out.Crash.Error()))
	}
	return out.Value.value, out.Value.err
}

// maskedError is the masked text of an error, and which known errors it is.
type maskedError struct {
	text string
	is   []error
}

func masked(mask redact.Masker, err error) error {
	known := []error{capability.ErrNoUser, catalog.ErrUnknown, catalog.ErrClosed, errors.ErrUnsupported,
		context.Canceled, context.DeadlineExceeded}
	other := func(target error) bool { return !errors.Is(err, target) }
	return maskedError{text: mask.Text(err.Error()), is: slices.DeleteFunc(known, other)}
}

func (e maskedError) Error() string        { return e.text }
func (e maskedError) Is(target error) bool { return slices.Contains(e.is, target) }

package transport

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const readinessTimeout = 2 * time.Second
const readinessTTL = time.Second // from the end of a round

// Readiness runs the checks of Options.Observe.Readiness at most once a second, one round at a
// time.
type Readiness struct {
	checks []*check
	pool   *worker.Pool
	log    *slog.Logger
	rounds *loader.Loader[struct{}, time.Duration] // how long a round took
}

type check struct {
	name   string
	do     func(context.Context) error
	busy   atomic.Bool // it still runs, perhaps since an earlier round
	failed bool        // in the last round
}

// NewReadiness returns the checks of a server, by name.
func NewReadiness(checks map[string]func(context.Context) error,
	pool *worker.Pool, log *slog.Logger) *Readiness {
	r := &Readiness{pool: pool, log: log}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		r.checks = append(r.checks, &check{name: name, do: checks[name]})
	}
	r.rounds = loader.New(loader.Config[struct{}, time.Duration]{
		Key: func(struct{}) string { return "" }, Size: 1, Load: r.run,
		Keep: func(_ struct{}, took time.Duration, _ error) time.Duration { return took + readinessTTL },
	})
	return r
}

// Holds reports whether all checks pass.
func (r *Readiness) Holds(ctx context.Context) bool {
	if len(r.checks) == 0 {
		return true
	}
	_, err := r.rounds.Get(ctx, struct{}{})
	return err == nil
}

func (r *Readiness) run(ctx context.Context, _ struct{}) (took time.Duration, err error) {
	started := time.Now()
	errs := make([]error, len(r.checks))
	var wg sync.WaitGroup
	for i, c := range r.checks {
		wg.Go(func() { errs[i] = c.run(ctx, r.pool) })
	}
	wg.Wait()
	for i, c := range r.checks {
		failed := errs[i] != nil
		switch {
		case failed && !c.failed:
			r.log.WarnContext(ctx, "the server is not ready", "check", c.name, "error", errs[i])
		case c.failed && !failed:
			r.log.InfoContext(ctx, "a readiness check passes again", "check", c.name)
		}
		c.failed = failed
	}
	return time.Since(started), errors.Join(errs...)
}

// run returns why a check fails. A late check also fails in later rounds until it has returned.
func (c *check) run(ctx context.Context, pool *worker.Pool) error {
	if !c.busy.CompareAndSwap(false, true) {
		return worker.ErrNoResponse
	}
	do := func(ctx context.Context) error {
		defer c.busy.Store(false)
		return c.do(ctx)
	}
	o := worker.Run(pool, worker.Job[error]{Context: ctx, Timeout: readinessTimeout, Do: do})
	switch {
	case o.Abandoned:
		return worker.ErrNoResponse
	case o.Crash != nil:
		return o.Crash
	}
	return o.Value
}

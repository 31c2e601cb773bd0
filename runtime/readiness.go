package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

const (
	readinessTimeout = 2 * time.Second
	readinessTTL     = time.Second
)

// readiness are the checks of Options.Readiness. Whoever can reach the endpoint can ask, so they run once a second at most and one
// round at a time, and say why to the log alone.
type readiness struct {
	checks []*readinessCheck
	log    *slog.Logger

	turn    chan struct{} // of one place: who has it may read and write the rest
	checked time.Time
	failing map[string]error // as of then, by name
}

type readinessCheck struct {
	name  string
	check func(context.Context) error
	busy  atomic.Bool // it runs, be it since long ago
}

func newReadiness(checks map[string]func(context.Context) error, log *slog.Logger) *readiness {
	r := &readiness{log: log, turn: make(chan struct{}, 1)}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		r.checks = append(r.checks, &readinessCheck{name: name, check: checks[name]})
	}
	return r
}

// holds reports whether all checks pass.
func (r *readiness) holds(ctx context.Context) bool {
	if len(r.checks) == 0 {
		return true
	}
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return false // nobody waits for the answer
	}
	defer func() { <-r.turn }()
	if !r.checked.IsZero() && time.Since(r.checked) < readinessTTL {
		return len(r.failing) == 0
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readinessTimeout)
	defer cancel()
	failing := r.run(ctx)
	for _, c := range r.checks {
		_, before := r.failing[c.name]
		switch err, now := failing[c.name]; {
		case now && !before:
			r.log.WarnContext(ctx, "the server is not ready", "check", c.name, "error", err)
		case before && !now:
			r.log.InfoContext(ctx, "a check of readiness passes again", "check", c.name)
		}
	}
	r.checked, r.failing = time.Now(), failing
	return len(failing) == 0
}

// run runs all checks at once, and returns what failed of them. It does not wait for one that does not heed its context.
func (r *readiness) run(ctx context.Context) map[string]error {
	type answer struct {
		name string
		err  error
	}
	answers := make(chan answer, len(r.checks))
	failed := map[string]error{}
	asked := 0
	for _, c := range r.checks {
		failed[c.name] = errNoAnswer
		if !c.busy.CompareAndSwap(false, true) {
			continue // the last round's, which did not heed its context
		}
		asked++
		go func() {
			a := answer{c.name, errGoexit}
			defer func() {
				if p := recover(); p != nil {
					a.err = fmt.Errorf("it panicked: %v", p)
				}
				c.busy.Store(false)
				answers <- a
			}()
			a.err = c.check(ctx)
		}()
	}
	for range asked {
		select {
		case a := <-answers:
			if failed[a.name] = a.err; a.err == nil {
				delete(failed, a.name)
			}
		case <-ctx.Done():
			return failed
		}
	}
	return failed
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/tasks"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// buildTasks makes the registry of tasks; nil if no tool runs as a task.
func (s *Server) buildTasks() (*tasks.Registry, error) {
	var errs []error
	served := false
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		switch t := s.tools[name]; t.Task {
		case "":
		case toolset.TaskOptional, toolset.TaskAnswered, toolset.TaskRequired:
			served = true
		default:
			errs = append(errs, fmt.Errorf("tool %q has the task %q: run go generate", name, t.Task))
		}
	}
	if len(errs) > 0 || !served {
		return nil, errors.Join(errs...)
	}
	store := s.opts.Tasks.Store
	if store == nil {
		store = task.NewMemory()
	}
	return tasks.New(s.closing, tasks.Config{
		Store: store, TTL: s.opts.Tasks.TTL, Log: s.opts.Logger,
		Limits: task.Limits{User: s.opts.Tasks.MaxPerUser, Total: s.opts.Tasks.Max},
		Ended:  func(ctx context.Context, r task.Record) { s.guard.TaskLost(ctx, r) },
	}), nil
}

// cancelBlocked cancels the waiting tasks of blocked clients after each change of a boundary, until
// the server stops. While the store of tasks or the source of boundaries fails, it tries again.
func (s *Server) cancelBlocked(changed chan struct{}) {
	const pause = 5 * time.Second
	for s.guard.Tasks != nil {
		select {
		case <-s.closing.Done():
			return
		case <-changed:
		}
		if err := s.guard.CancelBlocked(s.closing); err != nil && s.closing.Err() == nil {
			s.opts.Logger.Error("tasks of blocked clients could not be cancelled; the server tries again",
				"error", err)
			time.AfterFunc(pause, func() {
				select {
				case changed <- struct{}{}:
				default:
				}
			})
		}
	}
}

package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

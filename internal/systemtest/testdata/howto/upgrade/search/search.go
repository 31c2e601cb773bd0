// Package search has the excerpt of the page.
package search

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// All shows all events of a filter, newest first.
func All(ctx context.Context, s *store.Store, filter store.EventFilter,
	show func([]store.Recorded)) error {
	for page := (store.EventPage{}); ; {
		events, next, err := s.SearchEvents(ctx, filter, page)
		if err != nil {
			return err
		}
		show(events)
		if page.After = next; next == (store.EventPlace{}) {
			return nil
		}
	}
}

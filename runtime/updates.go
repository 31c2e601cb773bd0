package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/principal"
)

// ResourceUpdates passes updates of resources between the replicas of a server. A *store.Store is
// one.
type ResourceUpdates interface {
	// PublishUpdate reports the update of a resource to the followers of all replicas.
	PublishUpdate(ctx context.Context, uri string) error
	// FollowUpdates sends the URIs of updated resources, those of this process included, and closes
	// the channel when ctx ends. An empty URI means that any resource may have been updated, as
	// after the loss of a connection.
	FollowUpdates(ctx context.Context) <-chan string
}

// ResourceUpdated notifies the clients that have subscribed to a resource that it was updated. Call
// it after the change. The resource has subscribe in //mcp:resource, or it belongs to an adopted
// server with a SubscribeHandler. For a template, uri is a URI that matches it.
//
// A client is notified only if its caller may read the resource when the notification is sent. It
// does not wait for clients; updates of one resource that a client has not been sent yet are one.
//
// With Options.ResourceUpdates it notifies the clients of all replicas. If that fails, it notifies
// those of this process, and returns the error.
func (s *Server) ResourceUpdated(ctx context.Context, uri string) error {
	r := s.resources.Find(uri)
	if uri == "" || r == nil || !r.Subscribe {
		return fmt.Errorf("ResourceUpdated: no resource with subscribe has the URI %q: correct the "+
			"URI, or add subscribe to its //mcp:resource", uri)
	}
	if s.opts.ResourceUpdates != nil {
		err := s.opts.ResourceUpdates.PublishUpdate(ctx, uri)
		if err == nil {
			return nil // followUpdates gets it as well
		}
		s.updates.Updated(uri)
		return fmt.Errorf("ResourceUpdated: other replicas are not notified: %w", err)
	}
	s.updates.Updated(uri)
	return nil
}

// followUpdates notifies of the updates that replicas report, until the server stops.
func (s *Server) followUpdates() {
	for s.closing.Err() == nil {
		updates, err := principal.Supervise(s.closing, s.pool, s.opts.Masker,
			func() (<-chan string, error) { return s.opts.ResourceUpdates.FollowUpdates(s.closing), nil })
		if updates != nil {
			s.updates.Follow(s.closing, updates)
		}
		if s.closing.Err() != nil {
			return
		}
		s.opts.Logger.Error("Options.ResourceUpdates stopped reporting updates; the server follows "+
			"it again", "error", err)
		select {
		case <-s.closing.Done():
		case <-time.After(time.Second):
		}
	}
}

package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/principal"
)

// ResourceUpdates passes updates of resources between the replicas of a server. A *store.Store is
// one.
type ResourceUpdates interface {
	// PublishUpdate reports the update of a resource to the followers of all replicas. An empty URI
	// means that any resource may have been updated.
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
// With Options.Protocol.ResourceUpdates it notifies the clients of all replicas. If that fails, it
// notifies those of this process and returns the error. The server keeps the update, tries each
// second to publish it, and logs the loss if the server stops before that. More than 1024 updates
// become one update of all resources: clients are then notified of all their subscriptions.
func (s *Server) ResourceUpdated(ctx context.Context, uri string) error {
	r := s.resources.Find(uri, func(name string) bool {
		r := s.resources.Named(name)
		return r != nil && r.Subscribe
	})
	if uri == "" || r == nil || !r.Subscribe {
		return fmt.Errorf("ResourceUpdated: no resource with subscribe has the URI %q: correct the "+
			"URI, or add subscribe to its //mcp:resource", uri)
	}
	if s.opts.Protocol.ResourceUpdates != nil {
		err := s.opts.Protocol.ResourceUpdates.PublishUpdate(ctx, uri)
		if err == nil {
			return nil // followUpdates gets it as well
		}
		s.updates.Updated(uri)
		s.publishLater(uri)
		return fmt.Errorf("ResourceUpdated: other replicas are notified later: %w", err)
	}
	s.updates.Updated(uri)
	return nil
}

const (
	maxUnpublished = 1024        // URIs that are kept one by one
	publishPause   = time.Second // between two tries
	publishTimeout = 10 * time.Second
)

// unpublished are the updates that could not be published. It is safe for concurrent use.
type unpublished struct {
	mu         sync.Mutex
	uris       []string // each once; the empty one is alone
	publishing bool     // by a goroutine
}

// add keeps an update and reports whether its caller has to publish.
func (u *unpublished) add(uri string) (publish bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case slices.Contains(u.uris, uri) || slices.Contains(u.uris, ""):
	case uri == "" || len(u.uris) == maxUnpublished:
		u.uris = []string{""}
	default:
		u.uris = append(u.uris, uri)
	}
	publish, u.publishing = !u.publishing, true
	return publish
}

// take removes an update, and ends publishing without one.
func (u *unpublished) take() (uri string, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.publishing = len(u.uris) > 0; !u.publishing {
		return "", false
	}
	uri, u.uris = u.uris[0], u.uris[1:]
	return uri, true
}

// publishLater keeps an update until it is published or the server stops.
func (s *Server) publishLater(uri string) {
	if s.unpublished.add(uri) {
		go s.publishKept()
	}
}

func (s *Server) publishKept() {
	for s.closing.Err() == nil {
		uri, ok := s.unpublished.take()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(s.closing, publishTimeout)
		mask := s.opts.Observe.Masker
		_, err := principal.Supervise(ctx, s.pool, mask, func() (none struct{}, err error) {
			return none, s.opts.Protocol.ResourceUpdates.PublishUpdate(ctx, uri)
		})
		cancel()
		if err == nil {
			continue
		}
		s.unpublished.add(uri)
		select {
		case <-s.closing.Done():
		case <-time.After(publishPause):
		}
	}
}

// logUnpublished logs the loss of updates at the end of the server.
func (s *Server) logUnpublished() {
	s.unpublished.mu.Lock()
	defer s.unpublished.mu.Unlock()
	if s.unpublished.publishing {
		s.opts.Logger.Error("updates of resources were not published: the clients of other replicas " +
			"are not notified of them")
	}
}

// followUpdates notifies of the updates that replicas report, until the server stops.
func (s *Server) followUpdates() {
	for s.closing.Err() == nil {
		updates, err := principal.Supervise(s.closing, s.pool, s.opts.Observe.Masker,
			func() (<-chan string, error) {
				return s.opts.Protocol.ResourceUpdates.FollowUpdates(s.closing), nil
			})
		if updates != nil {
			s.updates.Follow(s.closing, updates)
		}
		if s.closing.Err() != nil {
			return
		}
		s.opts.Logger.Error("Options.Protocol.ResourceUpdates stopped reporting updates; the "+
			"server follows it again", "error", err)
		select {
		case <-s.closing.Done():
		case <-time.After(time.Second):
		}
	}
}

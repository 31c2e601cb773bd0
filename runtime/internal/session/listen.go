package session

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// listen answers subscriptions/listen, whose subscriptions the guard has narrowed: it acknowledges
// them, and lasts until the client or the server ends the message. Without any, it ends at once.
func (s *Server) listen(ctx context.Context, x *Exchange, m *guard.Message) (guard.Answer, error) {
	sent := m.Params.(*mcp.SubscriptionsListenParams)
	if sent.Notifications == nil {
		return guard.Answer{}, wire.InvalidParams("missing params.notifications")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer m.Finally(cancel)
	own := x.session()
	s.remember(own)
	own.OnEnd(cancel)
	wanted := s.declared(*sent.Notifications)
	wanted.ResourceSubscriptions = nil
	waits := wanted.ToolsListChanged || wanted.PromptsListChanged || wanted.ResourcesListChanged ||
		m.Resources != nil
	var behind sync.WaitGroup
	if s.Adopted != nil && waits {
		if err := s.listenBehind(ctx, cancel, x, m, &behind); err != nil {
			return guard.Answer{}, err
		}
	}
	id := json.RawMessage(m.MessageID) // as the client has written it
	if m.Subscription != nil {
		m.Subscription.Prepare(&wanted, id)
	}
	acknowledged := wanted
	if m.Resources != nil {
		acknowledged.ResourceSubscriptions = m.Resources.URIs()
	}
	meta := mcp.Meta{mcp.MetaKeySubscriptionID: id}
	if err := (Notifier{x.Out}).Notify("notifications/subscriptions/acknowledged",
		&mcp.SubscriptionsAcknowledgedParams{Notifications: acknowledged, Meta: meta}); err != nil {
		return guard.Answer{}, err
	}
	// No notification leaves before.
	if m.Subscription != nil {
		m.Subscription.Acknowledged()
	}
	if m.Resources != nil {
		m.Resources.Acknowledged(id)
	}
	switch {
	case !waits:
		cancel()
	case !s.Guard.Contains():
		m.Lasts = ctx.Done() // the rest is that of the message
	default:
		<-ctx.Done()
	}
	behind.Wait()
	return guard.Answer{Result: &mcp.SubscriptionsListenResult{Meta: meta}}, nil
}

// declared returns the subscriptions to lists whose changes the server declares.
func (s *Server) declared(n mcp.NotificationSubscriptions) mcp.NotificationSubscriptions {
	has := s.Guard.Capabilities
	n.ToolsListChanged = n.ToolsListChanged && has.Tools != nil && has.Tools.ListChanged
	n.PromptsListChanged = n.PromptsListChanged && has.Prompts != nil && has.Prompts.ListChanged
	n.ResourcesListChanged = n.ResourcesListChanged && has.Resources != nil &&
		has.Resources.ListChanged
	return n
}

// listenBehind listens to the adopted server for the client until ctx ends, and returns once the
// server has acknowledged that. An error of the server after that ends the client's request as
// well.
func (s *Server) listenBehind(ctx context.Context, cancel func(), x *Exchange, m *guard.Message,
	behind *sync.WaitGroup) error {
	acknowledged, failed := make(chan struct{}, 1), make(chan error, 1)
	x.mu.Lock()
	x.acked = acknowledged
	x.mu.Unlock()
	behind.Go(func() {
		_, err := x.do(ctx, m.Method, m.Params)
		if failed <- err; err != nil {
			cancel()
		}
	})
	select {
	case <-acknowledged:
		return nil
	case err := <-failed:
		return err
	}
}

// acknowledged notes that the adopted server has acknowledged the message's listen request.
func (x *Exchange) acknowledged() {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case x.acked <- struct{}{}:
	default: // the message is no listen request, or it is acknowledged
	}
}

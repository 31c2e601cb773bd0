package bridge

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// sending wraps what the server sends to clients on its own.
func (b *Bridge) sending(next mcp.MethodHandler) mcp.MethodHandler {
	b.send = next
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				b.Guard.Log.ErrorContext(ctx, "sending panicked",
					"method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res, err = nil, fmt.Errorf("sending %s: internal error", method)
			}
		}()
		switch method {
		case "notifications/tools/list_changed", "notifications/prompts/list_changed",
			"notifications/resources/list_changed":
			// go-sdk sends these to every session. Package discovery sends them to those whose own
			// lists have changed, by SendListChanged.
			if session, isServer := req.GetSession().(*mcp.ServerSession); isServer {
				b.Guard.Changes.AdoptedChanged(session)
			}
			return nil, nil
		case "notifications/resources/updated":
			// Of an adopted server, whose ResourceUpdated must not wait for a slow client. Package
			// discovery decides, and sends it by SendResourceUpdated.
			p, ok := req.GetParams().(*mcp.ResourceUpdatedNotificationParams)
			if session, isServer := req.GetSession().(*mcp.ServerSession); ok && p != nil && isServer {
				b.Guard.Updates.UpdatedFor(session, p.URI)
			}
			return nil, nil
		case "notifications/subscriptions/acknowledged":
			c, _ := ctx.Value(carrierKey{}).(*carrier)
			ack, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
			if ok && ack != nil && c != nil && c.message.Subscription != nil {
				id := ack.Meta[mcp.MetaKeySubscriptionID]
				c.message.Subscription.Acknowledged(&ack.Notifications, id)
			}
			if ok && ack != nil && c != nil && c.message.Resources != nil {
				r, id := c.message.Resources, ack.Meta[mcp.MetaKeySubscriptionID]
				ack.Notifications.ResourceSubscriptions = r.URIs()
				defer func() {
					if err == nil {
						r.Acknowledged(id) // no notification leaves before
					}
				}()
			}
		}
		question, asks := req.GetParams().(mcp.InputRequest)
		if asks {
			if err := supported(req.GetSession(), question); err != nil {
				return nil, fmt.Errorf("sending %s: %w", method, err)
			}
		}
		info := request.From(ctx)
		//lint:ignore SA1019 clients of all versions may request log messages
		if m, ok := req.GetParams().(*mcp.LoggingMessageParams); ok && m != nil && info != nil {
			// Handlers of an adopted server send log messages of their own. Another client's must
			// not name the tool, which that client may not see.
			if session, ok := req.GetSession().(*mcp.ServerSession); ok && info.Session == session {
				req = requestOf(session, notify.Identify(info, m))
			}
		}
		expired := func() bool { return info != nil && info.Expired() }
		switch {
		case expired():
		case asks || method == "ping":
			err = b.question(ctx, req.GetSession(), asks, func(ctx context.Context) (err error) {
				res, err = next(ctx, method, req)
				return err
			})
		default:
			res, err = next(ctx, method, req)
		}
		if expired() {
			// A person may take long to answer; the next decision is made with the next credential.
			return nil, fmt.Errorf("sending %s: the caller's credential has expired", method)
		}
		if c, _ := ctx.Value(carrierKey{}).(*carrier); asks && c != nil && c.inside != nil {
			if denied := b.Guard.Reauthorize(ctx, c.inside); denied != nil {
				return nil, refused{denied} // go-sdk runs an adopted handler again by itself
			}
		}
		return res, err
	}
}

// refused is the error of a message that ends with its question: too many wait, none is answered,
// or it is no longer allowed when its client has answered. The latter is that of an unknown name,
// unless the denial mode has another.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// SendListChanged notifies one client that a list has changed. subscription is the id of its
// subscriptions/listen request; nil for a session.
func (b *Bridge) SendListChanged(ctx context.Context, to request.Session,
	kind access.Kind, subscription any) error {
	session, ok := to.(*mcp.ServerSession)
	if !ok {
		return fmt.Errorf("a session of another server: %T", to)
	}
	var meta mcp.Meta
	if subscription != nil {
		meta = mcp.Meta{mcp.MetaKeySubscriptionID: subscription}
	}
	req := requestOf(session, &mcp.ToolListChangedParams{Meta: meta})
	switch kind {
	case access.Prompts:
		req = requestOf(session, &mcp.PromptListChangedParams{Meta: meta})
	case access.Resources:
		req = requestOf(session, &mcp.ResourceListChangedParams{Meta: meta})
	}
	_, err := b.send(ctx, "notifications/"+kind.String()+"s/list_changed", req)
	return err
}

// SendResourceUpdated notifies one client that a resource has been updated. subscription is the id
// of its subscriptions/listen request; nil for a session.
func (b *Bridge) SendResourceUpdated(ctx context.Context, to request.Session, uri string,
	subscription any) error {
	session, ok := to.(*mcp.ServerSession)
	if !ok {
		return fmt.Errorf("a session of another server: %T", to)
	}
	params := &mcp.ResourceUpdatedNotificationParams{URI: uri}
	if subscription != nil {
		params.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: subscription}
	}
	_, err := b.send(ctx, "notifications/resources/updated", requestOf(session, params))
	return err
}

func requestOf[P mcp.Params](session *mcp.ServerSession, params P) mcp.Request {
	return &mcp.ServerRequest[P]{Session: session, Params: params}
}

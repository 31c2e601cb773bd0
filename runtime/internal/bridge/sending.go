package bridge

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
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
			"notifications/resources/list_changed", "notifications/resources/updated":
			// go-sdk sends these to every session. Package discovery sends them to those whose own
			// lists have changed, by SendListChanged.
			return nil, nil
		case "notifications/subscriptions/acknowledged":
			c, _ := ctx.Value(carrierKey{}).(*carrier)
			ack, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
			if ok && ack != nil && c != nil && c.message.Subscription != nil {
				id := ack.Meta[mcp.MetaKeySubscriptionID]
				c.message.Subscription.Acknowledged(&ack.Notifications, id)
			}
		}
		if p, ok := req.GetParams().(*mcp.ElicitParams); ok {
			if _, err := wire.ElicitSchema(p); err != nil {
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
		if !expired() {
			res, err = next(ctx, method, req)
		}
		if expired() {
			// A person may take long to answer; the next decision is made with the next credential.
			return nil, fmt.Errorf("sending %s: the caller's credential has expired", method)
		}
		return res, err
	}
}

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

func requestOf[P mcp.Params](session *mcp.ServerSession, params P) mcp.Request {
	return &mcp.ServerRequest[P]{Session: session, Params: params}
}

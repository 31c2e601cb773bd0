package session

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// A session is the client of its upstream.

// Notified implements [upstream.Client]. Changes of lists and resources go to those alone whose own
// view has changed, by package discovery. Everything else belongs to the message whose handler has
// sent it, or to the one with its progress token, or to the session.
func (s *Session) Notified(_ context.Context, c *upstream.Call, method string,
	params json.RawMessage) error {
	x := exchangeOf(c)
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed":
		s.server.Guard.Changes.AdoptedChanged(s)
		return nil
	case "notifications/resources/updated":
		var p mcp.ResourceUpdatedNotificationParams
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		s.server.Guard.Updates.UpdatedFor(s, p.URI)
		return nil
	case "notifications/subscriptions/acknowledged":
		if x != nil {
			x.acknowledged()
		}
		return nil
	case "notifications/cancelled":
		return nil // of a question, whose id at the client is another; see [Session.ask]
	case "notifications/message":
		// Another client's message must not name the tool, which that client may not see.
		p := &mcp.LoggingMessageParams{}
		if x != nil && json.Unmarshal(params, p) == nil {
			text, err := wire.Marshal(notify.Identify(x.Message.Info, p))
			if err != nil {
				return err
			}
			params = text
		}
	case "notifications/progress":
		if x == nil {
			x = s.byProgress(params)
		}
	}
	return Notifier{s.outOf(x)}.Notify(method, params)
}

// Closed implements [upstream.Client]. A session that a handler of the adopted server closes ends,
// as one of go-sdk's own does.
func (s *Session) Closed() { s.End() }

// Asked implements [upstream.Client].
func (s *Session) Asked(ctx context.Context, c *upstream.Call, method string,
	params json.RawMessage) (json.RawMessage, error) {
	x := exchangeOf(c)
	input, err := inputOf(method, params)
	if err != nil {
		return nil, err
	}
	if input != nil {
		if _, err := wire.ElicitSchema(input); err != nil {
			return nil, err
		}
		if client := s.InitializeParams(); client != nil {
			has := request.InputsOf(client.Capabilities)
			if x != nil {
				has = x.Message.Inputs
			}
			if err := wire.CheckDeclared(has, input); err != nil {
				return nil, err
			}
		}
	}
	result, err := s.ask(ctx, x, method, params)
	if x != nil && input != nil && x.Message.Expired() {
		return nil, x.deny(wire.Ended(x.Message.Info))
	}
	if x != nil && input != nil && (err == nil || s.questionsEnded() == nil) {
		// go-sdk runs an adopted handler again by itself.
		if denied := s.server.Guard.Reauthorize(ctx, x.Message); denied != nil {
			return nil, x.deny(denied)
		}
	}
	return result, err
}

// questionsEnded returns why the client is asked nothing any more, nil while it is.
func (s *Session) questionsEnded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noQuestions
}

// maxOpening bounds how long the adopted server may take for a handshake.
const maxOpening = 10 * time.Second

// connect returns the session of the upstream, which is opened when it is first needed.
func (s *Session) connect(ctx context.Context, x *Exchange) (*upstream.Session, error) {
	s.mu.Lock()
	if s.opening == nil {
		s.opening = make(chan struct{}, 1)
	}
	opening := s.opening
	s.mu.Unlock()
	select {
	case opening <- struct{}{}:
		defer func() { <-opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	up, client, started, level, ended := s.upstream, s.client, s.started, s.named, s.ended
	s.mu.Unlock()
	switch {
	case ended:
		return nil, upstream.ErrEnded
	case up != nil:
		return up, nil
	}
	up, err := s.server.Upstream.Open(s.id, s, s.server.Guard.Log)
	if err != nil {
		return nil, err
	}
	if client != nil {
		if err := introduce(ctx, up, x, client, started, level); err != nil {
			go func() { _ = up.Close() }() // the error is that of the handshake
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		go func() { _ = up.Close() }()
		return nil, upstream.ErrEnded
	}
	s.upstream = up
	return up, nil
}

// introduce makes the handshake with the upstream for a client that has made its own.
func introduce(ctx context.Context, up *upstream.Session, x *Exchange,
	client *mcp.InitializeParams, started bool, level mcp.LoggingLevel) error {
	ctx, cancel := context.WithTimeout(ctx, maxOpening)
	defer cancel()
	params, err := handshakeOf(client)
	if err != nil {
		return err
	}
	if _, err := up.Do(ctx, x.message("initialize", params)); err != nil {
		return err
	}
	if started {
		up.Notify(ctx, x.message("notifications/initialized", json.RawMessage("{}")))
	}
	if level == "" {
		return nil
	}
	params, err = wire.Marshal(&mcp.SetLoggingLevelParams{Level: level})
	if err == nil {
		_, err = up.Do(ctx, x.message("logging/setLevel", params))
	}
	return err
}

// handshakeOf encodes the params of initialize. go-sdk has roots in two fields, of which it decodes
// only one.
func handshakeOf(p *mcp.InitializeParams) (json.RawMessage, error) {
	text, err := wire.Marshal(p)
	if err != nil || p.Capabilities == nil {
		return text, err
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if c, ok := all["capabilities"].(map[string]any); ok {
		if delete(c, "roots"); p.Capabilities.RootsV2 != nil {
			c["roots"] = p.Capabilities.RootsV2
		}
	}
	return wire.Marshal(all)
}

// forward passes a notification of the client on. The first notifications/initialized opens the
// session of the adopted server, which notifies open sessions alone of its changes.
func (s *Session) forward(ctx context.Context, x *Exchange) {
	if s == nil {
		return // of 2026-07-28, which has no session
	}
	s.mu.Lock()
	initialized := x.Message.Method == "notifications/initialized" && !s.started
	if initialized {
		s.started = true
	}
	up := s.upstream
	s.mu.Unlock()
	switch a := s.server.Adopted; {
	case up != nil:
		if params, err := wire.Marshal(x.Message.Params); err == nil {
			up.Notify(ctx, x.message(x.Message.Method, params))
		}
	case initialized && a != nil:
		if _, err := s.connect(ctx, x); err != nil {
			s.server.Guard.Log.DebugContext(ctx, "the adopted server has refused a session",
				"error", err)
			return
		}
		s.server.Guard.Changes.AdoptedChanged(s) // its lists can be read from now on
	}
}

// forwardLevel passes the level of a session on.
func (s *Session) forwardLevel(ctx context.Context, x *Exchange) {
	s.mu.Lock()
	up := s.upstream
	s.mu.Unlock()
	if up == nil {
		return
	}
	params, err := wire.Marshal(x.Message.Params)
	if err == nil {
		_, err = up.Do(ctx, x.message(x.Message.Method, params))
	}
	if err != nil {
		s.server.Guard.Log.DebugContext(ctx, "the adopted server has refused a level", "error", err)
	}
}

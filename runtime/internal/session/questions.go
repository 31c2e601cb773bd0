package session

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

const (
	// maxQuestions bounds the requests to one client that wait for a response. Nobody may answer: the
	// calls of a client that has gone stay with its session.
	maxQuestions = 32
	// maxWait bounds how long one of them waits, while its client keeps the session.
	maxWait = time.Hour
)

// Why a client is asked nothing any more. errSessionEnds ends the questions of one session, and
// errShutdown those of all.
var (
	errSessionEnds = refused{wire.NoResponse("its session ends")}
	errShutdown    = refused{wire.NoResponse("the server shuts down")}
	errNoSession   = errors.New("a message of " + request.Stateless + " has no session to ask on: " +
		"return the question as input requests")
)

// clientResponse is the response of a client to a request.
type clientResponse struct {
	result json.RawMessage
	err    error
}

// ask sends a request to the client, on the stream of the message that it belongs to, nil for none,
// and waits for the response, the end of ctx or of the session, or maxWait.
func (s *Session) ask(ctx context.Context, x *Exchange, method string,
	params json.RawMessage) (json.RawMessage, error) {
	response := make(chan clientResponse, 1)
	id, err := s.addPending(response, method)
	if err != nil {
		return nil, err
	}
	defer s.removePending(id)
	if x != nil && x.Gone != nil {
		defer x.waits()()
	}
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	text, err := wire.Request(id, method, params)
	if err == nil {
		err = s.outOf(x).Event(text)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait,
		refused{wire.NoResponse("within " + maxWait.String())})
	defer cancel()
	select {
	case r := <-response:
		return r.result, r.err
	case <-ctx.Done():
	}
	_ = Notifier{s.outOf(x)}.Notify("notifications/cancelled",
		map[string]any{"requestId": json.RawMessage(id)}) // the client may be gone
	return nil, context.Cause(ctx)
}

// outOf returns where a message of the server leaves that belongs to a message of the client.
func (s *Session) outOf(x *Exchange) Out {
	if x == nil {
		return s.Out()
	}
	return x.Out
}

// addPending notes a request, and returns its id.
func (s *Session) addPending(response chan<- clientResponse, method string) (id string,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.noQuestions != nil:
		return "", s.noQuestions
	case !s.started && method != "ping":
		return "", refused{wire.NotInitialized()}
	case len(s.pending) >= maxQuestions:
		return "", refused{wire.TooManyQuestions(maxQuestions)}
	case s.pending == nil:
		s.pending = map[string]chan<- clientResponse{}
	}
	s.lastRequest++
	id = strconv.Itoa(s.lastRequest)
	s.pending[id] = response
	return id, nil
}

func (s *Session) removePending(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.pending, id); len(s.pending) == 0 {
		s.pending = nil // an idle session keeps no map
	}
}

// Respond takes a response of the client. One to no request is dropped, since the request may have
// been cancelled.
func (s *Session) Respond(m wire.Checked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.pending[m.ID.Key]
	if waiting == nil {
		return
	}
	delete(s.pending, m.ID.Key)
	r := clientResponse{result: m.Result}
	if m.Err != nil {
		r = clientResponse{err: m.Err}
	}
	waiting <- r
}

// EndQuestions ends the questions of a session whose client cannot respond any more.
func (s *Session) EndQuestions() { s.endQuestions(errSessionEnds) }

// endQuestions ends the questions that wait for the client, and refuses further ones.
func (s *Session) endQuestions(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noQuestions == nil {
		s.noQuestions = why
	}
	for id, waiting := range s.pending {
		waiting <- clientResponse{err: why}
		delete(s.pending, id)
	}
}

// inputMethod returns the method of an input request, and an empty response to decode into.
func inputMethod(r mcp.InputRequest) (method string, response mcp.InputResponse, err error) {
	switch r.(type) {
	case *mcp.ElicitParams:
		return "elicitation/create", &mcp.ElicitResult{}, nil
	case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams:
		return "sampling/createMessage", &mcp.CreateMessageWithToolsResult{}, nil
	case *mcp.ListRootsParams:
		return "roots/list", &mcp.ListRootsResult{}, nil
	}
	return "", nil, fmt.Errorf("a %T is not an input request", r)
}

// inputOf returns the input request that a request to the client is, nil for another request.
func inputOf(method string, params json.RawMessage) (r mcp.InputRequest, err error) {
	switch method {
	case "elicitation/create":
		r = &mcp.ElicitParams{}
	case "sampling/createMessage":
		r = &mcp.CreateMessageWithToolsParams{}
	case "roots/list":
		r = &mcp.ListRootsParams{}
	}
	if r == nil || len(params) == 0 {
		return r, nil
	}
	return r, json.Unmarshal(params, r)
}

package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

const (
	// maxQuestions bounds the questions of one session that wait for an answer. Nobody may answer:
	// the calls of a client that has gone stay with its session.
	maxQuestions = 32
	// maxWait bounds how long one of them waits, while its client keeps the session.
	maxWait = time.Hour
)

// questions are the requests to the client of one session that wait for a response.
type questions struct {
	ended context.Context
	end   context.CancelCauseFunc
	input int // that ask for input
	users int // of this value: the requests, and who ends them
}

// errSessionEnds ends the questions of a session, errShutdown those of all.
var (
	errSessionEnds = refused{wire.NoResponse("its session ends")}
	errShutdown    = refused{wire.NoResponse("the server shuts down")}
)

// hold returns the questions of a session. They are kept until each holder has released them.
func (b *Bridge) hold(on any) *questions {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.waiting[on]
	if q == nil {
		q = &questions{}
		q.ended, q.end = context.WithCancelCause(b.asking)
		b.waiting[on] = q
	}
	q.users++
	return q
}

func (b *Bridge) release(on any, q *questions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(b.waiting, on)
		q.end(nil)
	}
}

// question sends a request to the client of a session, and waits for the response, the end of the
// session's questions, or maxWait. Those for input are bounded in number.
func (b *Bridge) question(ctx context.Context, on any, input bool,
	send func(context.Context) error) error {
	q := b.hold(on)
	defer b.release(on, q)
	if q.ended.Err() != nil {
		return context.Cause(q.ended)
	}
	if input {
		if !b.count(q) {
			return refused{wire.TooManyQuestions(maxQuestions)}
		}
		defer b.uncount(q)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxWait,
		refused{wire.NoResponse("within " + maxWait.String())})
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(q.ended, func() { end(context.Cause(q.ended)) })()
	err := send(ctx)
	if ended, ok := errors.AsType[refused](context.Cause(ctx)); ok && err != nil {
		return ended
	}
	return err
}

// count counts a question for input, and reports false if too many wait.
func (b *Bridge) count(q *questions) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.input >= maxQuestions {
		return false
	}
	q.input++
	return true
}

func (b *Bridge) uncount(q *questions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q.input--
}

// EndQuestions ends the questions of a session that wait for its client, and refuses further ones
// until release is called. go-sdk ends a session only when its handlers have returned.
func (b *Bridge) EndQuestions(on request.Session) (release func()) {
	q := b.hold(on)
	q.end(errSessionEnds)
	return func() { b.release(on, q) }
}

// EndAllQuestions ends those of all sessions, for good.
func (b *Bridge) EndAllQuestions() { b.endAsking(errShutdown) }

// close ends a session, and returns when its handlers have.
func (b *Bridge) close(session request.Session) error {
	defer b.EndQuestions(session)()
	return session.Close()
}

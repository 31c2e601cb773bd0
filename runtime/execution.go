package runtime

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// execution is one run of a handler on a worker, and the writing of its record where nothing but the
// answer is to come: handing each of the two over costs as much as either.
type execution[R any] struct {
	waited
	server *Server
	work   work
	ctx    context.Context // of the request
	record *record
	do     handler[R]
	call   bounded // the handler's context

	// What the worker found out, for the waiting side once the worker is done.
	answer answer[R]
	crash  *crash // how the handler ended, where it did not return
	begun  bool   // the record has been handed to the sink
	entry  entry
}

// handler is what an execution runs.
type handler[R any] interface {
	handle(context.Context) answer[R]
	crashed() answer[R] // what is answered where handle does not return
}

// The further states of an execution.
const (
	returned  = iota + abandoned + 1 // the handler has, and its answer stands
	recording                        // as returned, and the sink has the record
)

func (e *execution[R]) on() context.Context { return &e.call }

func (e *execution[R]) run() {
	a := e.do.handle(&e.call)
	a = settle(&e.call, e.work, a)
	if !e.turn(running, returned) {
		return // nobody waits for it any more
	}
	e.answer = a
	// What was recorded as answered should be: the answer is finished, and the credential
	// outlives the time that the sink has.
	if e.record.awaited == nil || a.outcome != audit.OK || a.body == nil || a.body.whole == nil || e.record.expiredWithin(e.server.opts.AuditTimeout+grace) {
		return
	}
	select {
	case e.server.recording <- struct{}{}:
	default:
		return // the guard waits for a place
	}
	e.begun = true
	event := *e.record.awaited // which is the guard's again where the sink is given up
	event.Status, event.Grants = a.outcome, a.ruled.uses
	e.entry.prepare(e.server, e.ctx, e.record, &event)
	e.state.Store(recording)
	e.entry.hand(&event)
}

func (e *execution[R]) ended(c *crash) bool {
	if e.begun {
		e.entry.closed(c)
		return e.turn(recording, over)
	}
	e.crash = c
	if e.turn(running, over) || e.turn(returned, over) {
		return true
	}
	attrs := []any{e.work.kind, e.work.name, e.record.ids(), "after", time.Since(e.record.started)}
	if c != nil && c.panicked {
		e.server.log.ErrorContext(e.ctx, "a handler panicked after its call was answered", append(attrs, "panic", c.value, "stack", c.stacktrace)...)
	} else {
		e.server.log.WarnContext(e.ctx, "a handler returned after its call was answered", attrs...)
	}
	return false
}

// wait waits for the worker, and abandons it where the handler does not return within its time
// and grace, or the sink within its own. It returns the state that the job was left in.
func (e *execution[R]) wait(w *worker, now time.Time) int32 {
	var (
		gone    = e.ctx.Done()
		closing = e.server.closing.Done()
		until   = e.call.deadline // when the handler is told to stop, and then when it is given up
		told    = false
	)
	for {
		// The sink may be asked at any time and has its time from then on.
		next := now.Add(e.server.opts.AuditTimeout)
		switch state := e.state.Load(); {
		case state == recording:
			next = e.entry.ctx.deadline
		case until.Before(next):
			next = until
		}
		w.wake(next, now)
		stop := error(nil)
		select {
		case <-w.done:
			return over
		case <-w.alarm:
			w.rang()
		case <-gone:
			stop, gone = e.ctx.Err(), nil
		case <-closing:
			stop, closing = context.Canceled, nil
		}
		now = time.Now()
		if state := e.state.Load(); state == recording {
			if !now.Before(e.entry.ctx.deadline) && e.turn(recording, abandoned) {
				return recording
			}
			continue
		}
		switch late := !now.Before(until); {
		case told && late:
			if e.turn(running, abandoned) {
				return running
			}
			until = now.Add(grace) // it has just returned
		case !told && (late || stop != nil):
			if stop == nil {
				stop = context.DeadlineExceeded
			}
			e.call.end(stop)
			told, until = true, now.Add(grace)
		}
	}
}

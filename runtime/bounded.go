package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// bounded is a context with a time limit that costs little where nobody waits for its end:
// a call has two of them, one for its handler and one for its audit record. It has the values of another
// context and not its end, which whoever made it passes on by end. Its cause is its error.
//
// Handlers get the call's record in it, and no TokenInfo, since the one in a session's context is its
// creator's.
type bounded struct {
	values   context.Context
	record   *record          // nil for none
	caller   access.Principal // where there is a record: whom it is about, for this run
	deadline time.Time

	mu    sync.Mutex
	done  chan struct{} // made when somebody asks for it
	timer *time.Timer   // made together with done
	err   error
	after map[*func()]struct{} // what runs when it ends

	// Of a tool's handler: whether its result may be added to, and what is.
	advised bool
	advice  []mcp.Content
}

// Deadline implements context.Context.
func (c *bounded) Deadline() (time.Time, bool) { return c.deadline, true }

// Done implements context.Context.
func (c *bounded) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		} else {
			c.timer = time.AfterFunc(time.Until(c.deadline), c.expire)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *bounded) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil && c.err == nil && !time.Now().Before(c.deadline) {
		c.err = context.DeadlineExceeded
		c.run()
	}
	return c.err
}

// Value implements context.Context.
func (c *bounded) Value(key any) any {
	if c.record != nil {
		switch key.(type) {
		case recordKey:
			return c.record
		case callerKey:
			return &c.caller
		case adviceKey:
			return c
		}
	}
	if key == causeKey {
		return nil
	}
	v := c.values.Value(key)
	if _, ok := v.(*auth.TokenInfo); ok {
		return nil
	}
	return v
}

// causeKey is what [context.Cause] asks a context for that has ended. It must not find the canceller of the
// context that the values are from, which may have ended otherwise; finding none, it answers with Err.
var causeKey = func() any {
	p := &probe{Context: context.Background()}
	_ = context.Cause(p)
	return p.asked
}()

// probe is a context that has ended and notes what it is asked for.
type probe struct {
	context.Context
	asked any
}

func (p *probe) Err() error { return context.Canceled }

func (p *probe) Value(key any) any {
	p.asked = key
	return nil
}

// AfterFunc makes contexts that are derived from this one wait for its end without a
// goroutine each: package context looks for the method.
func (c *bounded) AfterFunc(f func()) (stop func() bool) {
	c.Done() // starts the timer
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	key := &f
	c.after[key] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[key]
		delete(c.after, key)
		return waiting
	}
}

func (c *bounded) expire() { c.end(context.DeadlineExceeded) }

// end ends the context with an error, unless it has ended.
func (c *bounded) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.run()
}

// run starts what waits for the end. The caller holds the lock.
func (c *bounded) run() {
	for f := range c.after {
		go (*f)()
	}
	c.after = nil
}

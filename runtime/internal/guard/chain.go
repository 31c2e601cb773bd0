// Package guard is the chain of steps that every message passes: it resolves the caller, decides,
// records the decision, and lets nothing leave that is not encoded.
//
// It knows messages and results, and neither a transport nor go-sdk's server.
package guard

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// steps is the chain, outermost first. Each line states why the step has its place, and the test
// that fails without it.
func (g *Guard) steps() []step {
	return []step{
		// A panic of any later step becomes an internal error.
		// TestScenarios/observe-outcomes
		g.recoverPanics,
		// The observer gets each message with a caller, before its decision.
		// TestScenarios/observe-outcomes
		g.observe,
		// Nothing runs or leaves after the credential has ended.
		// TestScenarios/credentials-end
		g.expire,
		// Log messages and progress leave before the answer.
		// TestScenarios/logs
		g.notify,
		// The principal has the host's permissions before anything is decided. TestScenarios/host
		// A block ends all that follows. TestScenarios/boundaries-blocked
		g.resolve,
		// A session gets list_changed if its new caller has other lists.
		// TestScenarios/host-notified
		g.subscribe,
		// A method that is not listed reaches nothing. TestScenarios/fault-errors
		g.knownMethods,
		// A challenge leaves once its event is durable.
		// TestScenarios/access-challenge-unrecorded
		g.challenge,
		// The run of a task starts once the event of its request is durable.
		// TestScenarios/tasks-unrecorded
		g.launch,
		// The event is durable before the answer leaves. TestScenarios/access-unrecorded
		// While the sink is down, nothing is read. TestScenarios/audit-outage
		g.audit,
		// The event reports a result that cannot be encoded.
		// TestEventReportsWhatBecameOfACall
		// A result of middleware has only fields that its caller may see.
		// TestScenarios/fields-results
		g.encode,
		// The decision comes before anything else of the request is read.
		// TestScenarios/access-hidden
		g.authorize,
		// Only an allowed call has its requestState and bound headers checked.
		// TestScenarios/access-bound-headers
		g.admit,
		// The intent is durable before anything of the call runs, and the HTTP status leaves after
		// it. TestScenarios/audit-intent
		g.intend,
		// Middleware gets the run of a task, and not the request that creates it.
		// TestScenarios/tasks-intercepted
		g.createTask,
		// Foreign code between here and the handlers may end its goroutine, or not return.
		// TestScenarios/intercept-unruly
		g.contain,
		// Middleware gets what is allowed, and nothing else. TestInterceptorsGetAllowedMessages
		g.intercept,
	}
}

// taskSteps is the chain of a run of a task, whose call has passed the steps above.
func (g *Guard) taskSteps() []step {
	return []step{
		// Progress becomes the status message of the task. TestScenarios/tasks
		g.notify,
		// As above. TestScenarios/intercept-unruly
		g.contain,
		// As above. TestScenarios/tasks-intercepted
		g.intercept,
	}
}

// Chain returns the chain in front of its end, which answers what is allowed.
func (g *Guard) Chain(end Next) Next { return chain(g.steps(), end) }

func chain(steps []step, end Next) Next {
	for _, s := range slices.Backward(steps) {
		end = s(end)
	}
	return end
}

// Message is one message on its way through the chain.
type Message struct {
	*request.Info
	Method string
	Params mcp.Params // may be a typed nil; a step may replace it by a copy
	Meta   map[string]any
	Origin any // what the end of the chain knows of the message; nil for the run of a task

	// Lasts is set by the end of the chain if the message goes on, and closed when it ends. The
	// chain returns then, with the result for [Guard.End].
	Lasts <-chan struct{}

	// Filter is what the message asks for of a list of tools.
	Filter discovery.Filter
	// Subscription belongs to subscriptions/listen; nil for others.
	Subscription *discovery.Subscription
	// Resources are the resources of subscriptions/listen; nil for none.
	Resources *discovery.Subscriber

	endings []func(*Answer, *error) // of a message that lasts, that of the innermost step first

	undo    func()          // if the event is not durable; nil for nothing
	run     *taskRun        // which the message starts; nil for none
	event   *audit.Event    // nil if the method is not recorded
	outcome observe.Outcome // for the observer
	failure error           // why an allowed request failed, for the log; nil if the error has it
}

// Finally calls a func at the end of the message. A step defers it: the chain returns before a
// message that lasts ends.
func (m *Message) Finally(end func()) {
	if m.Lasts == nil {
		end()
		return
	}
	m.atEnd(func(*Answer, *error) { end() })
}

// atEnd calls a func at the end of a message that lasts.
func (m *Message) atEnd(end func(*Answer, *error)) { m.endings = append(m.endings, end) }

// End does what the steps do at the end of a message that lasts, whose answer so far is given.
func (g *Guard) End(ctx context.Context, m *Message, a Answer, err error) (Answer, error) {
	for _, end := range m.endings {
		step := g.recoverPanics(func(context.Context, *Message) (Answer, error) {
			end(&a, &err)
			return Answer{}, nil
		})
		if _, crash := step(ctx, m); crash != nil {
			m.outcome.Failure, a, err = audit.Crashed, Answer{}, crash
		}
	}
	return a, err
}

// Answer is what the chain returns for a message: a result, and once it is encoded that alone.
type Answer struct {
	Result  mcp.Result
	Encoded *wire.Encoded
	// Report is that of the toolset's handler; nil if something else has answered.
	Report *invoke.Report

	// change changes a task, once the event is durable. It may set the message's run. Nil changes
	// nothing.
	change func(context.Context) error
}

// Next is the rest of the chain.
type Next func(context.Context, *Message) (Answer, error)

// step returns one step of the chain, in front of the rest.
type step func(rest Next) Next

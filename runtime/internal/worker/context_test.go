package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

type handlerKey struct{} // of a value that a handler has

type contextKey struct{}

// look is what a user of a context sees of it.
func look(ctx context.Context) string {
	at, ok := ctx.Deadline()
	done := false
	select {
	case <-ctx.Done():
		done = true
	default:
	}
	return fmt.Sprint(done, ctx.Err(), context.Cause(ctx), at, ok, ctx.Value(contextKey{}))
}

// pair is a Context and what package context makes of the same parent, with children of each.
type pair struct {
	parent   context.Context
	ours     *Context
	own      context.Context // with values, as the message has
	wrap     func(context.Context) context.Context
	std      context.Context
	end      context.CancelFunc // of std
	used     bool               // something may have seen its end
	cancels  []func(int)        // of children, of both
	children [][2]context.Context
	funcs    [2]counts // of AfterFunc
}

// counts are how often each func has run.
type counts struct{ of [5]atomic.Int32 }

func (c *counts) String() (all string) {
	for i := range c.of {
		all += fmt.Sprint(" ", c.of[i].Load())
	}
	return all
}

// use is for what needs the end. Package context notes which end was first; a Context whose end
// nobody has seen takes that of its parent then.
func (p *pair) use() {
	if !p.used && p.parent.Err() != nil && !p.ours.At.IsZero() {
		p.end()
		p.make()
	}
	p.used = true
}

// make makes the context of package context.
func (p *pair) make() {
	if p.std, p.end = context.WithCancel(p.parent); !p.ours.At.IsZero() {
		p.end()
		p.std, p.end = context.WithDeadline(p.parent, p.ours.At)
	}
	p.std = p.wrap(p.std)
}

func (p *pair) both() [2]context.Context { return [2]context.Context{p.own, p.std} }

// child makes a child of both.
func (p *pair) child(make func(context.Context) (context.Context, func(int))) {
	p.use()
	var made [2]context.Context
	for i, parent := range p.both() {
		parent.Done() // of a child without an end of its own too
		child, cancel := make(parent)
		made[i] = child
		p.cancels = append(p.cancels, cancel)
	}
	p.children = append(p.children, made)
}

// operations are what a program may do with a context. n is a small number.
var operations = map[string]func(p *pair, n int) (got, want string){
	"End": func(p *pair, _ int) (_, _ string) {
		p.use()
		p.ours.End()
		p.end()
		return
	},
	"Done": func(p *pair, _ int) (got, want string) {
		p.use()
		return fmt.Sprint(isClosed(p.own.Done())), fmt.Sprint(isClosed(p.std.Done()))
	},
	"Err": func(p *pair, _ int) (got, want string) {
		if p.ours.inner.Load() != nil || p.std.Err() != nil {
			p.use()
		}
		return fmt.Sprint(p.own.Err()), fmt.Sprint(p.std.Err())
	},
	"Cause": func(p *pair, _ int) (got, want string) {
		if p.std.Err() != nil {
			p.use()
		}
		return fmt.Sprint(context.Cause(p.own)), fmt.Sprint(context.Cause(p.std))
	},
	"Deadline": func(p *pair, _ int) (got, want string) {
		at, ok := p.own.Deadline()
		wantAt, wantOK := p.std.Deadline()
		return fmt.Sprint(at, ok), fmt.Sprint(wantAt, wantOK)
	},
	"Value": func(p *pair, _ int) (got, want string) {
		return fmt.Sprint(p.own.Value(contextKey{}), p.own.Value(handlerKey{})),
			fmt.Sprint(p.std.Value(contextKey{}), p.std.Value(handlerKey{}))
	},
	"WithCancelCause": func(p *pair, _ int) (_, _ string) {
		p.child(func(parent context.Context) (context.Context, func(int)) {
			ctx, cancel := context.WithCancelCause(parent)
			return ctx, func(n int) { cancel(fmt.Errorf("cause %d of a child", n)) }
		})
		return
	},
	"WithTimeout": func(p *pair, n int) (_, _ string) {
		p.child(func(parent context.Context) (context.Context, func(int)) {
			ctx, cancel := context.WithTimeout(parent, time.Duration(n)*time.Second)
			return ctx, func(int) { cancel() }
		})
		return
	},
	"WithValue": func(p *pair, n int) (_, _ string) {
		p.child(func(parent context.Context) (context.Context, func(int)) {
			return context.WithValue(parent, contextKey{}, n), func(int) {}
		})
		return
	},
	"WithoutCancel": func(p *pair, _ int) (_, _ string) {
		p.child(func(parent context.Context) (context.Context, func(int)) {
			return context.WithoutCancel(parent), func(int) {}
		})
		return
	},
	"a Context": func(p *pair, n int) (_, _ string) {
		p.child(func(parent context.Context) (context.Context, func(int)) {
			ctx := &Context{Parent: parent}
			ctx.Done()
			return ctx, func(int) { ctx.End() }
		})
		return
	},
	"AfterFunc": func(p *pair, n int) (_, _ string) {
		p.use()
		for i, ctx := range p.both() {
			stop := context.AfterFunc(ctx, func() { p.funcs[i].of[n].Add(1) })
			p.cancels = append(p.cancels, func(int) { stop() })
		}
		return
	},
	"the end of a child": func(p *pair, n int) (_, _ string) {
		if n = 2 * n; n < len(p.cancels) {
			p.cancels[n](n)
			p.cancels[n+1](n)
		}
		return
	},
	"a look": func(p *pair, _ int) (got, want string) {
		p.use()
		got, want = look(p.own), look(p.std)
		for _, c := range p.children {
			got, want = got+"\n"+look(c[0]), want+"\n"+look(c[1])
		}
		return got + p.funcs[0].String(), want + p.funcs[1].String()
	},
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// kindOf names the parent of a context.
type kindOf struct{ ended, deadline, wrapped bool }

func TestContextIsThatOfPackageContext(t *testing.T) {
	names := []string{"the parent's end", "the clock"}
	for name := range operations {
		names = append(names, name)
	}
	slices.Sort(names)
	step := rapid.Custom(func(t *rapid.T) [2]string {
		return [2]string{rapid.SampledFrom(names).Draw(t, "operation"),
			fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "n"))}
	})
	rapid.Check(t, func(r *rapid.T) {
		of := rapid.Custom(func(t *rapid.T) kindOf {
			return kindOf{rapid.IntRange(0, 9).Draw(t, "ended") == 0, rapid.Bool().Draw(t, "limited"),
				rapid.Bool().Draw(t, "wrapped")}
		}).Draw(r, "parent")
		at := rapid.IntRange(-1, 6).Draw(r, "deadline")
		steps := append(rapid.SliceOfN(step, 1, 20).Draw(r, "steps"), [2]string{"a look", "0"})
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = compareContexts(t, of, at, steps) })
		if problem != "" {
			r.Fatal(problem)
		}
	})
}

// compareContexts does the same with a Context and one of package context, and reports the first
// difference, empty for none. In a bubble the end waits for all goroutines: those of children too.
func compareContexts(t *testing.T, of kindOf, at int, steps [][2]string) string {
	parent, cancel := context.WithCancelCause(
		context.WithValue(t.Context(), contextKey{}, "of the parent"))
	defer cancel(nil)
	if of.deadline {
		var end context.CancelFunc
		parent, end = context.WithTimeoutCause(parent, 3500*time.Millisecond,
			errors.New("the parent's time is over"))
		defer end()
	}
	if of.ended {
		cancel(errors.New("it was over before"))
	}
	p := &pair{parent: parent, ours: &Context{Parent: parent}}
	if at >= 0 {
		p.ours.At = time.Now().Add(time.Duration(at) * time.Second)
	}
	p.wrap = func(ctx context.Context) context.Context {
		if of.wrapped { // as a job's is in the context of its handler
			return context.WithValue(ctx, handlerKey{}, "of a handler")
		}
		return ctx
	}
	p.own = p.wrap(p.ours)
	p.make()
	defer func() {
		p.ours.End()
		p.end()
		for _, c := range p.cancels {
			c(0)
		}
	}()
	done := ""
	for _, s := range steps {
		done += fmt.Sprintf("%s %s, ", s[0], s[1])
		n := int(s[1][0] - '0')
		switch s[0] {
		case "the parent's end":
			cancel(fmt.Errorf("cause %d of the parent", n))
		case "the clock":
			time.Sleep(time.Duration(n) * time.Second)
		default:
			if got, want := operations[s[0]](p, n); got != want {
				return fmt.Sprintf("after %s\n%s\nwant %s", done, got, want)
			}
		}
		synctest.Wait()
	}
	if watchers() > 0 {
		return fmt.Sprintf("after %s\na goroutine waits for the end of a context", done)
	}
	return ""
}

// watchers are the goroutines that package context starts for children of contexts that it does not
// know.
func watchers() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "propagateCancel.func")
}

// unknown is a context that package context does not know.
type unknown struct{ context.Context }

func (unknown) Value(any) any { return nil }

func TestGoroutinesOfUnknownContextsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, end := context.WithCancel(unknown{ctx})
		defer end()
		defer cancel()
		synctest.Wait()
		if watchers() != 1 {
			t.Error("the goroutine of a child of an unknown context is not seen")
		}
	})
}

// The race detector and the mutexes see this.
func TestContextsRace(t *testing.T) {
	for range 200 {
		parent, cancel := context.WithCancel(t.Context())
		outer := &Context{Parent: parent}
		c := &Context{Parent: context.WithValue(outer, contextKey{}, 1),
			At: time.Now().Add(time.Duration(rand.IntN(100)) * time.Microsecond)}
		var all sync.WaitGroup
		for _, do := range []func(){cancel, outer.End, c.End, func() { c.Err() }, func() { c.Done() },
			func() { c.Value(contextKey{}) }, func() { context.AfterFunc(c, func() {}) },
			func() { _, end := context.WithCancel(c); end() }, func() { (&Context{Parent: c}).Done() },
			func() { context.Cause(c) }} {
			all.Go(do)
		}
		all.Wait()
		if err := c.Err(); err == nil || !isClosed(c.Done()) || err != c.Err() {
			t.Errorf("after its end: %v, and then %v", err, c.Err())
		}
	}
}

// An end that nobody needs is noted, whatever comes later.
func TestJobsReportTheFirstOfTwoEnds(t *testing.T) {
	for name, test := range map[string]struct {
		limit, cancelled time.Duration
		want             error
	}{
		"the limit":           {time.Second, time.Second + Grace/4, context.DeadlineExceeded},
		"the client's cancel": {time.Second + Grace/4, time.Second, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool()
				defer p.Close()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(test.cancelled, cancel)
				o := Run(p, Job[int]{Context: ctx, Timeout: test.limit, Grace: Grace,
					Do: func(context.Context) int { time.Sleep(time.Second + Grace/2); return 1 }})
				if o.Abandoned || o.Ended != test.want {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

func TestEndOfAContextHidesThatOfItsParent(t *testing.T) {
	for _, steps := range [][][2]string{
		{{"End", "0"}, {"the parent's end", "1"}, {"Cause", "0"}},
		{{"End", "0"}, {"the parent's end", "1"}, {"WithCancelCause", "0"}, {"a look", "0"}},
		{{"the parent's end", "1"}, {"Err", "0"}, {"the clock", "4"}, {"Err", "0"}, {"a look", "0"}},
		{{"the clock", "4"}, {"Err", "0"}, {"the parent's end", "1"}, {"Err", "0"}, {"a look", "0"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			if problem := compareContexts(t, kindOf{}, 3, steps); problem != "" {
				t.Error(problem)
			}
		})
	}
}

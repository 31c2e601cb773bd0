package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/task"
)

var ada = task.Owner{Subject: "ada", Client: "ide"}

// replica returns a registry on a store, and how many dead runs it has found.
func replica(t *testing.T, s task.Store) (*Registry, *atomic.Int32) {
	t.Helper()
	var dead atomic.Int32
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return New(ctx, Config{Store: s, TTL: time.Hour, Limits: task.Limits{User: 10, Total: 10},
		Log:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		Ended: func(context.Context, task.Record) { dead.Add(1) }}), &dead
}

func create(t *testing.T, r *Registry, authority time.Time) (string, task.Record) {
	t.Helper()
	id, made, err := r.Create(t.Context(), task.Record{Owner: ada, Tool: "slow",
		Arguments: json.RawMessage(`{}`), Authority: authority}, time.Hour)
	if err != nil || len(id) < 26 || made.ID == id {
		t.Fatal(id, made, err)
	}
	return id, made
}

func find(t *testing.T, r *Registry, id string) task.Record {
	t.Helper()
	found, err := r.Find(t.Context(), ada, id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// answering answers, and returns the task if its next run has to be started.
func answering(t *testing.T, r *Registry, of task.Record,
	answers map[string]json.RawMessage) (run task.Record, start bool, _ error) {
	t.Helper()
	err := r.Answer(t.Context(), of, answers, "", time.Time{}, func(now *task.Record) {
		if start = now != nil; start {
			run = *now
		}
	})
	return run, start, err
}

func always(context.Context) bool { return true }

// ends waits until a run's context has ended, and compares the reason.
func ends(t *testing.T, run *Run, ctx context.Context, want error) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(3 * time.Hour):
	}
	if got := run.Why(); !errors.Is(got, want) {
		t.Errorf("the run ended for %v, want %v", got, want)
	}
	if err := run.End(context.Background(), Outcome{Status: task.Failed}); err != nil {
		t.Error(err)
	}
}

func TestRunKeepsItsTaskAliveForAllReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, deadA := replica(t, s)
		b, deadB := replica(t, s)
		id, made := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		run.Progress("half")
		time.Sleep(10 * time.Minute)
		for _, r := range []*Registry{a, b} {
			if got := find(t, r, id); got.Status != task.Working || got.Message != "half" {
				t.Errorf("%+v", got)
			}
		}
		if err := run.End(t.Context(), Outcome{Status: task.Completed,
			Result: json.RawMessage(`{"x":1}`)}); err != nil {
			t.Fatal(err)
		}
		got := find(t, b, id)
		if got.Status != task.Completed || string(got.Result) != `{"x":1}` || got.Arguments != nil {
			t.Errorf("%+v", got)
		}
		if deadA.Load()+deadB.Load() != 0 {
			t.Error("a run that ended counts as dead")
		}
	})
}

// Each replica cancels the waiting tasks of blocked owners, and one of them records the end.
func TestWaitingTasksOfSomeOwnersAreCancelledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, deadA := replica(t, s)
		b, deadB := replica(t, s)
		waiting := func(client string) task.Owner {
			o := task.Owner{Subject: "ada", Client: client}
			_, made, err := a.Create(t.Context(), task.Record{Owner: o, Tool: "slow"}, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			run, _ := a.Start(t.Context(), made, always)
			defer run.Release()
			if err := run.End(t.Context(), Outcome{Status: task.InputRequired,
				Requests: map[string]json.RawMessage{"who": json.RawMessage(`{}`)}}); err != nil {
				t.Fatal(err)
			}
			return o
		}
		blocked, failing := waiting("blocked"), waiting("failing")
		waiting("other")
		_, made := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		defer run.Release()
		why, fault := errors.New("blocked"), errors.New("no answer")
		var wg sync.WaitGroup
		for _, r := range []*Registry{a, b} {
			wg.Go(func() {
				err := r.CancelWaiting(t.Context(), why, func(_ context.Context, o task.Owner) (bool, error) {
					if o == failing {
						return false, fault
					}
					return o == blocked || o == ada, nil
				})
				if !errors.Is(err, fault) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if run.Why() != nil || deadA.Load()+deadB.Load() != 1 {
			t.Errorf("the run ended for %v; %d and %d ends", run.Why(), deadA.Load(), deadB.Load())
		}
		owners, err := s.Owners(t.Context())
		if err != nil || len(owners) != 3 {
			t.Errorf("%v wait or run, %v", owners, err)
		}
		for _, o := range owners {
			if o == blocked {
				t.Error("a task of the blocked owner waits")
			}
		}
	})
}

func TestTaskOfADeadReplicaFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, deadA := replica(t, s)
		b, deadB := replica(t, s)
		c, deadC := replica(t, s)
		id, _ := create(t, a, time.Time{}) // and its run dies
		time.Sleep(lease - time.Second)
		if got := find(t, b, id); got.Status != task.Working {
			t.Errorf("%+v", got)
		}
		time.Sleep(2*renewal + time.Second)
		for _, r := range []*Registry{b, c, b} {
			if got := find(t, r, id); got.Status != task.Failed ||
				!strings.Contains(string(got.Result), "ended without a result") {
				t.Errorf("%+v", got)
			}
		}
		if n := deadA.Load() + deadB.Load() + deadC.Load(); n != 1 {
			t.Errorf("found dead %d times", n)
		}
	})
}

func TestRunEndsWithItsAuthority(t *testing.T) {
	for name, test := range map[string]struct {
		authority time.Duration
		allowed   func(context.Context) bool
		do        func(t *testing.T, other *Registry, id string)
		want      error
	}{
		"the credential": {authority: 90 * time.Second, want: ErrAuthority},
		"the permission": {allowed: func(context.Context) bool { return false },
			want: ErrAuthority},
		"the permission, with a panic": {allowed: func(context.Context) bool { panic("a bug") },
			want: ErrAuthority},
		"the time to live": {want: ErrExpired},
		"another replica cancels": {do: func(t *testing.T, other *Registry, id string) {
			if err := other.Cancel(t.Context(), find(t, other, id), ErrCancelled); err != nil {
				t.Error(err)
			}
		}, want: ErrCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := task.NewMemory()
				a, _ := replica(t, s)
				b, _ := replica(t, s)
				var authority time.Time
				if test.authority > 0 {
					authority = time.Now().Add(test.authority)
				}
				id, made := create(t, a, authority)
				allowed := always
				if test.allowed != nil {
					allowed = test.allowed
				}
				run, ctx := a.Start(t.Context(), made, allowed)
				if test.do != nil {
					test.do(t, b, id)
				}
				ends(t, run, ctx, test.want)
			})
		})
	}
}

func TestNewerCredentialOnAnotherReplicaExtendsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, _ := replica(t, s)
		b, _ := replica(t, s)
		now := time.Now()
		id, made := create(t, a, now.Add(time.Minute))
		run, ctx := a.Start(t.Context(), made, always)
		for _, until := range []time.Duration{30 * time.Second, 10 * time.Minute} {
			if err := b.Extend(t.Context(), find(t, b, id), "", now.Add(until)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(9 * time.Minute)
		if ctx.Err() != nil {
			t.Fatal(run.Why())
		}
		ends(t, run, ctx, ErrAuthority)
		if passed := time.Since(now); passed > 11*time.Minute {
			t.Errorf("it ended after %s", passed)
		}
	})
}

func TestNoReplicaEndsATaskWhoseEndIsBeingRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, _ := replica(t, s)
		b, dead := replica(t, s)
		id, made := create(t, a, time.Time{})
		run, ctx := a.Start(t.Context(), made, always)
		time.Sleep(lease / 2)
		if own, err := run.Claim(t.Context(), time.Hour); !own || err != nil || ctx.Err() == nil {
			t.Fatal(own, err, ctx.Err())
		}
		time.Sleep(time.Hour) // the sink is slow
		if got := find(t, b, id); got.Status != task.Working {
			t.Errorf("%+v", got)
		}
		if err := run.End(t.Context(), Outcome{Status: task.Completed}); err != nil {
			t.Fatal(err)
		}
		run.Release()
		if got := find(t, b, id); got.Status != task.Completed || dead.Load() != 0 ||
			len(a.runs) != 0 {
			t.Errorf("%+v, %d ends, %d runs", got, dead.Load(), len(a.runs))
		}
	})
}

func TestLastAnswerStartsOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, _ := replica(t, s)
		b, dead := replica(t, s)
		id, made := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		question := json.RawMessage(`{}`)
		if err := run.End(t.Context(), Outcome{Status: task.InputRequired, State: "s",
			Requests: map[string]json.RawMessage{"1.x": question, "1.y": question}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * lease) // nothing runs, so nothing is dead
		seen := find(t, b, id)
		answers := func(keys ...string) map[string]json.RawMessage {
			m := map[string]json.RawMessage{}
			for _, k := range keys {
				m[k] = json.RawMessage(`"` + k + `"`)
			}
			return m
		}
		for _, step := range []struct {
			r     *Registry
			give  map[string]json.RawMessage
			start bool
		}{{a, answers("2.x"), false}, {a, answers("1.x"), false}, {b, answers("1.x"), false},
			{b, answers("1.x", "1.y"), true}, {a, answers("1.y"), false}} {
			got, start, err := answering(t, step.r, seen, step.give)
			if err != nil || start != step.start ||
				start && (len(got.Answers) != 2 || got.State != "s" || string(got.Arguments) != "{}") {
				t.Errorf("%v: %v %v %+v", step.give, start, err, got)
			}
		}
		if dead.Load() != 0 {
			t.Error("a waiting task counts as dead")
		}
		big := map[string]json.RawMessage{"1.x": json.RawMessage(strings.Repeat(" ", MaxBytes))}
		next, waiting := create(t, a, time.Time{})
		run, _ = a.Start(t.Context(), waiting, always)
		if err := run.End(t.Context(), Outcome{Status: task.InputRequired,
			Requests: map[string]json.RawMessage{"1.x": question}}); err != nil {
			t.Fatal(err)
		}
		if _, start, err := answering(t, a, find(t, a, next), big); start || !errors.Is(err, ErrTooLarge) {
			t.Error(start, err)
		}
	})
}

func TestTaskThatIsTooLargeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := replica(t, task.NewMemory())
		_, made := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		for _, o := range []Outcome{
			{Status: task.Completed, Result: json.RawMessage(strings.Repeat(" ", MaxBytes+1))},
			{Status: task.InputRequired, State: strings.Repeat(" ", MaxBytes-1)}, // and arguments {}
			{Status: task.InputRequired,
				Requests: map[string]json.RawMessage{strings.Repeat("x", MaxBytes): nil}},
		} {
			if run.Fits(o) {
				t.Errorf("%s of more than %d bytes fits", o.Status, MaxBytes)
			}
		}
		for _, o := range []Outcome{
			{Status: task.Completed, Result: json.RawMessage(strings.Repeat(" ", MaxBytes))},
			{Status: task.InputRequired, State: strings.Repeat(" ", MaxBytes-2)},
		} {
			if !run.Fits(o) {
				t.Errorf("%s of %d bytes does not fit", o.Status, MaxBytes)
			}
		}
		_, _, err := a.Create(t.Context(), task.Record{Owner: ada,
			Arguments: json.RawMessage(strings.Repeat(" ", MaxBytes+1))}, time.Hour)
		if !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
	})
}

func TestTasksInMemoryAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, _ := replica(t, s)
		id, made := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		large := json.RawMessage(strings.Repeat(" ", MaxBytes))
		limits := task.Limits{User: 1000, Total: 1000}
		kept := 0
		for ; kept < 1000; kept++ {
			r := task.Record{ID: strconv.Itoa(kept), Created: time.Now(),
				Owner:   task.Owner{Subject: strconv.Itoa(kept / 32), Client: strconv.Itoa(kept)},
				Expires: time.Now().Add(time.Hour), Arguments: large}
			if err := s.Create(t.Context(), r, limits); errors.Is(err, task.ErrFull) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if kept != 255 {
			t.Errorf("%d tasks of 1 MiB are kept", kept)
		}
		if err := s.Create(t.Context(), task.Record{ID: "small", Owner: ada, Created: time.Now(),
			Expires: time.Now().Add(time.Hour), State: "s"}, limits); err != nil {
			t.Fatal(err)
		}
		if err := run.End(t.Context(), Outcome{Status: task.Completed, Result: large}); err != nil {
			t.Error(err)
		}
		if got := find(t, a, id); got.Status != task.Failed ||
			!strings.Contains(string(got.Result), "no room") {
			t.Errorf("%s %.100s", got.Status, got.Result)
		}
		time.Sleep(time.Hour + cleaning)
		r := task.Record{ID: "x", Owner: ada, Created: time.Now(), Expires: time.Now().Add(time.Hour),
			Arguments: large}
		if err := s.Create(t.Context(), r, limits); err != nil {
			t.Errorf("after the others have expired: %v", err)
		}
	})
}

// The client can cancel a task before its run has started, and nothing of it runs then.
func TestRunOfACancelledTaskDoesNotStart(t *testing.T) {
	a, _ := replica(t, task.NewMemory())
	_, made := create(t, a, time.Time{})
	if err := a.Cancel(t.Context(), made, ErrCancelled); err != nil {
		t.Fatal(err)
	}
	run, ctx := a.Start(t.Context(), made, always)
	defer run.Release()
	if !errors.Is(run.Why(), ErrCancelled) || ctx.Err() == nil {
		t.Errorf("the run starts: %v", run.Why())
	}
}

// A task ends also if its user has filled the memory, in the words of the server if not in its own.
func TestTaskEndsInFullMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, _ := replica(t, s)
		var ids []string
		var runs []*Run
		for range 2 {
			id, made := create(t, a, time.Time{})
			run, _ := a.Start(t.Context(), made, always)
			ids, runs = append(ids, id), append(runs, run)
		}
		fill := func(id, bytes int) error {
			return s.Create(t.Context(), task.Record{ID: strconv.Itoa(id), Owner: ada,
				Created: time.Now(), Expires: time.Now().Add(time.Hour),
				Arguments: json.RawMessage(strings.Repeat(" ", bytes))},
				task.Limits{User: 1 << 20, Total: 1 << 20})
		}
		id := 0
		for bytes := MaxBytes; bytes > 0; id++ {
			if fill(id, bytes) != nil {
				bytes /= 2
			}
		}
		large := json.RawMessage(strings.Repeat(" ", MaxBytes))
		if err := runs[0].End(t.Context(), Outcome{Status: task.Completed, Result: large}); err != nil {
			t.Error(err)
		}
		if got := find(t, a, ids[0]); got.Status != task.Failed ||
			!strings.Contains(string(got.Result), "no room") {
			t.Errorf("%s %.100s", got.Status, got.Result)
		}
		runs[1].Release() // it has died
		time.Sleep(lease + cleaning)
		if got := find(t, a, ids[1]); got.Status != task.Failed {
			t.Errorf("a lost task is %s", got.Status)
		}
	})
}

// One user, by any of its clients, leaves room for the others.
func TestTasksOfOneUserInMemoryAreBounded(t *testing.T) {
	s := task.NewMemory()
	add := func(o task.Owner, id, bytes int) error {
		return s.Create(t.Context(), task.Record{ID: strconv.Itoa(id), Owner: o, Created: time.Now(),
			Expires:   time.Now().Add(time.Hour),
			Arguments: json.RawMessage(strings.Repeat(" ", bytes))}, task.Limits{User: 99, Total: 99})
	}
	for i := range 32 {
		if err := add(task.Owner{Subject: "ada", Client: strconv.Itoa(i % 2)}, i, MaxBytes); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := add(ada, 32, 1); !errors.Is(err, task.ErrFull) {
		t.Error(err)
	}
	if err := add(task.Owner{Subject: "bob"}, 33, MaxBytes); err != nil {
		t.Error(err)
	}
	if _, err := s.Change(t.Context(), task.Owner{Subject: "ada", Client: "0"}, "0",
		func(r *task.Record) error { r.Arguments = r.Arguments[1:]; return nil }); err != nil {
		t.Error(err)
	}
	if err := add(ada, 34, 1); err != nil {
		t.Errorf("after a task has shrunk: %v", err)
	}
}

func TestDroppedAndExpiredTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := task.NewMemory()
		a, _ := replica(t, s)
		id, made := create(t, a, time.Time{})
		a.Drop(t.Context(), made)
		if _, err := a.Find(t.Context(), ada, id); !errors.Is(err, task.ErrUnknown) {
			t.Error(err)
		}
		time.Sleep(2 * cleaning)
		if _, err := s.Get(t.Context(), ada, made.ID); !errors.Is(err, task.ErrUnknown) {
			t.Errorf("the store was not cleaned: %v", err)
		}
	})
}

// TestEachTaskHasOneEnd has tasks that nobody reads, whose run does not record how they end.
func TestEachTaskHasOneEnd(t *testing.T) {
	asks := Outcome{Status: task.InputRequired,
		Requests: map[string]json.RawMessage{"1.x": json.RawMessage(`{}`)}}
	for name, test := range map[string]struct {
		do     func(t *testing.T, a, b *Registry, id string, made task.Record)
		within time.Duration
		ends   int32 // beside what its run records
		want   task.Status
	}{
		"its replica dies": {func(*testing.T, *Registry, *Registry, string, task.Record) {},
			lease + cleaning, 1, task.Failed},
		"it waits until it expires": {func(t *testing.T, a, _ *Registry, _ string, made task.Record) {
			run, _ := a.Start(t.Context(), made, always)
			if err := run.End(t.Context(), asks); err != nil {
				t.Error(err)
			}
		}, 2*time.Hour + cleaning, 1, task.Failed},
		"it waits and is cancelled": {func(t *testing.T, a, b *Registry, id string, made task.Record) {
			run, _ := a.Start(t.Context(), made, always)
			if err := errors.Join(run.End(t.Context(), asks),
				b.Cancel(t.Context(), find(t, b, id), ErrCancelled)); err != nil {
				t.Error(err)
			}
		}, 0, 1, task.Cancelled},
		"it is cancelled and asks": {func(t *testing.T, a, b *Registry, id string, made task.Record) {
			run, _ := a.Start(t.Context(), made, always)
			if err := errors.Join(b.Cancel(t.Context(), find(t, b, id), ErrCancelled),
				run.End(t.Context(), asks)); err != nil {
				t.Error(err)
			}
		}, 0, 1, task.Cancelled},
		"it is cancelled and ends": {func(t *testing.T, a, b *Registry, id string, made task.Record) {
			run, _ := a.Start(t.Context(), made, always)
			if err := errors.Join(b.Cancel(t.Context(), find(t, b, id), ErrCancelled),
				run.End(t.Context(), Outcome{Status: task.Completed})); err != nil {
				t.Error(err)
			}
		}, 0, 0, task.Cancelled},
		"it is cancelled and its replica dies": {func(t *testing.T, _, b *Registry, id string,
			_ task.Record) {
			if err := b.Cancel(t.Context(), find(t, b, id), ErrCancelled); err != nil {
				t.Error(err)
			}
		}, lease + cleaning, 1, task.Cancelled},
		"it is claimed, and its replica dies before the record": {func(t *testing.T, a, _ *Registry,
			_ string, made task.Record) {
			run, _ := a.Start(t.Context(), made, always)
			if own, err := run.Claim(t.Context(), time.Minute); !own || err != nil {
				t.Error(own, err)
			}
			run.Release()
		}, time.Minute + lease + cleaning, 1, task.Failed},
		"its answers are not recorded": {func(t *testing.T, a, b *Registry, id string,
			made task.Record) {
			run, _ := a.Start(t.Context(), made, always)
			if err := run.End(t.Context(), asks); err != nil {
				t.Error(err)
			}
			answered, start, err := answering(t, b, find(t, b, id),
				map[string]json.RawMessage{"1.x": json.RawMessage(`{}`)})
			if !start || err != nil {
				t.Error(start, err)
			}
			b.Drop(t.Context(), answered)
		}, 0, 1, task.Failed},
		"its call is not recorded": {func(t *testing.T, a, _ *Registry, _ string, made task.Record) {
			a.Drop(t.Context(), made)
		}, 0, 0, task.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &witness{Store: task.NewMemory()}
				a, inA := replica(t, s)
				b, inB := replica(t, s)
				id, made := create(t, a, time.Time{})
				test.do(t, a, b, id, made)
				time.Sleep(test.within)
				status := s.status()
				if got := inA.Load() + inB.Load(); got != test.ends || status != test.want {
					t.Errorf("%d ends, %s after %s", got, status, test.within)
				}
				time.Sleep(3 * time.Hour)
				if _, err := s.Get(t.Context(), ada, made.ID); !errors.Is(err, task.ErrUnknown) {
					t.Errorf("it is kept after its time to live: %v", err)
				}
				if got := inA.Load() + inB.Load(); got != test.ends {
					t.Errorf("%d ends", got)
				}
			})
		})
	}
}

// witness is a store that keeps the newest state of its one task.
type witness struct {
	task.Store
	mu   sync.Mutex
	last task.Record
}

func (w *witness) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, err := w.Store.Change(ctx, o, id, change)
	if err == nil {
		w.last = r
	}
	return r, err
}

func (w *witness) status() task.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.Status
}

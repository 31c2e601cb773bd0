package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/task"
)

// The faults of a store.
const (
	healthy int32 = iota
	down          // each use fails
	hanging       // no use returns before its context ends
	panicking
	readOnly // each change fails
	unsaid   // each change is made, and fails
)

var errDown = errors.New("down")

// faulty is a store with a fault. It counts its reads and its changes.
type faulty struct {
	task.Store
	fault          atomic.Int32
	reads, changes atomic.Int64
}

func (f *faulty) obey(ctx context.Context) error {
	switch f.fault.Load() {
	case down:
		return errDown
	case hanging:
		<-ctx.Done()
		return ctx.Err()
	case panicking:
		panic("a nil pointer in a driver")
	}
	return nil
}

// write makes a change.
func (f *faulty) write(ctx context.Context, do func() error) error {
	f.changes.Add(1)
	err := f.obey(ctx)
	switch {
	case err != nil:
	case f.fault.Load() == readOnly:
		err = errDown
	default:
		if err = ctx.Err(); err == nil {
			err = do()
		}
		if err == nil && f.fault.Load() == unsaid {
			err = errDown
		}
	}
	return err
}

func (f *faulty) Create(ctx context.Context, r task.Record, l task.Limits) error {
	return f.write(ctx, func() error { return f.Store.Create(ctx, r, l) })
}

func (f *faulty) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (r task.Record, err error) {
	err = f.write(ctx, func() error {
		r, err = f.Store.Change(ctx, o, id, change)
		return err
	})
	if err != nil {
		return task.Record{}, err
	}
	return r, nil
}

func (f *faulty) Purge(ctx context.Context, now time.Time) error {
	return f.write(ctx, func() error { return f.Store.Purge(ctx, now) })
}

func (f *faulty) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	f.reads.Add(1)
	if err := f.obey(ctx); err != nil {
		return task.Record{}, err
	}
	return f.Store.Get(ctx, o, id)
}

func (f *faulty) Due(ctx context.Context, ids []string) (map[string]time.Time, error) {
	f.reads.Add(1)
	if err := f.obey(ctx); err != nil {
		return nil, err
	}
	return f.Store.Due(ctx, ids)
}

func (f *faulty) Lost(ctx context.Context, now time.Time, most int) ([]task.Record, error) {
	f.reads.Add(1)
	if err := f.obey(ctx); err != nil {
		return nil, err
	}
	return f.Store.Lost(ctx, now, most)
}

var faults = map[string]int32{"down": down, "hanging": hanging, "panicking": panicking,
	"read-only": readOnly, "without confirmation": unsaid}

// eachFault runs a test for each fault.
func eachFault(t *testing.T, test func(t *testing.T, fault int32)) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) { test(t, fault) })
	}
}

// onFaulty returns a store and two replicas on it, and how many dead runs they have found.
func onFaulty(t *testing.T) (s *faulty, a, b *Registry, dead func() int32) {
	s = &faulty{Store: task.NewMemory()}
	a, inA := replica(t, s)
	b, inB := replica(t, s)
	return s, a, b, func() int32 { return inA.Load() + inB.Load() }
}

var result = Outcome{Status: task.Completed, Result: json.RawMessage(`{"x":1}`)}

// An outage of any length costs no work of a replica that lives: neither that of running handlers,
// nor results that wait for the store.
func TestRunsAndTheirResultsOutliveAnOutage(t *testing.T) {
	for _, length := range []time.Duration{lease / 2, 2 * lease, time.Hour} {
		eachFault(t, func(t *testing.T, fault int32) {
			synctest.Test(t, func(t *testing.T) {
				s, a, b, dead := onFaulty(t)
				idRuns, runs := create(t, a, time.Time{})
				idWaits, waits := create(t, a, time.Time{})
				idEnds, ends := create(t, a, time.Time{})
				running, ctx := a.Start(t.Context(), runs, always)
				waiting, _ := a.Start(t.Context(), waits, always)
				ending, _ := a.Start(t.Context(), ends, always)
				defer running.Release()
				if own, err := ending.Claim(t.Context(), 0); !own || err != nil {
					t.Fatal(own, err)
				}
				s.fault.Store(fault)
				kept := make(chan error, 2)
				go func() {
					defer ending.Release()
					kept <- ending.End(t.Context(), result)
				}()
				go func() {
					defer waiting.Release()
					own, err := waiting.Claim(t.Context(), 0)
					if !own {
						t.Error("the run has lost its task")
					}
					kept <- errors.Join(err, waiting.End(t.Context(), result))
				}()
				time.Sleep(length)
				s.fault.Store(healthy)
				for range 2 {
					if err := <-kept; err != nil {
						t.Error(err)
					}
				}
				time.Sleep(2 * lease)
				if err := ctx.Err(); err != nil {
					t.Fatal(running.Why())
				}
				if own, err := running.Claim(t.Context(), 0); !own || err != nil {
					t.Fatal(own, err)
				}
				if err := running.End(t.Context(), result); err != nil {
					t.Fatal(err)
				}
				for _, id := range []string{idRuns, idWaits, idEnds} {
					if got := find(t, b, id); got.Status != task.Completed || got.Result == nil {
						t.Errorf("after %s: %+v", length, got)
					}
				}
				if dead() != 0 {
					t.Errorf("%d runs count as dead", dead())
				}
			})
		})
	}
}

// The replicas look for lost tasks at other moments than a run for its store. At whichever moment
// the store accepts changes again, no replica is faster than the run.
func TestNoReplicaIsFasterThanARunAfterAnOutage(t *testing.T) {
	for after := range 90 {
		length := renewal + time.Duration(after)*time.Second + time.Second/2
		for name, elsewhere := range map[string]bool{"elsewhere": true, "in its process": false} {
			synctest.Test(t, func(t *testing.T) {
				s := &faulty{Store: task.NewMemory()}
				b, dead := replica(t, s)
				a := b
				if elsewhere {
					a, _ = replica(t, s)
				}
				time.Sleep(time.Minute + time.Second/4) // the run looks after the others
				id, made := create(t, a, time.Time{})
				run, ctx := a.Start(t.Context(), made, always)
				defer run.Release()
				s.fault.Store(readOnly)
				time.Sleep(length)
				s.fault.Store(healthy)
				time.Sleep(time.Minute)
				if got := find(t, b, id); got.Status != task.Working || dead.Load() != 0 ||
					ctx.Err() != nil {
					t.Errorf("after %s, %s: %s, %d ends", length, name, got.Status, dead.Load())
				}
			})
		}
	}
}

// late is a store that makes a task after it has reported an error.
type late struct {
	task.Store
	after time.Duration
}

func (l late) Create(_ context.Context, r task.Record, limits task.Limits) error {
	time.AfterFunc(l.after, func() {
		_ = l.Store.Create(context.Background(), r, limits) // the test counts them
	})
	return errDown
}

func TestTaskThatIsMadeAfterAnErrorTakesNoPlace(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, lease / 2, lease - 2*time.Second} {
		after += time.Second / 2
		synctest.Test(t, func(t *testing.T) {
			m := task.NewMemory()
			a, dead := replica(t, late{m, after})
			one := task.Limits{User: 1, Total: 1}
			if _, _, err := a.Create(t.Context(), task.Record{Owner: ada}, time.Hour); err == nil {
				t.Fatal("created")
			}
			time.Sleep(after + time.Millisecond)
			if err := m.Create(t.Context(), task.Record{ID: "x", Owner: ada, Created: time.Now(),
				Expires: time.Now().Add(time.Hour)}, one); !errors.Is(err, task.ErrFull) {
				t.Fatal("the store has not made it:", err)
			}
			time.Sleep(2 * renewal)
			if err := m.Create(t.Context(), task.Record{ID: "x", Owner: ada, Created: time.Now(),
				Expires: time.Now().Add(time.Hour)}, one); err != nil || dead.Load() != 0 {
				t.Errorf("made after %s: %v, %d ends", after, err, dead.Load())
			}
		})
	}
}

// A task whose replica died before or during an outage ends once, after the others had their time.
func TestTaskOfADeadReplicaEndsOnceAfterAnOutage(t *testing.T) {
	eachFault(t, func(t *testing.T, fault int32) {
		synctest.Test(t, func(t *testing.T) {
			s, a, b, dead := onFaulty(t)
			id, _ := create(t, a, time.Time{}) // its replica dies
			s.fault.Store(fault)
			time.Sleep(10 * time.Minute)
			if dead() != 0 {
				t.Errorf("%d ends that no store has", dead())
			}
			s.fault.Store(healthy)
			time.Sleep(2*lease + 2*renewal)
			if got := find(t, b, id); got.Status != task.Failed || dead() != 1 {
				t.Errorf("%s, %d ends", got.Status, dead())
			}
		})
	})
}

// refusing is a store that refuses each change of one task.
type refusing struct {
	task.Store
	id string
}

func (r *refusing) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	if id == r.id {
		return task.Record{}, errors.New("this row is damaged")
	}
	return r.Store.Change(ctx, o, id, change)
}

// One task that the store cannot change, such as a damaged row, is no outage.
func TestTaskThatCannotBeChangedKeepsNoOtherFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &refusing{Store: task.NewMemory()}
		r, dead := replica(t, s)
		_, damaged := create(t, r, time.Time{})
		s.id = damaged.ID
		id, _ := create(t, r, time.Time{})
		time.Sleep(4 * lease)
		if got := find(t, r, id); got.Status != task.Failed || dead.Load() != 1 {
			t.Errorf("%s, %d ends", got.Status, dead.Load())
		}
	})
}

// slow is a store whose purge does not return before its context ends.
type slow struct{ *faulty }

func (slow) Purge(ctx context.Context, _ time.Time) error {
	<-ctx.Done()
	return ctx.Err()
}

// The run renews its lease as soon as the store is back, whatever else waits for the store.
func TestPurgeThatHangsKeepsNoRunFromItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slow{&faulty{Store: task.NewMemory()}}
		r, _ := replica(t, s)
		_, made := create(t, r, time.Time{})
		run, _ := r.Start(t.Context(), made, always)
		defer run.Release()
		time.Sleep(cleaning - renewal)
		s.fault.Store(down)
		time.Sleep(renewal + 2*PollInterval) // it purges
		s.fault.Store(healthy)
		time.Sleep(lease - renewal)
		if got, err := s.Get(t.Context(), ada, made.ID); err != nil || !time.Now().Before(got.Lease) {
			t.Errorf("%v, the lease ended at %s, it is %s", err, got.Lease, time.Now())
		}
	})
}

// A replica that has just started does not know whether the others could reach the store.
func TestReplicaThatStartsAfterAnOutageEndsNoRunThatIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: task.NewMemory()}
		a, _ := replica(t, s)
		id, made := create(t, a, time.Time{})
		run, ctx := a.Start(t.Context(), made, always)
		defer run.Release()
		s.fault.Store(down)
		time.Sleep(10 * time.Minute)
		b, dead := replica(t, s.Store) // reaches it before the other one does
		if got := find(t, b, id); got.Status != task.Working {
			t.Errorf("%+v", got)
		}
		time.Sleep(lease - 2*PollInterval)
		s.fault.Store(healthy)
		time.Sleep(10 * time.Minute)
		if got := find(t, b, id); got.Status != task.Working || dead.Load() != 0 || ctx.Err() != nil {
			t.Errorf("%+v, %d ends", got, dead.Load())
		}
	})
}

// A replica that alone cannot reach the store loses its tasks, and records no end of them.
func TestRunThatWasTakenForDeadChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: task.NewMemory()}
		a, _ := replica(t, s)
		b, dead := replica(t, s.Store)
		id, made := create(t, a, time.Time{})
		goes, on := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		defer run.Release()
		going, ctx := a.Start(t.Context(), on, always)
		defer going.Release()
		time.Sleep(time.Minute)
		s.fault.Store(down)
		claimed := make(chan bool)
		go func() {
			own, err := run.Claim(t.Context(), 0)
			claimed <- own || err != nil
		}()
		time.Sleep(2 * lease)
		for _, id := range []string{id, goes} {
			if got := find(t, b, id); got.Status != task.Failed {
				t.Fatalf("%+v", got)
			}
		}
		s.fault.Store(healthy)
		if <-claimed {
			t.Error("the run has its task")
		}
		time.Sleep(2 * PollInterval)
		if !errors.Is(going.Why(), ErrCancelled) || ctx.Err() == nil {
			t.Error("the handler goes on:", going.Why())
		}
		if err := run.End(t.Context(), result); err != nil {
			t.Error(err)
		}
		if got := find(t, b, id); got.Status != task.Failed || dead.Load() != 2 {
			t.Errorf("%+v, %d ends", got, dead.Load())
		}
		time.Sleep(3 * time.Hour)
		if own, err := run.Claim(context.Background(), 0); own || err != nil {
			t.Errorf("of a deleted task: %v, %v", own, err)
		}
	})
}

// The result of a run waits until its task expires, or until the server stops.
func TestResultDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: task.NewMemory()}
		a, _ := replica(t, s)
		_, made := create(t, a, time.Time{})
		run, _ := a.Start(t.Context(), made, always)
		defer run.Release()
		s.fault.Store(down)
		err := run.End(t.Context(), result)
		if late := time.Since(made.Expires); !errors.Is(err, errDown) || late < 0 || late > 2*renewal {
			t.Errorf("%v, %s after the task has expired", err, late)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the server stops
		began := time.Now()
		if err := run.End(ctx, result); !errors.Is(err, errDown) || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A store that has a fault lets no run outlive its credential, its permission or its time to live.
func TestRunEndsWithItsAuthorityDuringAnOutage(t *testing.T) {
	for name, test := range map[string]struct {
		authority, within time.Duration
		allowed           bool
		want              error
	}{
		"the credential":   {20 * time.Minute, 20*time.Minute + 2*writing, true, ErrAuthority},
		"the permission":   {0, 5*time.Minute + renewal + 2*writing, false, ErrAuthority},
		"the time to live": {0, 2*time.Hour + 2*writing, true, ErrExpired},
	} {
		eachFault(t, func(t *testing.T, fault int32) {
			synctest.Test(t, func(t *testing.T) {
				s, a, _, _ := onFaulty(t)
				began, authority := time.Now(), time.Time{}
				if test.authority != 0 {
					authority = began.Add(test.authority)
				}
				var allowed atomic.Bool
				allowed.Store(true)
				_, made := create(t, a, authority)
				run, ctx := a.Start(t.Context(), made,
					func(context.Context) bool { return allowed.Load() })
				defer run.Release()
				time.Sleep(time.Minute)
				s.fault.Store(fault)
				time.Sleep(4 * time.Minute)
				allowed.Store(test.allowed)
				<-ctx.Done()
				if passed := time.Since(began); !errors.Is(run.Why(), test.want) || passed > test.within {
					t.Errorf("%s: %v after %s", name, run.Why(), passed)
				}
			})
		})
	}
}

// Each change by a request is made, or is undone, whatever becomes of the request and of the store.
func TestChangeOfARequestIsMadeOrUndone(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	asks := Outcome{Status: task.InputRequired,
		Requests: map[string]json.RawMessage{"1.x": json.RawMessage(`{}`)}}
	full := func(t *testing.T, r *Registry) error {
		_, _, err := r.Create(t.Context(), task.Record{Owner: ada}, time.Hour)
		return err
	}
	asking := func(t *testing.T, r *Registry) task.Record {
		id, made := create(t, r, time.Time{})
		run, _ := r.Start(t.Context(), made, always)
		defer run.Release()
		if err := run.End(t.Context(), asks); err != nil {
			t.Fatal(err)
		}
		return find(t, r, id)
	}
	eachFault(t, func(t *testing.T, fault int32) {
		synctest.Test(t, func(t *testing.T) {
			s, a, b, dead := onFaulty(t)
			get := func(of task.Record) task.Record {
				t.Helper()
				now, err := s.Store.Get(t.Context(), ada, of.ID)
				if err != nil {
					t.Fatal(err)
				}
				return now
			}
			dropped, toCancel, toAnswer := asking(t, a), asking(t, a), asking(t, a)
			_, running := create(t, a, time.Time{})
			run, ctx := a.Start(t.Context(), running, always)
			context.AfterFunc(ctx, func() { // the handler returns
				defer run.Release()
				if err := run.End(t.Context(), result); err != nil {
					t.Error(err)
				}
			})
			var starts []task.Record
			done := 0
			start := func(now *task.Record) {
				if done++; now != nil {
					starts = append(starts, *now)
					run, _ := a.Start(t.Context(), *now, always)
					t.Cleanup(run.Release)
				}
			}
			answers := map[string]json.RawMessage{"1.x": json.RawMessage(`{}`)}
			if err := a.Answer(gone, dropped, answers, "", time.Time{}, start); err != nil ||
				len(starts) != 1 {
				t.Fatal(err, starts)
			}
			a.running(dropped.ID).Release()
			dropped, starts, done = starts[0], nil, 0
			_, made, err := a.Create(gone, task.Record{Owner: ada, Tool: "gone"}, time.Hour)
			if err != nil || get(made).Tool != "gone" {
				t.Error("a request that has ended creates no whole task:", err)
			}
			a.Drop(gone, made)

			s.fault.Store(fault)
			for range 4 { // of the 10 places of ada, 4 are taken
				if err := full(t, a); !errors.Is(err, errDown) && fault != hanging && fault != panicking ||
					err == nil {
					t.Error(err)
				}
			}
			_, extra, err := a.Create(gone, task.Record{Owner: ada}, time.Hour)
			for _, err := range []error{err, a.Cancel(gone, toCancel, ErrCancelled), a.Cancel(gone,
				running, ErrCancelled),
				a.Answer(gone, toAnswer, answers, "", time.Time{}, start)} {
				if err == nil || errors.Is(err, task.ErrUnknown) {
					t.Error(err)
				}
			}
			a.Drop(gone, dropped)
			s.fault.CompareAndSwap(unsaid, down)
			time.Sleep(10 * time.Minute)
			s.fault.Store(healthy)
			time.Sleep(2*lease + 2*renewal)

			if now, err := s.Store.Get(t.Context(), ada, extra.ID); !errors.Is(err, task.ErrUnknown) &&
				(err != nil || time.Now().Before(now.Expires) || now.Run != "") {
				t.Errorf("a task that its client does not know: %+v, %v", now, err)
			}
			for range 6 {
				if err := full(t, b); err != nil {
					t.Errorf("a place of its user is taken: %v", err)
				}
			}
			if now := get(toCancel); now.Status != task.Cancelled || now.Run != "" {
				t.Errorf("the cancelled task: %+v", now)
			}
			if now := get(running); now.Status != task.Cancelled || ctx.Err() == nil {
				t.Errorf("the cancelled run: %+v", now)
			}
			if now := get(dropped); now.Status != task.Failed || now.Run != "" {
				t.Errorf("the dropped task: %+v", now)
			}
			if now := get(toAnswer); done != 1 || len(starts) != 1 || starts[0].Run != now.Run ||
				len(now.Answers) != 1 {
				t.Errorf("the answered task: %+v, %+v", now, starts)
			}
			if got := dead(); got != 2 { // of toCancel and dropped; the run records its own
				t.Errorf("%d ends", got)
			}
		})
	})
}

// A task of a run that asks, and was cancelled meanwhile, has its end recorded once.
func TestCancelledTaskThatAsksEndsOnceAfterAnOutage(t *testing.T) {
	eachFault(t, func(t *testing.T, fault int32) {
		synctest.Test(t, func(t *testing.T) {
			s, a, b, dead := onFaulty(t)
			id, made := create(t, a, time.Time{})
			run, _ := a.Start(t.Context(), made, always)
			if err := b.Cancel(t.Context(), find(t, b, id), ErrCancelled); err != nil {
				t.Fatal(err)
			}
			s.fault.Store(fault)
			time.AfterFunc(time.Minute, func() { s.fault.Store(healthy) })
			err := run.End(t.Context(), Outcome{Status: task.InputRequired,
				Requests: map[string]json.RawMessage{"1.x": json.RawMessage(`{}`)}})
			run.Release()
			time.Sleep(2*lease + 2*renewal)
			if got := find(t, b, id); err != nil || got.Status != task.Cancelled || got.Run != "" ||
				dead() != 1 {
				t.Errorf("%v, %s, %d ends", err, got.Status, dead())
			}
		})
	})
}

// All runs of a process share one read a second. Changes by another replica reach each of them
// within two.
func TestReadsDoNotGrowWithTheNumberOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: task.NewMemory()}
		limits := task.Limits{User: 1000, Total: 1000}
		a := New(t.Context(), Config{Store: s, TTL: time.Hour, Limits: limits})
		b, _ := replica(t, s)
		var runs []*Run
		var ids []string
		for range 500 {
			id, made := create(t, a, time.Time{})
			run, _ := a.Start(t.Context(), made, always)
			defer run.Release()
			runs, ids = append(runs, run), append(ids, id)
		}
		time.Sleep(PollInterval)
		reads, changes := s.reads.Load(), s.changes.Load()
		const minute = int64(time.Minute / PollInterval)
		time.Sleep(time.Minute)
		reads, changes = s.reads.Load()-reads, s.changes.Load()-changes
		if reads > minute+2*minute/10+4 || changes > int64(len(runs))*6+4 {
			t.Errorf("%d runs: %d reads and %d changes in a minute", len(runs), reads, changes)
		}
		for _, id := range ids[:10] {
			if err := b.Cancel(t.Context(), find(t, b, id), ErrCancelled); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2 * PollInterval)
		for i, run := range runs {
			if (run.Why() != nil) != (i < 10) {
				t.Errorf("run %d: %v", i, run.Why())
			}
		}
	})
}

// The program's store runs on goroutines of the registry: its panic must not end the process.
func TestStoreThatPanicsEndsNoProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Store: task.NewMemory()}
		ctx, cancel := context.WithCancel(t.Context())
		a := New(ctx, Config{Store: s, TTL: time.Hour, Limits: task.Limits{User: 9, Total: 9},
			Log: slog.New(panics{slog.NewTextHandler(io.Discard, nil)})})
		s.fault.Store(panicking)
		if _, _, err := a.Create(t.Context(), task.Record{Owner: ada}, time.Hour); !errors.Is(err,
			ErrPanicked) {
			t.Error(err)
		}
		time.Sleep(2 * cleaning)
		s.fault.Store(healthy)
		time.Sleep(2 * cleaning) // it goes on
		cancel()
		synctest.Wait()
		if len(a.again) != 0 {
			t.Errorf("%d changes are left", len(a.again))
		}
	})
}

// panics is a log handler.
type panics struct{ slog.Handler }

func (panics) Handle(context.Context, slog.Record) error { panic("the log handler") }

// A user cannot take the place of the changes of others, which are made again.
func TestChangesOfAUserThatAreMadeAgainAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a, _, _ := onFaulty(t)
		eve := task.Owner{Subject: "eve", Client: "ide"}
		a.Limits.User = 5
		_, made, err := a.Create(t.Context(), task.Record{Owner: eve}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		s.fault.Store(down)
		for range 50 {
			_, _, _ = a.Create(t.Context(), task.Record{Owner: ada}, time.Hour)
		}
		if err := a.Cancel(t.Context(), made, ErrCancelled); !errors.Is(err, errDown) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		s.fault.Store(healthy)
		time.Sleep(2 * renewal)
		now, err := s.Store.Get(t.Context(), eve, made.ID)
		if err != nil || now.Status != task.Cancelled {
			t.Errorf("the cancelled task is %s, %v", now.Status, err)
		}
	})
}

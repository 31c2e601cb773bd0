package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/task"
)

var bob = task.Owner{Issuer: "https://id.example", Subject: "bob", Client: "ide"}

func newTask(o task.Owner, id string) task.Record {
	now := time.Now().UTC().Truncate(time.Microsecond)
	return task.Record{ID: id, Owner: o, Tool: "slow", RequestID: "r", Status: task.Working,
		Created: now, Updated: now, Expires: now.Add(time.Hour), Run: "a", Lease: now.Add(time.Minute),
		Arguments: json.RawMessage(`{"text":"a\u0000b"}`)}
}

var roomy = task.Limits{User: 100, Total: 100}

// stores runs a test on a memory store, SQLite and PostgreSQL; two handles of one store each.
func stores(t *testing.T, test func(t *testing.T, a, b task.Store)) {
	t.Run("memory", func(t *testing.T) {
		m := task.NewMemory()
		test(t, m, m)
	})
	both(t, func(t *testing.T, url string) { test(t, open(t, url).Tasks(), open(t, url).Tasks()) })
}

func TestTaskIsKeptForItsOwnerAlone(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		ctx, want := t.Context(), newTask(bob, "t1")
		if err := a.Create(ctx, want, roomy); err != nil {
			t.Fatal(err)
		}
		got := must(b.Get(ctx, bob, "t1"))
		if !sameTask(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		for _, other := range []task.Owner{
			{}, {Issuer: bob.Issuer, Subject: bob.Subject}, {Subject: "bob", Client: "ide"},
			{Issuer: bob.Issuer, Subject: "eve", Client: "ide"},
			{Issuer: bob.Issuer, Subject: "bob", Client: "web"},
			{Issuer: bob.Issuer, Subject: "bob", Client: "ide", Actor: "agent"},
		} {
			_, err := b.Get(ctx, other, "t1")
			_, changed := b.Change(ctx, other, "t1", func(*task.Record) error { return nil })
			if !errors.Is(err, task.ErrUnknown) || !errors.Is(changed, task.ErrUnknown) {
				t.Errorf("%+v: %v, %v", other, err, changed)
			}
		}
		_, err := b.Get(ctx, bob, "t2")
		if !errors.Is(err, task.ErrUnknown) {
			t.Error(err)
		}
	})
}

func TestOwnersAreThoseOfTasksThatHaveNotEnded(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		ctx, by := t.Context(), bob
		by.ActorIssuer, by.Actor = "https://id.example", "bot"
		waits, ended := newTask(by, "waits"), newTask(bob, "ended")
		waits.Status, waits.Run = task.InputRequired, ""
		ended.Status, ended.Run = task.Completed, ""
		for _, r := range []task.Record{newTask(bob, "works"), waits, ended} {
			if err := a.Create(ctx, r, roomy); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]task.Owner{"works": bob, "waits": by}
		if got := must(b.Owners(ctx)); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestOwnersWithTheSameColumnsAreApart(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s := t.Context(), open(t, url).Tasks()
		odd := task.Owner{Subject: "a\x00b"}
		if err := s.Create(ctx, newTask(odd, "t"), roomy); err != nil {
			t.Fatal(err)
		}
		must(s.Get(ctx, odd, "t"))
		if _, err := s.Get(ctx, task.Owner{Subject: "a\uFFFDb"}, "t"); !errors.Is(err, task.ErrUnknown) {
			t.Error(err)
		}
	})
}

func TestDueIsThatOfTheTasksThatAreAsked(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		ctx, ids := t.Context(), []string{"unknown"}
		limits := task.Limits{User: 1000, Total: 1000}
		want := map[string]time.Time{}
		for i := range 250 { // more than one statement has
			r := newTask(task.Owner{Subject: strconv.Itoa(i % 3)}, strconv.Itoa(i))
			r.Lease = r.Lease.Add(time.Duration(i) * time.Microsecond)
			do(t, a.Create(ctx, r, limits))
			if i%50 == 0 {
				must(a.Change(ctx, r.Owner, r.ID, func(r *task.Record) error {
					r.Status, r.Run = task.Completed, ""
					return nil
				}))
			} else if i != 1 {
				want[r.ID] = r.Lease
			}
			if i != 1 {
				ids = append(ids, r.ID)
			}
		}
		got := must(b.Due(ctx, ids))
		if !maps.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%d of %d: %v", len(got), len(want), got)
		}
		if got := must(b.Due(ctx, nil)); len(got) != 0 {
			t.Error(got)
		}
	})
}

// A change may end the time to live of a task, whose place is then free.
func TestTimeToLiveOfATaskIsChanged(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		ctx, one := t.Context(), task.Limits{User: 1, Total: 1}
		first := newTask(bob, "first")
		do(t, a.Create(ctx, first, one))
		must(a.Change(ctx, bob, "first", func(r *task.Record) error {
			r.Status, r.Run, r.Expires = task.Failed, "", r.Created
			return nil
		}))
		do(t, b.Create(ctx, newTask(bob, "second"), one))
		do(t, b.Purge(ctx, first.Created))
		if _, err := a.Get(ctx, bob, "first"); !errors.Is(err, task.ErrUnknown) {
			t.Error(err)
		}
	})
}

func sameTask(a, b task.Record) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func TestTasksAreLimitedByUserAndInAll(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		ctx, limits := t.Context(), task.Limits{User: 2, Total: 3}
		web := task.Owner{Issuer: bob.Issuer, Subject: "bob", Client: "web"}
		eve := task.Owner{Subject: "eve"}
		for _, step := range []struct {
			owner task.Owner
			id    string
			full  bool
		}{{bob, "1", false}, {web, "2", false}, {bob, "3", true}, {web, "4", true},
			{eve, "5", false}, {eve, "6", true}} {
			err := a.Create(ctx, newTask(step.owner, step.id), limits)
			if errors.Is(err, task.ErrFull) != step.full || !step.full && err != nil {
				t.Errorf("task %s: %v", step.id, err)
			}
		}
		later := newTask(bob, "7")
		later.Created = later.Created.Add(2 * time.Hour) // the others have expired
		if err := b.Create(ctx, later, limits); err != nil {
			t.Error(err)
		}
		for id, owner := range map[string]task.Owner{"1": bob, "2": web, "5": eve, "7": bob} {
			_, err := a.Change(ctx, owner, id, func(r *task.Record) error {
				r.Status, r.Run = task.Completed, ""
				return nil
			})
			if err != nil && !errors.Is(err, task.ErrUnknown) {
				t.Error(err)
			}
		}
		if err := a.Purge(ctx, time.Now().Add(2*time.Hour)); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"1", "7"} {
			if _, err := b.Get(ctx, bob, id); !errors.Is(err, task.ErrUnknown) {
				t.Errorf("task %s is there after the purge: %v", id, err)
			}
		}
	})
}

func TestLostTasksAreFoundAndNotPurged(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		const most = 16
		ctx, now := t.Context(), time.Now()
		end := func(r *task.Record) error {
			r.Status, r.Run = task.Completed, ""
			return nil
		}
		for i := range most + 5 {
			if err := a.Create(ctx, newTask(bob, strconv.Itoa(i)), roomy); err != nil {
				t.Fatal(err)
			}
		}
		alive := newTask(task.Owner{}, "alive")
		alive.Lease = now.Add(3 * time.Hour)
		waits := newTask(bob, "waits")
		waits.Status, waits.Run = task.InputRequired, ""
		for _, r := range []task.Record{alive, waits} {
			if err := a.Create(ctx, r, roomy); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 0}, {2 * time.Minute, most + 5}, {2 * time.Hour, 1}} {
			found := 0
			for {
				lost, err := b.Lost(ctx, now.Add(step.after), most)
				if err != nil || len(lost) > most {
					t.Fatal(len(lost), err)
				}
				if len(lost) == 0 {
					break
				}
				for _, r := range lost {
					if err := a.Purge(ctx, now.Add(2*time.Hour)); err != nil {
						t.Fatal(err)
					}
					if r.ID == "alive" {
						t.Error("a task with a lease is lost")
					}
					must(a.Change(ctx, r.Owner, r.ID, end))
					found++
				}
			}
			if found != step.want {
				t.Errorf("%d lost after %s, want %d", found, step.after, step.want)
			}
		}
		if err := a.Purge(ctx, now.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Get(ctx, bob, "waits"); !errors.Is(err, task.ErrUnknown) {
			t.Error(err)
		}
		must(b.Get(ctx, task.Owner{}, "alive")) // its run ends it
	})
}

func TestChangesOfATaskAreOneAfterAnother(t *testing.T) {
	stores(t, func(t *testing.T, a, b task.Store) {
		ctx := t.Context()
		if err := a.Create(ctx, newTask(bob, "t"), roomy); err != nil {
			t.Fatal(err)
		}
		refused := errors.New("no")
		_, err := a.Change(ctx, bob, "t", func(r *task.Record) error {
			r.Rounds = 99
			return refused
		})
		if !errors.Is(err, refused) {
			t.Error(err)
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				s := []task.Store{a, b}[i%2]
				if _, err := s.Change(ctx, bob, "t", func(r *task.Record) error {
					r.Rounds++
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := must(b.Get(ctx, bob, "t")).Rounds; got != 20 {
			t.Errorf("%d changes of 20 were kept", got)
		}
	})
}

func TestTaskStoreReportsADatabaseThatIsGone(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := must(store.Open(t.Context(), url))
		tasks := s.Tasks()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, get := tasks.Get(ctx, bob, "t")
		_, change := tasks.Change(ctx, bob, "t", func(*task.Record) error { return nil })
		_, lost := tasks.Lost(ctx, time.Now(), 1)
		_, due := tasks.Due(ctx, []string{"t"})
		for _, err := range []error{get, change, lost, due, tasks.Create(ctx, newTask(bob, "t"), roomy),
			tasks.Purge(ctx, time.Now())} {
			if err == nil || errors.Is(err, task.ErrUnknown) || errors.Is(err, task.ErrFull) ||
				!strings.Contains(err.Error(), "task") {
				t.Error(err)
			}
		}
	})
}

package groupcommit_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
)

func TestThoseWhoWaitAreWrittenTogetherAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var batches [][]int
		open := make(chan struct{})
		g := groupcommit.New(3, func(_ context.Context, batch []int) error {
			batches = append(batches, slices.Clone(batch))
			<-open
			return nil
		})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if err := g.Do(t.Context(), i); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(open)
		all.Wait()
		if want := [][]int{{0}, {1, 2, 3}, {4, 5, 6}, {7}}; !slices.EqualFunc(batches, want, slices.Equal[[]int]) {
			t.Errorf("%v, want %v", batches, want)
		}
	})
}

func TestErrorOfAWriteIsThatOfAllWhoseValuesItHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("full")
		open, writes := make(chan struct{}), 0
		g := groupcommit.New(10, func(context.Context, []int) error {
			writes++
			if writes == 2 {
				return full
			}
			<-open
			return nil
		})
		errs := make(chan error, 4)
		for i := range 4 {
			go func() { errs <- g.Do(t.Context(), i) }()
			synctest.Wait()
		}
		close(open)
		failed := 0
		for range 4 {
			if err := <-errs; errors.Is(err, full) {
				failed++
			} else if err != nil {
				t.Error(err)
			}
		}
		if failed != 3 || writes != 2 {
			t.Errorf("%d of three failed, in %d writes", failed, writes)
		}
	})
}

func TestWhoLeavesIsNotWrittenAndHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []int
		open := make(chan struct{})
		g := groupcommit.New(10, func(_ context.Context, batch []int) error {
			<-open
			written = append(written, batch...)
			return nil
		})
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				mine := t.Context()
				if i == 1 {
					mine = ctx
				}
				if err := g.Do(mine, i); (i == 1) != errors.Is(err, context.Canceled) {
					t.Errorf("%d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		if err := g.Alone(ctx, func() error { t.Error("done"); return nil }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		waits, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Alone(waits, func() error { t.Error("done beside a write"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(open)
		all.Wait()
		if err := g.Do(ctx, 4); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		own := errors.New("own")
		if err := g.Alone(t.Context(), func() error { return own }); !errors.Is(err, own) {
			t.Error(err)
		}
		if !slices.Equal(written, []int{0, 2}) {
			t.Error(written)
		}
	})
}

func TestWriteEndsAtTheLastDeadlineAndWithNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deadlines []time.Duration
		start := time.Now()
		open := make(chan struct{})
		g := groupcommit.New(2, func(ctx context.Context, _ []int) error {
			<-open
			if ctx.Err() != nil {
				t.Error("the write ended with one of its callers")
			}
			deadline, _ := ctx.Deadline()
			deadlines = append(deadlines, max(deadline.Sub(start), 0))
			return nil
		})
		var all sync.WaitGroup
		for _, limit := range []time.Duration{time.Hour, time.Hour, 3 * time.Hour, time.Hour, 0} {
			ctx := context.Background()
			if limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, limit)
				defer cancel()
			}
			all.Go(func() {
				if err := g.Do(ctx, 0); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		close(open)
		all.Wait()
		if want := []time.Duration{time.Hour, 3 * time.Hour, 0}; !slices.Equal(deadlines, want) {
			t.Errorf("%v, want %v", deadlines, want)
		}
	})
}

func TestWriteThatPanicsOrEndsItsGoroutineIsAnErrorOfItsBatchAlone(t *testing.T) {
	for _, end := range []func(){func() { panic("a bug") }, runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			writes, open := 0, make(chan struct{})
			g := groupcommit.New(2, func(context.Context, []int) error {
				if writes++; writes == 2 {
					end()
				}
				<-open
				return nil
			})
			errs := make([]error, 4)
			var all sync.WaitGroup
			for i := range errs { // the second and the third are of one batch
				all.Go(func() { errs[i] = g.Do(t.Context(), i) })
				synctest.Wait()
			}
			close(open)
			all.Wait()
			if errs[0] != nil || errs[1] == nil || errs[2] == nil || errs[3] != nil {
				t.Errorf("%v", errs)
			}
			if err := g.Do(t.Context(), 4); err != nil || writes != 4 {
				t.Errorf("%v after %d writes", err, writes)
			}
		})
	}
}

func TestErrorsOfAWriteAreEachOfItsValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		odd := errors.New("odd")
		open := make(chan struct{})
		g := groupcommit.New(10, func(_ context.Context, batch []int) error {
			<-open
			errs := make(groupcommit.Errors, len(batch))
			for i, value := range batch {
				if value%2 == 1 {
					errs[i] = odd
				}
			}
			return errs
		})
		var all sync.WaitGroup
		for i := range 7 {
			all.Go(func() {
				if err := g.Do(t.Context(), i); (i%2 == 1) != errors.Is(err, odd) || i%2 == 0 && err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		close(open)
		all.Wait()
	})
}

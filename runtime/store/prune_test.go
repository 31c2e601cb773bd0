package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// old is an event of a time before which events are pruned.
func old(id string) audit.Event { return audit.Event{RequestID: id, Time: longAgo} }

// after is when what is old was long over.
var after = longAgo.Add(time.Hour)

// plant puts rows in as somebody can who may write to the database and has no key. They are old.
func plant(t testing.TB, s *store.Store, events ...string) {
	t.Helper()
	for _, event := range events {
		_, err := s.Writes().Exec(`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) SELECT min(at), 'changed', 'ok', 'planted', '', '', $1 FROM audit_events`, event)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// planted is a record with a place in a chain, as far as it says.
func planted(id string, seq int, more string) string {
	return fmt.Sprintf(`{"request_id":"planted",%s"chain":{"id":"%s","seq":%d,"mac":"%s"}}`, more, id, seq, strings.Repeat("ab", 32))
}

// cutOf is what a record says that was cut, with a comma.
func cutOf(id string, seq int) string {
	return fmt.Sprintf(`"cut":[{"id":"%s","seq":%d,"mac":"%s"}],`, id, seq, strings.Repeat("0", 64))
}

func TestCutThatSomebodyPutInIsNeverSealed(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		own, other := begin(t, s, "web-1"), begin(t, s, "web-2")
		s.SealBy(own)
		for range 3 {
			keep(t, own, old("own"))
			keep(t, other, old("other"))
		}
		id := trail(t, s)[1].Chain.ID
		plant(t, s, "{"+strings.TrimSuffix(cutOf(id, 1e9), ",")+"}")
		if n := must(s.PruneEvents(t.Context(), after, ada)); n != 7 {
			t.Errorf("%d deleted", n)
		}
		for _, l := range trail(t, s)[0].Cut {
			if l.Seq != 3 {
				t.Errorf("%+v", l)
			}
		}
		for i := range 4 {
			keep(t, other, audit.Event{RequestID: fmt.Sprint("young", i), Time: time.Now()})
		}
		text, got := exported(t, s, chain.VerifyOptions{})
		if len(got.Findings) > 0 || got.Records != 5 {
			t.Errorf("%+v", got)
		}
		lines := strings.SplitAfter(text, "\n")
		for _, gone := range [][]string{{lines[0]}, {lines[1]}, {lines[2], lines[3]}} {
			without := text
			for _, line := range gone {
				without = strings.Replace(without, line, "", 1)
			}
			if got := must(chain.Verify(chain.Lines("export", strings.NewReader(without)), chain.VerifyOptions{Key: key})); got.Sound() {
				t.Errorf("without %q: %+v", gone, got)
			}
		}
	})
}

func TestWhatDoesNotVerifyIsNotPruned(t *testing.T) {
	for name, put := range map[string]func(first string, id string) []string{
		"a record of another key":       func(_, _ string) []string { return []string{planted("web-9.00", 1, "")} },
		"a record of nowhere":           func(_, _ string) []string { return []string{planted("web-9.00", 7, "")} },
		"a chain without a name":        func(_, _ string) []string { return []string{planted("", 7, "")} },
		"a name that is long":           func(_, _ string) []string { return []string{planted(strings.Repeat("%", 100<<10), 7, "")} },
		"a record again":                func(first, _ string) []string { return []string{first} },
		"the next one, with a junk MAC": func(_, id string) []string { return []string{planted(id, 4, "")} },
		"one later on":                  func(_, id string) []string { return []string{planted(id, 9, "")} },
		"garbage":                       func(_, _ string) []string { return []string{"garbage"} },
		"one that a cut of somebody's names": func(_, _ string) []string {
			return []string{planted("web-9.00", 7, ""), planted("web-9.00", 8, cutOf("web-9.00", 6)), planted("web-9.01", 1, cutOf("web-9.00", 6)), "{" + cutOf("web-9.00", 6) + `"chain":null}`}
		},
		"a circle of cuts": func(_, _ string) []string {
			return []string{planted("web-9.00", 7, cutOf("web-9.01", 6)), planted("web-9.01", 7, cutOf("web-9.00", 6))}
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			opened(t, func(t *testing.T, s *store.Store) {
				c := begin(t, s, "web-1")
				s.SealBy(c)
				keep(t, c, old("a"), old("b"), old("c"))
				text, _ := exported(t, s, chain.VerifyOptions{})
				first, _, _ := strings.Cut(text, "\n")
				rows := put(first, trail(t, s)[0].Chain.ID)
				plant(t, s, rows...)
				n, err := s.PruneEvents(t.Context(), after, ada)
				if !errors.Is(err, store.ErrInvalid) || n != 0 || !strings.Contains(err.Error(), "mcpgen audit verify") || !strings.Contains(err.Error(), "id 4 ") {
					t.Errorf("%d, %.1000v", n, err)
				}
				if after, got := exported(t, s, chain.VerifyOptions{}); !strings.HasPrefix(after, text) || strings.Count(after, "\n") != 3+len(rows) || got.Sound() {
					t.Errorf("%+v", got)
				}
				s.SealBy(nil) // what verifies is not asked, and not said
				n, err = s.PruneEvents(t.Context(), after, ada)
				if name == "garbage" {
					if err == nil {
						t.Error("what is no JSON is read")
					}
					return
				}
				if err != nil || n != int64(3+len(rows)) {
					t.Errorf("%d, %.1000v", n, err)
				}
			})
		})
	}
}

// TestRecordOfAChainThatIsGoneIsFound has somebody put in what a chain is to have said of which
// nothing is left.
func TestRecordOfAChainThatIsGoneIsFound(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		dead := begin(t, s, "web-1")
		keep(t, dead, old("a"), old("b"), old("c"), old("d"))
		young := begin(t, s, "web-1")
		s.SealBy(young)
		id := trail(t, s)[0].Chain.ID
		must(s.PruneEvents(t.Context(), after, ada))
		keep(t, young, audit.Event{RequestID: "young", Time: time.Now()})
		if _, got := exported(t, s, chain.VerifyOptions{}); len(got.Findings) > 0 || got.Records != 2 {
			t.Fatalf("%+v", got)
		}
		plant(t, s, planted(id, 2, ""), planted(id, 4, ""))
		keep(t, young, audit.Event{RequestID: "young", Time: time.Now()})
		_, got := exported(t, s, chain.VerifyOptions{})
		if got.Sound() || len(got.Findings) != 2 || got.Findings[0].Kind != "altered" ||
			got.Findings[1].Kind != "altered" || got.Records != 3 {
			t.Errorf("%+v", got)
		}
	})
}

// TestTrailThatIsPrunedAgainAndAgainVerifies has the records of cuts go as well, those of chains
// that write little, and chains that end.
func TestTrailThatIsPrunedAgainAndAgainVerifies(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := hasty(t, open(t, url), url)
		quiet, loud := begin(t, s, "quiet"), begin(t, s, "loud")
		keep(t, quiet, old("a"))
		var points []chain.Checkpoint
		ended := must(chain.New(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			// the time of a checkpoint is now, and its row has to be old
			plant(t, s, string(must(json.Marshal(e))))
			return nil
		}), chain.Options{Key: key, Replica: "ended", Checkpoints: func(_ context.Context, p chain.Checkpoint) error {
			points = append(points, p)
			return nil
		}}))
		keep(t, ended, old("a"), old("b"))
		if err := ended.Close(t.Context()); err != nil || len(points) != 1 {
			t.Fatal(points, err)
		}
		for round := range 8 {
			at := func(hours int) time.Time { return longAgo.Add(time.Duration(24*round+hours) * time.Hour) }
			for i := range 3 {
				keep(t, loud, audit.Event{RequestID: fmt.Sprint(round, i), Time: at(i)})
			}
			switch round % 3 {
			case 0:
				s.SealBy(quiet)
			case 1:
				s.SealBy(loud)
			case 2:
				loud = begin(t, s, "loud")
			}
			by := ada
			by.Time = at(4) // of two cuts at once one stays in the first round, and both go in the next one
			must(s.PruneEvents(t.Context(), at(1), by))
			by.Time = at(5)
			must(s.PruneEvents(t.Context(), at(2), by))
			if left, got := exported(t, s, chain.VerifyOptions{Checkpoints: points}); len(got.Findings) > 0 || got.Records > 10 {
				t.Fatalf("round %d: %+v\n%s", round, got, left)
			}
		}
	})
}

// between does something else once an event is sealed, or before.
type between struct {
	*chain.Chain
	read, after func() // once records have been read, and once the event stands
}

func (b between) Vouches(before audit.MAC, text []byte) bool {
	if b.read != nil {
		b.read()
	}
	return b.Chain.Vouches(before, text)
}

func (b between) Seal(ctx context.Context, do func(seal func(audit.Event) (audit.Event, error)) error) error {
	err := b.Chain.Seal(ctx, do)
	if b.after != nil {
		b.after()
	}
	return err
}

func TestPruneThatEndsEarlyIsGoneOnWith(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := hasty(t, open(t, url), url)
		// a checkpoint is young
		c := must(chain.New(s.Audit(), chain.Options{Key: key, Replica: "web-1", Every: 1 << 30,
			Interval: time.Hour}))
		var all sync.WaitGroup
		for range 96 {
			all.Go(func() {
				for range 110 {
					keep(t, c, old("a"))
				}
			})
		}
		all.Wait()
		verify := func() int64 {
			t.Helper()
			text, got := exported(t, s, chain.VerifyOptions{})
			if len(got.Findings) > 0 || got.Records == 0 {
				t.Errorf("%+v", got)
			}
			return int64(strings.Count(text, `"request_id":"a"`))
		}
		left, cuts, deleted := verify(), 0, int64(0)
		for calls := 1; ; calls++ { // each call ends once it has made a cut
			ctx, cancel := context.WithCancel(t.Context())
			s.SealBy(between{Chain: c, after: func() { cuts++; cancel() }})
			n, err := s.PruneEvents(ctx, after, ada)
			deleted += n
			if err == nil {
				if calls < 3 || cuts != calls-1 {
					t.Errorf("%d calls, %d cuts", calls, cuts)
				}
				break
			}
			if !errors.Is(err, context.Canceled) || calls > 10 {
				t.Fatal(err)
			}
			if now := verify(); calls > 1 && now >= left {
				t.Fatalf("call %d got no further: %d events are left of %d", calls, now, left)
			} else {
				left = now
			}
		}
		if left := verify(); left != 0 || deleted > 96*110 {
			t.Errorf("%d deleted, %d left", deleted, left)
		}
	})
}

func TestOfTwoWhoPruneAtOnceOneGetsAnError(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		c := begin(t, s, "web-1")
		keep(t, c, old("a"), old("b"), old("c"), audit.Event{RequestID: "young", Time: time.Now()})
		s.SealBy(c)
		var once sync.Once
		other := open(t, url)
		second := begin(t, other, "web-2")
		other.SealBy(second)
		s.SealBy(between{Chain: c, read: func() {
			once.Do(func() {
				if n := must(other.PruneEvents(t.Context(), after, ada)); n != 3 {
					t.Errorf("the other deleted %d", n)
				}
			})
		}})
		if n, err := s.PruneEvents(t.Context(), after, ada); !errors.Is(err, store.ErrConflict) || n != 0 {
			t.Errorf("%d, %v", n, err)
		}
		if n := must(s.PruneEvents(t.Context(), after, ada)); n != 0 {
			t.Errorf("%d deleted", n)
		}
		if _, got := exported(t, s, chain.VerifyOptions{}); len(got.Findings) > 0 || got.Records != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestSealerThatVouchesForNothingPrunesNothing(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		c := begin(t, s, "web-1")
		keep(t, c, old("a"))
		s.SealBy(struct{ audit.Sealer }{c})
		if n, err := s.PruneEvents(t.Context(), after, ada); !errors.Is(err, store.ErrInvalid) || n != 0 || !strings.Contains(err.Error(), "audit.Voucher") {
			t.Errorf("%d, %v", n, err)
		}
	})
}

package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// shelf is a source of catalogs, which the test fills.
type shelf struct {
	mu       sync.Mutex
	catalogs []catalog.Found
	off      []string
	fail     func(context.Context) error
	queries  int
	channels []chan catalog.Change
}

func (s *shelf) set(change func(*shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *shelf) query(ctx context.Context) error {
	s.mu.Lock()
	s.queries++
	fail := s.fail
	s.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx)
}

func (s *shelf) Catalog(
	ctx context.Context, _ access.Principal, ref catalog.Ref,
) (catalog.Found, error) {
	if err := s.query(ctx); err != nil {
		return catalog.Found{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, found := range s.catalogs {
		if ref.ID == found.ID || ref.ID == "" && ref.Name == found.Name {
			return found, nil
		}
	}
	return catalog.Found{}, catalog.ErrUnknown
}

func (s *shelf) ToolsOff(ctx context.Context) ([]string, error) {
	if err := s.query(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.off), nil
}

func (s *shelf) Changes(context.Context) <-chan catalog.Change {
	changes := make(chan catalog.Change, 1000)
	s.set(func(s *shelf) { s.channels = append(s.channels, changes) })
	return changes
}

// send sends a change to the last reader.
func (s *shelf) send(c catalog.Change) {
	s.set(func(s *shelf) { s.channels[len(s.channels)-1] <- c })
}

// journal is a log that the test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// catalogsOf are the catalogs of a source and of the tests' table. Their pool ends with the test.
func catalogsOf(t *testing.T, source catalog.Source, log *journal) *Catalogs {
	pool := worker.NewPool()
	t.Cleanup(pool.Close)
	table := office(t)
	return NewCatalogs(CatalogsConfig{
		Source: source,
		Policy: &Policy{Table: table, ReadOnly: table.Named([]string{"look", "read"})},
		Pool:   pool, Log: log.logger(),
		Declared: map[string][]string{"read": {"own", "both"}, "look": {"own"}, "buy": nil},
	})
}

func (c *Catalogs) resolved(t *testing.T, q request.CatalogQuery) (Filter, error) {
	return c.Resolve(t.Context(), caller("Viewer"), q)
}

func queryOf(name, id string) request.CatalogQuery {
	q := request.CatalogQuery{Refs: []catalog.Ref{{Name: name, ID: id}}, Set: true}
	if q.Refs[0].IsZero() {
		q.Refs = nil
	}
	return q
}

func both(a, b request.CatalogQuery) request.CatalogQuery {
	a.Refs = slices.Concat(a.Refs, b.Refs)
	return a
}

func readOnly(q request.CatalogQuery) request.CatalogQuery {
	q.ReadOnly = true
	return q
}

func TestDeclaredCatalogsAreInOrderAndCannotBeChanged(t *testing.T) {
	c := catalogsOf(t, nil, &journal{})
	want := "[{code:both both true [read] } {code:own own true [look read] }]"
	for range 2 {
		declared := c.Declared()
		if got := fmt.Sprint(declared); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		declared[1].Tools[0] = "x"
	}
}

func TestCatalogIsTheSourcesUnlessCodeDeclaresAGlobalOne(t *testing.T) {
	source := &shelf{catalogs: []catalog.Found{
		{ID: "1", Name: "kit", Tools: []string{"drop", "no_such_tool"}, Note: "a note"},
		{ID: "2", Name: "own", Tools: []string{"drop"}},
		{ID: "3", Name: "both", Global: true, Tools: []string{"drop"}},
	}}
	tooLong := queryOf("kit", "")
	tooLong.TooLong = true
	for name, test := range map[string]struct {
		source catalog.Source
		query  request.CatalogQuery
		want   string
	}{
		"none":                       {source, request.CatalogQuery{}, "all"},
		"explicitly none":            {source, queryOf("", ""), "all"},
		"the source's":               {source, queryOf("kit", ""), "[drop] a note"},
		"by id":                      {source, queryOf("", "1"), "[drop] a note"},
		"by id, whatever the name":   {source, queryOf("own", "1"), "[drop] a note"},
		"of a scope before code's":   {source, queryOf("own", ""), "[drop] "},
		"code's before a global one": {source, queryOf("both", ""), "[read] "},
		"a global one by id":         {source, queryOf("both", "3"), "[drop] "},
		"code's by id":               {source, queryOf("", "code:own"), "[look read] "},
		"code's without a source":    {nil, queryOf("own", ""), "[look read] "},
		"unknown to code":            {source, queryOf("", "code:kit"), catalog.ErrUnknown.Error()},
		"two": {source, both(queryOf("kit", ""), queryOf("", "code:own")),
			"[drop look read] a note"},
		"two that are equal": {source, both(queryOf("kit", ""), queryOf("", "1")),
			"[drop] a note"},
		"one of two is unknown": {source, both(queryOf("other", ""), queryOf("both", "")),
			"[read] the catalog does not exist: other"},
		"one of two is unknown, with a note": {source, both(queryOf("kit", ""), queryOf("", "9")),
			"[drop] a note; the catalog does not exist: id 9"},
		"both are unknown": {source, both(queryOf("x", ""), queryOf("y", "")),
			catalog.ErrUnknown.Error()},
		"readonly":                 {source, readOnly(request.CatalogQuery{}), "[look read] "},
		"readonly in one":          {source, readOnly(queryOf("both", "")), "[read] "},
		"readonly in none":         {source, readOnly(queryOf("kit", "")), "[] a note"},
		"unknown":                  {source, queryOf("other", ""), catalog.ErrUnknown.Error()},
		"unknown by id":            {source, queryOf("own", "9"), catalog.ErrUnknown.Error()},
		"unknown without a source": {nil, queryOf("kit", ""), catalog.ErrUnknown.Error()},
		"too long":                 {source, tooLong, catalog.ErrUnknown.Error()},
	} {
		f, err := catalogsOf(t, test.source, &journal{}).resolved(t, test.query)
		got := "all"
		switch {
		case err != nil:
			if got = err.Error(); !errors.Is(err, catalog.ErrUnknown) {
				t.Errorf("%s: %v", name, err)
			}
		case f.In != nil:
			got = fmt.Sprint(f.In.Names(), " ", f.Note)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestUnknownCatalogDoesNotUndoTheWishForReadonlyTools requests both.
func TestUnknownCatalogDoesNotUndoTheWishForReadonlyTools(t *testing.T) {
	long := queryOf("kit", "")
	long.TooLong = true
	away := func(context.Context) error { return errors.New("away") }
	for name, q := range map[string]request.CatalogQuery{
		"unknown": queryOf("x", ""), "too long": long, "away": queryOf("kit", "")} {
		source := &shelf{}
		if name == "away" {
			source.fail = away
		}
		c := catalogsOf(t, source, &journal{})
		f, err := c.Filter(t.Context(), &request.Info{Catalog: readOnly(q)})
		if err != nil || f.In == nil || fmt.Sprint(f.In.Names()) != "[look read]" || f.Note == "" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestUnknownCatalogsAmongOthersAreMaskedAndLogged checks what the note and the log have of a name
// that may be a misplaced token.
func TestUnknownCatalogsAmongOthersAreMaskedAndLogged(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a", 36)
	for _, strict := range []bool{false, true} {
		log := &journal{}
		c := catalogsOf(t, nil, log)
		c.Strict = strict
		f, err := c.Filter(t.Context(),
			&request.Info{Catalog: both(queryOf(secret, ""), queryOf("own", ""))})
		if err != nil || fmt.Sprint(f.In.Names()) != "[look read]" ||
			strings.Contains(f.Note, secret) ||
			!strings.HasPrefix(f.Note, "the catalog does not exist: ") {
			t.Errorf("strict %v: %+v, %v", strict, f, err)
		}
		if text := log.String(); strings.Contains(text, secret) ||
			!strings.Contains(text, "the list has the tools of the others") {
			t.Error(text)
		}
	}
}

func TestCatalogThatCannotBeFoundShortensNothingOrRefuses(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a", 36)
	failing := func(err error) *shelf {
		return &shelf{fail: func(context.Context) error { return err }}
	}
	panics := &shelf{fail: func(context.Context) error { panic("token=" + secret) }}
	const (
		unknown        = "the catalog does not exist: this list is not filtered"
		unavailable    = "catalogs are not available: this list is not filtered"
		logUnknown     = "the catalog does not exist for the caller; "
		logUnavailable = "the catalog lookup failed; "
	)
	broken := failing(errors.New("away: " + secret))
	for name, test := range map[string]struct {
		source  *shelf
		note    string
		refused error
		log     string
	}{
		"unknown": {&shelf{}, unknown, wire.InvalidParams("unknown catalog"), logUnknown},
		"failing": {broken, unavailable, wire.Unavailable("catalogs"), logUnavailable},
		"panics":  {panics, unavailable, wire.Unavailable("catalogs"), logUnavailable},
	} {
		for _, strict := range []bool{false, true} {
			log := &journal{}
			c := catalogsOf(t, test.source, log)
			c.Strict = strict
			info := &request.Info{Principal: caller("Viewer"), Catalog: queryOf("kit "+secret, "")}
			f, err := c.Filter(t.Context(), info)
			outcome := "the list is not filtered"
			if strict {
				outcome = "the list is refused"
				if err == nil || c.FilterError(err).Error() != test.refused.Error() {
					t.Errorf("%s: %v", name, err)
				}
			} else if err != nil || f.In != nil || f.Note != test.note {
				t.Errorf("%s: %+v, %v", name, f, err)
			}
			if text := log.String(); !strings.Contains(text, test.log+outcome) ||
				strings.Contains(text, secret) || !strings.Contains(text, "principal=ada") ||
				strings.Count(text, "\n") != 1 {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

func TestNothingIsLoggedOfACallerWhoHasGone(t *testing.T) {
	log := &journal{}
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	c := catalogsOf(t, &shelf{fail: waits}, log)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Filter(ctx, &request.Info{Principal: caller("Viewer"), Catalog: queryOf("kit", "")})
	if !errors.Is(err, context.Canceled) || log.String() != "" {
		t.Errorf("%v, %s", err, log)
	}
}

func TestRecordedQueryIsShortAndHasNoSecret(t *testing.T) {
	c := catalogsOf(t, nil, &journal{})
	secret := "ghp_" + strings.Repeat("a", 36)
	for want, q := range map[string]request.CatalogQuery{
		"": {}, "kit": queryOf("kit", ""), "id 7": queryOf("kit", "7"),
		strings.Repeat("x", 64): queryOf(strings.Repeat("x", 99), ""),
	} {
		if got := c.RecordedQuery(q); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	got := c.RecordedQuery(queryOf(strings.Repeat("x", 50)+" "+secret, ""))
	if strings.Contains(got, "ghp_") || len(got) > 64 {
		t.Error(got)
	}
}

func TestSourceThatHangsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		source := &shelf{fail: func(context.Context) error { <-hang; return nil }}
		c := catalogsOf(t, source, &journal{})
		began := time.Now()
		var wg sync.WaitGroup
		for range maxQueries + 10 {
			wg.Go(func() {
				if _, err := c.resolved(t, queryOf("kit", "")); !errors.Is(err, worker.ErrNoResponse) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != queryTimeout || source.queries != maxQueries {
			t.Errorf("%v, %d queries", took, source.queries)
		}
		close(hang)
		synctest.Wait()
		source.set(func(s *shelf) { s.fail = nil })
		if _, err := c.resolved(t, queryOf("kit", "")); !errors.Is(err, catalog.ErrUnknown) {
			t.Error(err)
		}
	})
}

func TestServerWithoutItsSwitchesDoesNotStart(t *testing.T) {
	broken := func(context.Context) error { return errors.New("no such table") }
	c := catalogsOf(t, &shelf{fail: broken}, &journal{})
	const want = "Options.Catalogs.Source: cannot read which tools are switched off: no such table"
	if err := c.Start(t.Context()); err == nil || err.Error() != want {
		t.Error(err)
	}
	if err := catalogsOf(t, nil, &journal{}).Start(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReloadReportsWhetherSwitchesHaveChanged(t *testing.T) {
	source := &shelf{}
	c := catalogsOf(t, source, &journal{})
	for _, step := range []struct {
		off     []string
		changed bool
	}{
		{nil, false}, {[]string{"read"}, true}, {[]string{"read", "no_such_tool"}, false},
		{[]string{"drop", "read"}, true}, {[]string{"read", "drop"}, false},
		{[]string{"no_such_tool"}, true}, {nil, false},
	} {
		source.set(func(s *shelf) { s.off = step.off })
		changed, err := c.Reload(t.Context())
		if err != nil || (changed != nil) != step.changed {
			t.Errorf("%q: %v, %v", step.off, changed != nil, err)
		}
		if changed != nil && (changed(caller("")) || !changed(caller("Admin", "write"))) {
			t.Errorf("%q concerns callers who see no tool, or not those who do", step.off)
		}
		if c.Policy.IsOff(access.Tools, "read") != slices.Contains(step.off, "read") {
			t.Errorf("%q are not off", step.off)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.loading <- struct{}{}
	if _, err := c.Reload(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A following is catalogs that follow a source, and counts what is reported.
type following struct {
	*Catalogs
	log                *journal
	switches, catalogs atomic.Int64
}

// follow returns catalogs that follow a source until the bubble of the test ends.
func follow(t *testing.T, source *shelf) *following {
	f := &following{log: &journal{}}
	f.Catalogs = catalogsOf(t, source, f.log)
	go f.Follow(t.Context(), func(func(access.Principal) bool) { f.switches.Add(1) },
		func() { f.catalogs.Add(1) })
	synctest.Wait()
	return f
}

func TestChangedSwitchesApplyOnceTheSourceCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{}
		f := follow(t, source)
		source.set(func(s *shelf) {
			s.off, s.fail = []string{"read"}, func(context.Context) error {
				return errors.New("away")
			}
		})
		source.send(catalog.Change{Tools: true})
		synctest.Wait()
		if f.switches.Load() != 0 || f.Policy.IsOff(access.Tools, "read") ||
			!strings.Contains(f.log.String(), "cannot read which tools are switched off") {
			t.Error(f.log)
		}
		source.set(func(s *shelf) { s.fail = nil })
		time.Sleep(retryPause)
		synctest.Wait()
		if f.switches.Load() != 1 || !f.Policy.IsOff(access.Tools, "read") ||
			strings.Count(f.log.String(), "\n") != 1 {
			t.Errorf("%d changes", f.switches.Load())
		}
		source.send(catalog.Change{Tools: true}) // nothing is different
		synctest.Wait()
		if f.switches.Load() != 1 {
			t.Errorf("%d changes", f.switches.Load())
		}
	})
}

func TestChangesOfCatalogsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{}
		f := follow(t, source)
		time.Sleep(untilTick(gathering) + gathering/2)
		for range 100 {
			source.send(catalog.Change{Catalogs: true})
		}
		time.Sleep(gathering/2 - 1)
		synctest.Wait()
		if f.catalogs.Load() != 0 {
			t.Errorf("%d reports before the tick", f.catalogs.Load())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if f.catalogs.Load() != 1 || f.switches.Load() != 0 {
			t.Errorf("%d reports of catalogs, %d of switches", f.catalogs.Load(), f.switches.Load())
		}
		for range 10 { // changes that never pause
			source.send(catalog.Change{Catalogs: true})
			time.Sleep(gathering / 2)
		}
		if n := f.catalogs.Load(); n < 5 {
			t.Errorf("%d reports", n)
		}
	})
}

func TestSourceThatEndsItsChangesIsFollowedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{}
		f := follow(t, source)
		source.set(func(s *shelf) { close(s.channels[0]) })
		time.Sleep(retryPause)
		synctest.Wait()
		if len(source.channels) != 2 ||
			strings.Count(f.log.String(),
				"the source of catalogs stopped reporting changes; the server subscribes again") != 1 ||
			!strings.Contains(f.log.String(), errNoMoreChanges.Error()) {
			t.Fatalf("%d channels: %s", len(source.channels), f.log)
		}
		source.send(catalog.Change{Catalogs: true})
		time.Sleep(gathering)
		synctest.Wait()
		if f.catalogs.Load() != 1 {
			t.Error("the change is lost")
		}
	})
}

func TestClosedSourceIsNeitherLoggedNorQueriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{}
		f := follow(t, source)
		source.set(func(s *shelf) {
			s.fail = func(context.Context) error {
				return fmt.Errorf("away: %w", catalog.ErrClosed)
			}
		})
		source.send(catalog.Change{Tools: true})
		time.Sleep(10 * retryPause)
		synctest.Wait()
		if source.queries != 1 || f.log.String() != "" {
			t.Errorf("%d queries, %s", source.queries, f.log)
		}
	})
}

func TestLossOfTheConnectionIsLoggedOnceAndSoIsItsReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{}
		f := follow(t, source)
		source.send(catalog.Change{Deaf: true})
		source.send(catalog.Change{Tools: true, Catalogs: true})
		source.send(catalog.Change{Tools: true})
		synctest.Wait()
		if text := f.log.String(); strings.Count(text,
			"the source of catalogs and switches lost its connection; it reconnects, and the server uses "+
				"the last state") != 1 ||
			strings.Count(text, "the source of catalogs and switches is connected again") != 1 {
			t.Error(text)
		}
	})
}

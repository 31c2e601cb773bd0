// Package stored has the boundaries of a store, which administrators change while servers run.
package stored

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	// maxAge is how long boundaries count that cannot be compared with the store.
	maxAge = 30 * time.Second
	// looking is the time between two reads of the store's revision, for changes without a
	// notification.
	looking = time.Second
	// reading is the time limit of a read or a write.
	reading = 5 * time.Second
)

var _ boundary.Source = (*Source)(nil)

// Source is a [boundary.Source] over a store. It is safe for concurrent use.
//
// It keeps all boundaries in memory, and a decision reads nothing else. A change counts within a
// second on every replica, and at once if notifications of the store arrive. Without the store, the
// boundaries that were read last count for 30 seconds. After that, Boundary returns an error, which
// denies everything.
//
// It also writes to the store which clients it is asked about, every ten seconds: see
// [store.Store.SeenClients].
type Source struct {
	store *store.Store
	from  database
	kept  atomic.Pointer[kept]
	seen  seenClients

	mu        sync.Mutex
	followers map[*follower]bool
}

// database is the part of a store that a source reads.
type database interface {
	Revision(ctx context.Context) (store.Revision, error)
	AllBounds(ctx context.Context) ([]store.Bound, error)
	GlobalTools(ctx context.Context) (map[int64][]string, error)
	Changes(ctx context.Context) <-chan storechange.Change
	SawClients(ctx context.Context, clients []store.SeenClient) error
}

// kept are the boundaries at a revision of the store. It does not change.
type kept struct {
	at     store.Revision
	of     map[boundary.Party]boundary.Boundary
	global map[int64][]string // tools, by the ids of catalogs
	until  time.Time          // they do not count from then on
	counts bool               // whether they counted when the store was last read
	err    error              // of the last read
}

// New returns a source over a store, and reads the boundaries. If that fails, Boundary returns
// errors until a later read succeeds. The source ends when the caller closes the store.
func New(s *store.Store) *Source { return newSource(s, s, looking) }

func newSource(s *store.Store, from database, looking time.Duration) *Source {
	source := &Source{store: s, from: from, followers: map[*follower]bool{}}
	source.kept.Store(&kept{})
	ctx, cancel := context.WithCancel(context.Background())
	source.look(ctx)
	go source.flush(ctx)
	go func() {
		defer cancel()
		source.follow(ctx, looking)
	}()
	return source
}

// Store returns the store of the source.
func (s *Source) Store() *store.Store { return s.store }

// Boundary implements [boundary.Source]. A client or an actor whose name no entry of the store can
// have may use nothing: nobody could see or block it.
func (s *Source) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	s.seen.note(p)
	k := s.kept.Load()
	if !time.Now().Before(k.until) {
		return boundary.Boundary{}, false, fmt.Errorf("boundary: the store could not be read for %s: %w",
			maxAge, k.err)
	}
	if !fits(p.Issuer) || !fits(p.Client) || !fits(p.Actor) {
		return boundary.Boundary{}, true, nil
	}
	b, ok := p.In(k.of)
	return b, ok, nil
}

// fits reports whether an entry of the store can have a name.
func fits(name string) bool {
	return len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == utf8.RuneError
	})
}

// ReadsMemoryOnly marks the source; see [boundary.Source].
func (s *Source) ReadsMemoryOnly() {}

// follow reads the boundaries after each change until the store is closed.
func (s *Source) follow(ctx context.Context, looking time.Duration) {
	tick := time.NewTicker(looking)
	defer tick.Stop()
	for changes := s.from.Changes(ctx); ; {
		select {
		case c, open := <-changes:
			if !open {
				ended := *s.kept.Load()
				ended.err = store.ErrClosed
				s.kept.Store(&ended)
				return
			}
			if slices.Contains([]storechange.Kind{storechange.Everything, storechange.Boundary,
				storechange.Catalog}, c.Kind) {
				s.look(ctx)
			}
		case <-tick.C:
			s.look(ctx)
		}
	}
}

// look reads the boundaries if the store's revision has changed, and notifies followers.
func (s *Source) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reading)
	defer cancel()
	before, began := s.kept.Load(), time.Now()
	now := *before
	var at store.Revision
	if at, now.err = s.from.Revision(ctx); now.err == nil && (at != before.at || before.of == nil) {
		now.at = at
		now.of, now.global, now.err = s.read(ctx)
	}
	if now.err != nil { // the kept ones stay
		now.at, now.of, now.global = before.at, before.of, before.global
	} else {
		now.until = began.Add(maxAge)
	}
	now.counts = time.Now().Before(now.until)
	s.kept.Store(&now)
	switch {
	case now.counts != before.counts:
		s.changed(boundary.Party{})
	case now.at != before.at:
		s.changed(differences(before.of, now.of)...)
	}
}

func (s *Source) read(ctx context.Context) (map[boundary.Party]boundary.Boundary,
	map[int64][]string, error) {
	global, err := s.from.GlobalTools(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := s.from.AllBounds(ctx)
	of := make(map[boundary.Party]boundary.Boundary, len(all))
	for _, b := range all {
		b.Boundary.Items = expand(b.Boundary.Items, global)
		of[b.Party] = b.Boundary
	}
	return of, global, err
}

// expand returns items with the tools of global catalogs in place of their ids. An id of another
// catalog has no tools.
func expand(items []string, global map[int64][]string) (expanded []string) {
	for _, text := range items {
		id, ok := idOf(text)
		if !ok {
			expanded = append(expanded, text)
		}
		for _, tool := range global[id] {
			expanded = append(expanded, "tool:"+tool)
		}
	}
	return expanded
}

// idOf returns the id of the catalog that an item names by it.
func idOf(item string) (int64, bool) {
	name, ok := strings.CutPrefix(item, "catalog:")
	id, err := strconv.ParseInt(name, 10, 64)
	return id, ok && err == nil && strconv.FormatInt(id, 10) == name
}

// HasCatalog reports whether an item names an active global catalog of the store by its id. For a
// catalog that is not in memory, such as a new one, it reads the store.
func (s *Source) HasCatalog(item string) bool {
	id, ok := idOf(item)
	if _, has := s.kept.Load().global[id]; has || !ok {
		return ok
	}
	ctx, cancel := context.WithTimeout(context.Background(), reading)
	defer cancel()
	global, _ := s.from.GlobalTools(ctx)
	_, has := global[id]
	return has
}

// differences returns the parties whose boundaries differ.
func differences(before, now map[boundary.Party]boundary.Boundary) (parties []boundary.Party) {
	for p, b := range now {
		if old, ok := before[p]; !ok || !reflect.DeepEqual(old, b) {
			parties = append(parties, p)
		}
	}
	for p := range before {
		if _, ok := now[p]; !ok {
			parties = append(parties, p)
		}
	}
	return parties
}

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// bus is a ResourceUpdates that tests can break.
type bus struct {
	mu        sync.Mutex
	fail      func() error // nil works
	published []string
	others    chan string // updates of other servers
}

func (b *bus) PublishUpdate(ctx context.Context, uri string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.fail != nil {
		return b.fail()
	}
	b.published = append(b.published, uri)
	if b.others != nil {
		b.others <- uri
	}
	return nil
}

func (b *bus) FollowUpdates(context.Context) <-chan string { return b.others }

func (b *bus) breaks(fail func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = fail
}

// take returns what was published since the last call, sorted.
func (b *bus) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.published
	b.published = nil
	slices.Sort(all)
	return all
}

func TestUpdatesDuringAnOutageReachOtherReplicasAfterwards(t *testing.T) {
	const most = 1024 // of those that are kept
	down := errors.New("the database is down")
	for name, fail := range map[string]func() error{
		"error": func() error { return down }, "panic": func() error { panic("down") },
	} {
		for updates, want := range map[int]int{1: 1, 3: 3, most: most, most + 1: 1, 3 * most: 1} {
			t.Run(fmt.Sprint(name, updates), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &bus{}
					s := newServer(t, runtime.Options{
						Protocol: runtime.ProtocolOptions{ResourceUpdates: b}}, updating())
					defer func() { _ = s.Shutdown(t.Context()) }()
					b.breaks(func() error { return down })
					var uris []string
					for i := range updates {
						uris = append(uris, fmt.Sprintf("lib://books/%d", i))
					}
					for _, uri := range append(uris, uris...) {
						if err := s.ResourceUpdated(t.Context(), uri); !errors.Is(err, down) {
							t.Fatal(err)
						}
					}
					b.breaks(fail)
					time.Sleep(time.Hour)
					b.breaks(nil)
					time.Sleep(10 * time.Second)
					got := b.take()
					if slices.Sort(uris); len(got) != want || want == updates && !slices.Equal(got, uris) ||
						want < updates && got[0] != "" {
						t.Errorf("published %d updates, want %d: %.200q", len(got), want, got)
					}
					time.Sleep(time.Hour)
					if got := b.take(); len(got) > 0 {
						t.Errorf("again %.200q", got)
					}
				})
			})
		}
	}
}

// A client that leaves does not end the update that its call has made.
func TestUpdateOfACancelledCallReachesOtherReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{}
		s := newServer(t, runtime.Options{
			Protocol: runtime.ProtocolOptions{ResourceUpdates: b}}, updating())
		defer func() { _ = s.Shutdown(t.Context()) }()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.ResourceUpdated(ctx, "lib://hall"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if got := b.take(); !slices.Equal(got, []string{"lib://hall"}) {
			t.Errorf("published %q", got)
		}
	})
}

func TestUpdatesThatAServerNeverPublishedAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		b := &bus{}
		b.breaks(func() error { return errors.New("down") })
		s := newServer(t, runtime.Options{Protocol: runtime.ProtocolOptions{ResourceUpdates: b},
			Logger: log.logger()}, updating())
		_ = s.ResourceUpdated(t.Context(), "lib://hall")
		if err := s.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, "updates of resources were not published") {
			t.Error(got)
		}
	})
}

// updating is the library whose resources have updates, but for the pages.
func updating() toolset.Toolset {
	g := library().Generated()
	g.Resources = slices.Clone(g.Resources)
	for i := range g.Resources {
		g.Resources[i].Subscribe = g.Resources[i].URI != "lib://pages/{n}"
	}
	return toolset.NewToolset(g)
}

func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	soon(t, "it holds", holds)
}

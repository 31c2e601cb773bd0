package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// noise is a text that nothing makes shorter.
func noise(n int) string {
	random, text := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random.IntN(
			64)]
	}
	return string(text)
}

// TestEventOfAnyNamesIsKeptWholeAndFound has names that are longer than an index takes, of
// everything that events are looked up by.
func TestEventOfAnyNamesIsKeptWholeAndFound(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		long := noise(4000)
		for i, e := range []audit.Event{
			{Client: long}, {Principal: long}, {Issuer: long}, {Tool: long}, {RequestID: long},
			{Type: audit.Type(long)}, {Status: audit.Status(long)},
			{Client: strings.Repeat("é", 255) + long}, {Client: strings.Repeat("\U0001f600", 1000)},
		} {
			e.Time = longAgo
			if err := s.KeepEach(t.Context(), e,
				audit.Event{Time: longAgo, Client: "honest"}); err != nil {
				t.Fatalf("%d: %.300v", i, err)
			}
			f := store.EventFilter{Client: e.Client, Principal: e.Principal, Tool: e.Tool,
				RequestID: e.RequestID, Type: e.Type}
			if f == (store.EventFilter{}) {
				continue // nobody looks by issuer, and a search by status has known words
			}
			got := must2(s.SearchEvents(t.Context(), f, store.EventPage{}))
			if len(got) != 1 || got[0].Client != e.Client || got[0].Principal != e.Principal ||
				got[0].Tool != e.Tool || got[0].RequestID != e.RequestID {
				t.Errorf("%d: %.300v", i, got)
			}
		}
	})
}

func must2[T, U any](v T, _ U, err error) T { return must(v, err) }

// TestEventThatTheDatabaseDoesNotTakeIsNoErrorOfOthers has a database that takes some clients'
// events only.
func TestEventThatTheDatabaseDoesNotTakeIsNoErrorOfOthers(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		refuse := `ALTER TABLE audit_events ADD CHECK (client <> 'bad')`
		if isSQLite(url) {
			refuse = `CREATE TRIGGER refuse BEFORE INSERT ON audit_events WHEN NEW.client = 'bad' BEGIN SELECT RAISE(ABORT, 'bad'); END`
		}
		must(raw(t, url).Exec(refuse))
		for _, clients := range []string{"abcdefg", "a!bcd!!e", "!a", "a!", "!", "!!!",
			"!abcdefgh!"} {
			var events []audit.Event
			for _, c := range clients {
				events = append(events, audit.Event{
					Time: time.Now(), Client: strings.ReplaceAll(string(c), "!", "bad"),
					RequestID: clients})
			}
			var want []string
			for _, e := range events {
				if e.Client != "bad" {
					want = append(want, e.Client)
				}
			}
			err := s.KeepEach(t.Context(), events...)
			each, apart := err.(groupcommit.Errors)
			switch {
			case len(want) == len(events) && err != nil, len(events) == 1 && err == nil,
				len(events) > 1 && len(want) < len(events) && len(each) != len(events):
				t.Errorf("%s: %v", clients, err)
			case apart:
				for i, err := range each {
					if (err == nil) != (events[i].Client != "bad") {
						t.Errorf("%s: %d: %v", clients, i, err)
					}
				}
			}
			var got []string
			for _, r := range must2(s.SearchEvents(
				t.Context(), store.EventFilter{RequestID: clients}, store.EventPage{})) {
				got = append([]string{r.Client}, got...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v", clients, got)
			}
		}
		// Those of a chain are kept together or not at all: which of them count is the chain's to
		// say.
		if err := s.Audit().(audit.BatchSink).RecordBatch(
			t.Context(), []audit.Event{{Client: "a"}, {Client: "bad"}}); err == nil {
			t.Error("kept")
		}
		if got := must2(s.SearchEvents(t.Context(), store.EventFilter{Client: "a"},
			store.EventPage{})); fmt.Sprint(len(got)) != "5" {
			t.Errorf("%d events of a", len(got))
		}
	})
}

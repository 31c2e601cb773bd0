package stored

import (
	"sync"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	// answers is how many answers are kept, and for how many callers where their catalogs can be.
	answers = 4096
	// tools is how many names of tools are kept, over all catalogs. One of some 40 bytes takes about 60.
	tools = 1 << 18
	// longest is how many bytes a question may have that is kept: it is the caller who words it.
	longest = 4096
)

// cache keeps what was resolved at one revision of the store, and drops all of it when there is
// another. Whoever asks has read the revision before, and what is kept was read after the revision it is kept
// under: an answer is never older than the database was when it was asked for, on any replica. What a
// change that came in between has mixed is kept under a revision that nobody will read again.
type cache struct {
	mu       sync.Mutex
	revision store.Revision
	places   shelf[string, place]    // by caller
	answers  shelf[question, answer] // by where and what
	tools    shelf[int64, []string]  // by catalog
}

// place is where a caller's catalogs can be.
type place struct {
	scopes []store.Scope
	key    string // the same for the same scopes
}

type question struct {
	place string
	ask   catalog.Ask
}

// answer is a catalog without its tools, or that there is none.
type answer struct {
	id      int64
	found   catalog.Found
	unknown bool
}

func newCache(answers, tools int) *cache {
	return &cache{
		places:  shelf[string, place]{room: answers, size: func(place) int { return 1 }},
		answers: shelf[question, answer]{room: answers, size: func(answer) int { return 1 }},
		tools:   shelf[int64, []string]{room: tools, size: func(names []string) int { return 1 + len(names) }},
	}
}

// at makes the cache one of a revision.
func (c *cache) at(revision store.Revision) {
	if c.revision == revision {
		return
	}
	c.revision = revision
	c.places.drop()
	c.answers.drop()
	c.tools.drop()
}

// through returns what is kept under a key, or reads it and keeps it, if it is no error.
func through[K comparable, V any](c *cache, s *shelf[K, V], revision store.Revision, key K, read func() (V, error)) (V, error) {
	c.mu.Lock()
	c.at(revision)
	value, found := s.kept[key]
	c.mu.Unlock()
	if found {
		return value, nil
	}
	value, err := read()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision == revision {
		s.put(key, value)
	}
	return value, nil
}

// shelf holds values up to a size in all.
type shelf[K comparable, V any] struct {
	kept       map[K]V
	size       func(V) int
	room, used int
}

func (s *shelf[K, V]) drop() { s.kept, s.used = nil, 0 }

// put makes room by leaving out whatever comes first, which is by chance.
func (s *shelf[K, V]) put(key K, value V) {
	size := s.size(value)
	if _, found := s.kept[key]; found || size > s.room {
		return // two have read it at once, or it has no room at all
	}
	for other, v := range s.kept {
		if s.used+size <= s.room {
			break
		}
		delete(s.kept, other)
		s.used -= s.size(v)
	}
	if s.kept == nil {
		s.kept = map[K]V{}
	}
	s.kept[key] = value
	s.used += size
}

package runtime_test

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// shelf is a source of catalogs, which the test fills. Those with an owner are that subject's
// alone.
type shelf struct {
	mu       sync.Mutex
	catalogs map[string]shelved // by id
	off      []string
	fail     func(context.Context) error
	channels []chan catalog.Change
}

type shelved struct {
	name, owner string
	tools       []string
	note        string
}

// put puts a catalog there, or takes it away where it has no name.
func (s *shelf) put(id string, c shelved) {
	s.mu.Lock()
	if s.catalogs == nil {
		s.catalogs = map[string]shelved{}
	}
	s.catalogs[id] = c
	if c.name == "" {
		delete(s.catalogs, id)
	}
	s.mu.Unlock()
	s.send(catalog.Change{Catalogs: true})
}

// turnOff says all that is off.
func (s *shelf) turnOff(tools ...string) {
	s.mu.Lock()
	s.off = tools
	s.mu.Unlock()
	s.send(catalog.Change{Tools: true})
}

func (s *shelf) failing(fail func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *shelf) send(c catalog.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, channel := range s.channels {
		channel <- c
	}
}

func (s *shelf) failed(ctx context.Context) error {
	s.mu.Lock()
	fail := s.fail
	s.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx)
}

func (s *shelf) Catalog(ctx context.Context, caller access.Principal,
	ref catalog.Ref) (catalog.Found, error) {
	if err := s.failed(ctx); err != nil {
		return catalog.Found{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.catalogs {
		if (ref.ID == id || ref.ID == "" && ref.Name == c.name) &&
			(c.owner == "" || c.owner == caller.Subject) {
			return catalog.Found{ID: id, Name: c.name, Global: c.owner == "", Tools: c.tools,
				Note: c.note}, nil
		}
	}
	return catalog.Found{}, catalog.ErrUnknown
}

func (s *shelf) ToolsOff(ctx context.Context) ([]string, error) {
	if err := s.failed(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.off), nil
}

func (s *shelf) Changes(ctx context.Context) <-chan catalog.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	channel := make(chan catalog.Change, 1000)
	channel <- catalog.Change{Tools: true, Catalogs: true}
	s.channels = append(s.channels, channel)
	return channel
}

package stored

import (
	"context"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	// flushing is the time between two writes of the seen clients.
	flushing = 10 * time.Second
	// maxSeen is the maximum number of clients of a write. Further ones are noted when they come
	// again.
	maxSeen = 1000
	// longest is the maximum length of a name that the store keeps, in bytes.
	longest = 512
)

// seenClients are the clients that were seen since the last write. The zero value is empty.
type seenClients struct {
	mu sync.Mutex
	of map[boundary.Party]store.SeenClient
}

// note notes the client of a party.
func (s *seenClients) note(p boundary.Party) {
	if p.Client == "" || len(p.Client) > longest || len(p.Issuer) > longest {
		return
	}
	of, now := boundary.Party{Issuer: p.Issuer, Client: p.Client}, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, again := s.of[of]
	switch {
	case again:
	case len(s.of) >= maxSeen:
		return
	default:
		c = store.SeenClient{Issuer: p.Issuer, Client: p.Client, First: now}
	}
	if c.Last = now; s.of == nil {
		s.of = map[boundary.Party]store.SeenClient{}
	}
	s.of[of] = c
}

// take returns the clients, and forgets them.
func (s *seenClients) take() (clients []store.SeenClient) {
	s.mu.Lock()
	of := s.of
	s.of = nil
	s.mu.Unlock()
	for _, c := range of {
		clients = append(clients, c)
	}
	return clients
}

// flush writes the seen clients to the store until ctx ends. Those of a failed write are noted when
// they come again.
func (s *Source) flush(ctx context.Context) {
	tick := time.NewTicker(flushing)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if clients := s.seen.take(); len(clients) > 0 {
			ctx, cancel := context.WithTimeout(ctx, reading)
			_ = s.from.SawClients(ctx, clients) // no decision depends on it
			cancel()
		}
	}
}

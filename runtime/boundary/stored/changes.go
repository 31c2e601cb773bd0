package stored

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/boundary"
)

// backlog is the maximum number of pending parties of a follower.
const backlog = 256

// follower has the parties that a channel of [Source.Changes] has not sent yet.
type follower struct {
	pending []boundary.Party
	due     chan struct{} // of size one: a party is pending
}

// Changes sends the party of each boundary that may have changed. It sends the zero party, for all,
// at first, to a slow receiver, and when an outage of the store makes boundaries no longer count or
// ends. The channel is closed when ctx ends.
func (s *Source) Changes(ctx context.Context) <-chan boundary.Party {
	out, f := make(chan boundary.Party), &follower{due: make(chan struct{}, 1)}
	f.put(boundary.Party{})
	s.mu.Lock()
	s.followers[f] = true
	s.mu.Unlock()
	go func() {
		defer close(out)
		defer s.leave(f)
		for {
			select {
			case <-f.due:
			case <-ctx.Done():
				return
			}
			for _, p := range s.take(f) {
				select {
				case out <- p:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

// changed notifies all followers.
func (s *Source) changed(parties ...boundary.Party) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.followers {
		f.put(parties...)
	}
}

// put adds parties. Too many become the zero party.
func (f *follower) put(parties ...boundary.Party) {
	if len(parties) == 0 {
		return
	}
	f.pending = append(f.pending, parties...)
	if len(f.pending) > backlog {
		f.pending = []boundary.Party{{}}
	}
	select {
	case f.due <- struct{}{}:
	default:
	}
}

func (s *Source) take(f *follower) []boundary.Party {
	s.mu.Lock()
	defer s.mu.Unlock()
	parties := f.pending
	f.pending = nil
	return parties
}

func (s *Source) leave(f *follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.followers, f)
}

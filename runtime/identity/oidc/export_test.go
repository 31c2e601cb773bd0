package oidc

import "time"

// SetRefreshInterval lets a test with a real network go on without waiting. No token may have come yet.
func (s *Source) SetRefreshInterval(d time.Duration) {
	for _, i := range s.issuers {
		i.keys.interval, i.metadata.interval = d, d
	}
}

// Remembered is how many answers about opaque tokens are held.
func (s *Source) Remembered() int {
	n := s.issuers[0].introspector
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.answers)
}

// Questions is how many questions about opaque tokens are on their way or wait for their turn.
func (s *Source) Questions() int {
	q := s.issuers[0].introspector.questions
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

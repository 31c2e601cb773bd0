package oidc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
)

const (
	// maxQuestions bounds what is asked at a time, for anybody can send what looks like a token.
	maxQuestions = 32
	// maxWaiting bounds the questions that are on their way or wait for their turn. One more is refused at
	// once: it would hardly have its turn in time.
	maxWaiting = 8 * maxQuestions
)

// questions ask about tokens: one question about each token at a time, whose answer is all's who came
// with it, and a bounded number of them. A question ends once nobody waits for it any more.
type questions struct {
	ask    func(context.Context, string) (map[string]any, error)
	asking chan struct{} // holds one item for each question on its way

	mu      sync.Mutex
	open    map[[sha256.Size]byte]*question
	running int // those open, and those given up whose end has not come yet
}

// question is one about a token.
type question struct {
	done    chan struct{}
	waiting int                // for its answer
	giveUp  context.CancelFunc // ends it
	claims  map[string]any     // once it is done
	err     error
}

func newQuestions(ask func(context.Context, string) (map[string]any, error)) *questions {
	return &questions{ask: ask, asking: make(chan struct{}, maxQuestions), open: map[[sha256.Size]byte]*question{}}
}

// about is what the issuer says about a token of a hash.
func (s *questions) about(ctx context.Context, hash [sha256.Size]byte, token string) (map[string]any, error) {
	q, err := s.join(hash, token)
	if err != nil {
		return nil, err
	}
	select {
	case <-q.done:
		return q.claims, q.err
	case <-ctx.Done():
		s.leave(hash, q)
		return nil, ctx.Err()
	}
}

// join waits for the question about a token, and begins it where there is none.
func (s *questions) join(hash [sha256.Size]byte, token string) (*question, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.open[hash]
	if q == nil {
		if s.running >= maxWaiting {
			return nil, errTooManyQuestions
		}
		// On behalf of all who come with this token, and so under no request's context.
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		q = &question{done: make(chan struct{}), giveUp: cancel}
		s.open[hash] = q
		s.running++
		go s.run(ctx, hash, token, q)
	}
	q.waiting++
	return q, nil
}

// leave is for whoever waits no longer. The last one ends the question.
func (s *questions) leave(hash [sha256.Size]byte, q *question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.waiting--; q.waiting == 0 {
		s.forget(hash, q)
		q.giveUp()
	}
}

// forget lets the next who comes with the token begin a question of its own. s.mu is held.
func (s *questions) forget(hash [sha256.Size]byte, q *question) {
	if s.open[hash] == q {
		delete(s.open, hash)
	}
}

// run asks a question, once it is its turn.
func (s *questions) run(ctx context.Context, hash [sha256.Size]byte, token string, q *question) {
	defer q.giveUp()
	q.claims, q.err = s.take(ctx, token)
	s.mu.Lock()
	s.forget(hash, q)
	s.running--
	s.mu.Unlock()
	close(q.done)
}

func (s *questions) take(ctx context.Context, token string) (claims map[string]any, err error) {
	defer func() { // a panic would end the process here
		if p := recover(); p != nil {
			claims, err = nil, fmt.Errorf("panicked: %v", p)
		}
	}()
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, errTooManyQuestions
	}
	return s.ask(ctx, token)
}

package runtime

import (
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// What the host's answers cost at most.
const (
	// strangerTTL is how long a principal without a user of the host is remembered as such.
	strangerTTL = 5 * time.Second
	// maxAsking bounds the questions that wait for the host at a time, and so the goroutines that a
	// host can hold which does not answer.
	maxAsking = 256
)

// said is what the host said of one principal. It is not changed.
type said struct {
	set     capability.Set
	permits *access.Permits
}

// permitCache asks the host what it lets principals do, once for each principal and period. Who
// asks while the question is under way waits for its answer. Nothing waits longer than
// timeout, whether the host heeds its context or not.
type permitCache struct {
	ask      func(context.Context, access.Principal) (*said, error)
	answered func(access.Principal)       // called after each answer to a request that is kept; may be nil
	looked   func(cache string, hit bool) // told of each request whether its answer was kept; may be nil
	masker   redact.Masker
	timeout  time.Duration
	ttl      time.Duration
	max      int
	asking   chan struct{}

	mu      sync.Mutex
	entries map[string]*hostAnswer
	order   list.List                // of *hostAnswer, the last used first
	pending map[*hostAnswer]struct{} // being asked about, in entries or not any more
}

// hostAnswer is one principal's place, which is asked about as it was identified: what the host said of it
// before is no part of the question. Its place in the cache it may lose before the answer is there;
// who waits for it then asks again.
type hostAnswer struct {
	key       string
	principal access.Principal
	place     *list.Element
	requested bool          // by a request, and not only by those who look again
	ready     chan struct{} // closed once answered

	// Guarded by the cache's mu, as requested is, and after ready is closed not changed but for void.
	said    *said
	err     error
	expires time.Time // zero while the host is asked
	void    bool      // invalidated
}

var errHostBusy = errors.New("too many questions wait for the host")

func newPermitCache(timeout, ttl time.Duration, max int, ask func(context.Context, access.Principal) (*said, error)) *permitCache {
	return &permitCache{ask: ask, timeout: timeout, ttl: ttl, max: max, asking: make(chan struct{}, maxAsking), entries: map[string]*hostAnswer{}, pending: map[*hostAnswer]struct{}{}}
}

// get returns what the host lets the caller of a request do. The error wraps capability.ErrNoUser where
// it has no user for it, and is any other where it could not be found out.
func (c *permitCache) get(ctx context.Context, p access.Principal) (*hostAnswer, error) {
	return c.wait(ctx, p, true)
}

// look is get for those who were told of an answer, or of an invalidation: what they ask is told to nobody
// else. Otherwise answers that count for less than they take would be asked for again and again.
func (c *permitCache) look(ctx context.Context, p access.Principal) (*hostAnswer, error) {
	return c.wait(ctx, p, false)
}

// wait asks once anew where a question fails that somebody asked earlier: the host may have been ill then
// and be well by now, and whoever has just come has most of the time left.
func (c *permitCache) wait(ctx context.Context, p access.Principal, requested bool) (*hostAnswer, error) {
	var late <-chan time.Time
	anew := false
	for first := true; ; first = false {
		e, joined := c.entry(p, requested)
		if first && requested && c.looked != nil {
			c.looked("capabilities", joined)
		}
		select {
		case <-e.ready:
		default:
			if late == nil {
				timer := time.NewTimer(c.timeout)
				defer timer.Stop()
				late = timer.C
			}
			select {
			case <-e.ready:
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-late:
				return nil, fmt.Errorf("the host gave %w", errNoAnswer)
			}
		}
		switch {
		case !c.holds(e):
			// Invalidated while it was asked for: the answer may be from before.
		case joined && !anew && e.err != nil && !errors.Is(e.err, capability.ErrNoUser):
			anew = true
		default:
			return e, e.err
		}
		select {
		case <-late:
			return nil, fmt.Errorf("the host gave %w", errNoAnswer)
		default:
		}
	}
}

// holds reports whether an answer has not been invalidated.
func (c *permitCache) holds(e *hostAnswer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !e.void
}

// current reports whether an answer is what a new request would get.
func (c *permitCache) current(e *hostAnswer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[e.key] == e && time.Now().Before(e.expires)
}

// entry returns a principal's place, and sees to it that the host is asked for it. It reports whether
// somebody has asked already.
func (c *permitCache) entry(p access.Principal, requested bool) (_ *hostAnswer, joined bool) {
	var room [256]byte
	key := appendKey(room[:0], p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[string(key)]; e != nil {
		if e.expires.IsZero() || time.Now().Before(e.expires) {
			c.order.MoveToFront(e.place)
			e.requested = e.requested || requested
			return e, true
		}
		c.drop(e)
	}
	e := &hostAnswer{key: string(key), principal: withoutPermits(p), requested: requested, ready: make(chan struct{})}
	e.place = c.order.PushFront(e)
	c.entries[e.key] = e
	c.pending[e] = struct{}{}
	for len(c.entries) > c.max {
		c.drop(c.order.Back().Value.(*hostAnswer))
	}
	go c.fill(e)
	return e, false
}

// drop takes an entry out of the cache. c.mu is held.
func (c *permitCache) drop(e *hostAnswer) {
	if c.entries[e.key] == e {
		delete(c.entries, e.key)
		c.order.Remove(e.place)
	}
}

// fill asks the host. An answer counts from when it was asked for, since it may be of then.
func (c *permitCache) fill(e *hostAnswer) {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	granted, err := c.supervised(ctx, e.principal)
	c.mu.Lock()
	delete(c.pending, e)
	e.said, e.err = granted, err
	switch {
	case err == nil:
		e.expires = asked.Add(c.ttl)
	case errors.Is(err, capability.ErrNoUser):
		e.expires = asked.Add(min(c.ttl, strangerTTL))
	default:
		e.expires = asked
		c.drop(e) // a failure is told to those who wait, and not kept
	}
	close(e.ready)
	tell := c.answered != nil && e.requested && !e.void && e.expires.After(asked)
	c.mu.Unlock()
	if tell {
		c.answered(e.principal)
	}
}

// supervised asks the host, and does not wait for one that does not come back.
func (c *permitCache) supervised(ctx context.Context, p access.Principal) (*said, error) {
	select {
	case c.asking <- struct{}{}:
	default:
		return nil, errHostBusy
	}
	return supervised(ctx, c.masker, func() (*said, error) {
		defer func() { <-c.asking }()
		return c.ask(ctx, p)
	})
}

// wordedError is an error of an adapter: its words without secrets, and which of the errors it is that
// somebody decides on. The error itself, which could show the rest, it does not hold.
type wordedError struct {
	text string
	is   []error
}

// worded asks an error for its words, and for what it is. Both may panic.
func worded(mask redact.Masker, err error) error {
	e := wordedError{text: mask.Text(err.Error())}
	for _, known := range []error{capability.ErrNoUser, catalog.ErrUnknown, errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			e.is = append(e.is, known)
		}
	}
	return e
}

func (e wordedError) Error() string { return e.text }

func (e wordedError) Is(target error) bool { return slices.Contains(e.is, target) }

// invalidate forgets what the host said of the principals that match, and of those that it is
// being asked about.
func (c *permitCache) invalidate(match func(access.Principal) bool) {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.entries))
	for e := range c.pending {
		if c.entries[e.key] != e {
			all = append(all, e)
		}
	}
	c.mu.Unlock()
	// match is not ours, and may take long or ask the server something.
	for _, e := range all {
		if match != nil && !match(e.principal) {
			continue
		}
		c.mu.Lock()
		e.void = true
		c.drop(e)
		c.mu.Unlock()
	}
}

// appendKey tells principals apart by all that a [capability.Source] could read: with the lengths
// in front, no two are spelled the same.
func appendKey(b []byte, p access.Principal) []byte {
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	texts := func(list []string) {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	members := func(list []access.Membership) {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, m := range list {
			text(m.Name)
			text(string(m.Standing))
		}
	}
	text(p.Issuer)
	text(p.Subject)
	text(p.Client)
	text(p.User)
	text(p.Role)
	texts(p.Scopes)
	texts(p.Groups)
	members(p.Orgs)
	members(p.Teams)
	return b
}

func withoutPermits(p access.Principal) access.Principal {
	p.Permits = nil
	return p
}

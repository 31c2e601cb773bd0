package grant

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

var _ Registry = (*Memory)(nil)

// Memory is a [Registry] in memory, for tests and for servers with grants in their configuration.
// Its content is lost when the process ends. It is safe for concurrent use.
type Memory struct {
	now func() time.Time

	mu        sync.Mutex
	clients   map[owner]*holding
	last      int64             // id of a grant
	revision  uint64            // of the last change
	requests  map[int64]Request // by id
	newest    int64             // id of the newest request
	followers map[*follower]bool
}

// owner is the client that has grants.
type owner struct{ issuer, client string }

// holding is the grants of a client.
type holding struct {
	grants   []Grant // in the order of their ids; never changed, but replaced
	revision uint64
}

// NewMemory returns a keeper with grants, which get the ids "1", "2" and so on. A grant that is
// not valid is kept as it is: compiling it fails.
func NewMemory(grants ...Grant) *Memory {
	m := &Memory{now: time.Now, clients: map[owner]*holding{}, requests: map[int64]Request{},
		followers: map[*follower]bool{}}
	for _, g := range grants {
		g.Permission = g.Permission.kept()
		of := owner{g.Issuer, g.Client}
		m.put(of, append(slices.Clone(m.grants(of)), m.numbered(g)))
	}
	return m
}

func (m *Memory) numbered(g Grant) Grant {
	m.last++
	g.ID = strconv.FormatInt(m.last, 10)
	return g
}

func (m *Memory) grants(of owner) []Grant {
	if h := m.clients[of]; h != nil {
		return h.grants
	}
	return nil
}

// put replaces the grants of a client. No grants have the revision 0, and each change has a new
// one.
func (m *Memory) put(of owner, grants []Grant) {
	m.revision++
	if len(grants) == 0 {
		delete(m.clients, of)
		return
	}
	m.clients[of] = &holding{grants, m.revision}
}

// Grants implements [Source].
func (m *Memory) Grants(_ context.Context, issuer, client string) ([]Grant, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.clients[owner{issuer, client}]
	if h == nil {
		return nil, 0, nil
	}
	return h.grants, h.revision, nil
}

// Grant implements [Keeper]. Errors wrap [ErrInvalid] and [ErrFull].
func (m *Memory) Grant(_ context.Context, g Grant) (Grant, error) {
	g, err := g.Keepable(m.now())
	if err != nil {
		return Grant{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grant(g)
}

func (m *Memory) grant(g Grant) (Grant, error) {
	of := owner{g.Issuer, g.Client}
	grants := slices.Clone(m.grants(of))
	i := slices.IndexFunc(grants, func(other Grant) bool { return other.same(g.Permission) })
	switch {
	case i >= 0:
		g.ID = grants[i].ID
		grants[i] = g
	case len(grants) >= MaxGrants:
		return Grant{}, fmt.Errorf("grant: %w", ErrFull)
	default:
		g = m.numbered(g)
		grants = append(grants, g)
	}
	m.put(of, grants)
	m.notify(of)
	return clone([]Grant{g})[0], nil
}

// Revoke implements [Keeper]. The error is an [ErrInvalid].
func (m *Memory) Revoke(_ context.Context, r Revocation) ([]Grant, error) {
	if err := r.Keepable(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := owner{r.Issuer, r.Client}
	kept, revoked := Revoke(m.grants(of), r.Type, r.Resource)
	if len(revoked) > 0 {
		m.put(of, kept)
		m.notify(of)
	}
	return clone(revoked), nil
}

// List implements [Keeper]. The error is an [ErrInvalid].
func (m *Memory) List(_ context.Context, f Filter) ([]Grant, error) {
	after, limit, err := f.Page()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Grant
	for of, h := range m.clients {
		for _, g := range h.grants {
			if id, _ := Number(g.ID); id > after && f.holds(g.ID, of.issuer, of.client, g.Type) {
				found = append(found, g)
			}
		}
	}
	slices.SortFunc(found, func(a, b Grant) int { return compareIDs(a.ID, b.ID) })
	return clone(found[:min(limit, len(found))]), nil
}

// compareIDs puts ids in the order of their numbers.
func compareIDs(a, b string) int {
	x, _ := Number(a)
	y, _ := Number(b)
	return int(x - y)
}

// remembered is how many requests are kept at most. The oldest that are decided go first.
const remembered = 2_000

// Ask implements [Requests]. Errors wrap [ErrInvalid] and [ErrTooMany]. All clients together may
// have two thousand open requests.
func (m *Memory) Ask(_ context.Context, r Request) (Request, error) {
	now := m.now()
	r, err := r.Keepable(now)
	if err != nil {
		return Request{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	open := 0
	var decided []int64
	for id, other := range m.requests {
		switch other = other.At(now); {
		case other.Status != Open:
			decided = append(decided, id)
		case other.Issuer == r.Issuer && other.Client == r.Client:
			if other.same(r.Permission) {
				return copied(other), nil
			}
			open++
		}
	}
	if full := len(m.requests) >= remembered; open >= MaxOpen || full && len(decided) == 0 {
		return Request{}, fmt.Errorf("grant: %w", ErrTooMany)
	} else if full {
		delete(m.requests, slices.Min(decided))
	}
	m.newest++
	r.ID = strconv.FormatInt(m.newest, 10)
	m.requests[m.newest] = r
	return copied(r), nil
}

func copied(r Request) Request {
	r.Parameters = cloneParameters(r.Parameters)
	return r
}

// Request implements [Requests].
func (m *Memory) Request(_ context.Context, id string) (Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.request(id)
	return copied(r), err
}

func (m *Memory) request(id string) (Request, error) {
	n, _ := Number(id)
	r, found := m.requests[n]
	if !found {
		return Request{}, fmt.Errorf("grant: request %.40q: %w", id, ErrUnknown)
	}
	return r.At(m.now()), nil
}

// Approve implements [Requests]. Errors also wrap [ErrInvalid] and [ErrFull]; the request then
// stays open.
func (m *Memory) Approve(_ context.Context, id string, v Verdict) (Request, Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.deciding(id, v)
	if err != nil {
		return Request{}, Grant{}, err
	}
	g, err := r.Granted(v, m.now())
	if err == nil {
		g, err = g.Keepable(m.now())
	}
	if err == nil {
		g, err = m.grant(g)
	}
	if err != nil {
		return Request{}, Grant{}, err
	}
	return m.decide(r.Decide(Approved, v, g.ID, m.now())), g, nil
}

// Deny implements [Requests]. Errors also wrap [ErrInvalid]; the request then stays open.
func (m *Memory) Deny(_ context.Context, id string, v Verdict) (Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.deciding(id, v)
	if err != nil {
		return Request{}, err
	}
	return m.decide(r.Decide(Refused, v, "", m.now())), nil
}

// deciding returns an open request that a verdict can decide.
func (m *Memory) deciding(id string, v Verdict) (Request, error) {
	r, err := m.request(id)
	if err == nil {
		err = r.Decidable(v)
	}
	return r, err
}

func (m *Memory) decide(r Request) Request {
	id, _ := Number(r.ID)
	m.requests[id] = r
	return copied(r)
}

// Requests implements [Requests]. The error is an [ErrInvalid].
func (m *Memory) Requests(_ context.Context, f Filter) ([]Request, error) {
	after, limit, err := f.Page()
	if err != nil {
		return nil, err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Request
	for id, r := range m.requests {
		r = r.At(now)
		if (after == 0 || id < after) && f.holds(r.ID, r.Issuer, r.Client, r.Type) &&
			(f.Status == "" || f.Status == r.Status) {
			found = append(found, copied(r))
		}
	}
	slices.SortFunc(found, func(a, b Request) int { return compareIDs(b.ID, a.ID) })
	return found[:min(limit, len(found))], nil
}

// follower receives changes. Its pending changes are merged into one.
type follower struct {
	pending *Change
	signal  chan struct{} // of size one: something is pending
}

// Changes implements [Source].
func (m *Memory) Changes(ctx context.Context) <-chan Change {
	out, f := make(chan Change), &follower{pending: &Change{}, signal: make(chan struct{}, 1)}
	f.signal <- struct{}{}
	m.mu.Lock()
	m.followers[f] = true
	m.mu.Unlock()
	go func() {
		defer close(out)
		defer func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.followers, f)
		}()
		for {
			select {
			case <-f.signal:
			case <-ctx.Done():
				return
			}
			m.mu.Lock()
			c := *f.pending
			f.pending = nil
			m.mu.Unlock()
			select {
			case out <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// notify sends a change of a client's grants to the followers, without waiting. A follower with a
// pending change of another client gets one of all clients instead.
func (m *Memory) notify(of owner) {
	c := Change{of.issuer, of.client}
	for f := range m.followers {
		switch {
		case f.pending == nil:
			f.pending = &c
			f.signal <- struct{}{} // empty, since nothing was pending
		case *f.pending != c:
			f.pending = &Change{}
		}
	}
}

package store

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

// Kind is the kind of a [Change].
type Kind string

// The kinds of changes.
const (
	// Everything means that everything may have changed: read again what you keep. It comes first,
	// after a lost connection, and in place of changes that were missed or not received in time.
	Everything Kind = "everything"
	// Deaf means that no changes are received until the next Everything. On PostgreSQL, it comes
	// once for each connection that is lost or cannot be made.
	Deaf           Kind = "deaf"
	ChangedOrg     Kind = "org"     // with all that is in it when it is deleted
	ChangedTeam    Kind = "team"    // with all that is in it when it is deleted
	ChangedMember  Kind = "member"  // of an organization or a team
	ChangedCatalog Kind = "catalog" // a tool catalog itself
	ChangedEntry   Kind = "entry"   // a tool in a catalog
	ChangedTool    Kind = "tool"    // switched off or on
	ChangedAudit   Kind = "audit"   // the oldest events were pruned
	ChangedGrant   Kind = "grant"   // to a client, or a request for one that was approved
	ChangedRequest Kind = "request" // for a grant: a new one, or one that was denied
)

// Change contains the kind of a created, updated or deleted item, without its id or its new
// value. PostgreSQL sends a notification to every role that may connect to the database, so it
// contains no more.
type Change struct {
	Kind Kind `json:"kind"`
	// Revision counts the changes of a database, in the order of their commits. After a restore from
	// a backup it is lower than before, and the kind is [Everything].
	Revision int64 `json:"revision"`
}

const (
	// quiet is how long a follower relies on notifications before it compares the revision.
	quiet = 30 * time.Second
	// pause is how long a follower waits before it connects again.
	pause = time.Second
	// held back at most for a follower that does not take its changes.
	backlog = 256
)

// Changes sends the changes of the database until ctx ends or the store is closed, and then
// closes the channel. It starts with [Everything] once notifications arrive: a read after it
// misses no change. [Deaf] reports that none arrive. A slow follower delays no other: it gets
// Everything in place of the changes that it missed.
//
// On PostgreSQL each follower has its own connection, and receives the changes of all processes
// as they are committed. On SQLite, changes of this process are sent at once. Those of another
// process arrive within half a minute, as Everything.
func (s *Store) Changes(ctx context.Context) <-chan Change {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	out, box := make(chan Change), &mailbox{signal: make(chan struct{}, 1)}
	var attending sync.WaitGroup
	attending.Go(func() { s.attend(ctx, box) })
	go func() {
		defer close(out)
		defer attending.Wait()
		defer cancel()
		defer stop()
		for {
			c, ok := box.take()
			if !ok {
				select {
				case <-box.signal:
					continue
				case <-ctx.Done():
					return
				}
			}
			select {
			case out <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// attend fills a mailbox until ctx ends.
func (s *Store) attend(ctx context.Context, box *mailbox) {
	if s.engine.listen != nil {
		for ctx.Err() == nil {
			if err := s.engine.listen(ctx, box, s.quiet); err != nil {
				if s.closing.Err() == nil {
					box.lost()
				}
				wait(ctx, s.pause)
			}
		}
		return
	}
	s.feed.add(box)
	defer s.feed.remove(box)
	for tell := box.everything; ctx.Err() == nil; {
		if s.look(ctx, tell) != nil {
			wait(ctx, s.pause)
			continue
		}
		tell = box.saw
		wait(ctx, s.quiet)
	}
}

// look tells the revision of an SQLite database while no change of this process is between being
// made and being announced, which would look like one of another process.
func (s *Store) look(ctx context.Context, tell func(at int64)) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var at int64
	if err := s.asks.QueryRowContext(ctx, revisionQuery).Scan(&at); err != nil {
		return err
	}
	tell(at)
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// feed tells the followers within a process.
type feed struct {
	mu    sync.Mutex
	boxes map[*mailbox]bool
}

func (f *feed) add(box *mailbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boxes[box] = true
}

func (f *feed) remove(box *mailbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.boxes, box)
}

func (f *feed) publish(c Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for box := range f.boxes {
		box.put(c, c.Revision)
	}
}

// mailbox holds the changes that a follower has not taken yet. Revisions have no gaps: one that is
// missing was not heard of.
type mailbox struct {
	mu      sync.Mutex
	pending []Change
	deaf    bool          // nothing is being heard
	last    int64         // the revision of the database up to which all is in pending, or was
	signal  chan struct{} // of size one: something is pending
}

// receive takes what somebody has announced, of a database that is at a revision by now. Any role
// that may connect can announce anything: what counts is the revision.
func (b *mailbox) receive(payload string, at int64) {
	var c Change
	if err := json.Unmarshal([]byte(payload), &c); err != nil || !slices.Contains(changed, c.Kind) {
		b.saw(at)
		return
	}
	b.put(c, at)
}

// changed are the kinds that are announced.
var changed = []Kind{ChangedOrg, ChangedTeam, ChangedMember, ChangedCatalog, ChangedEntry,
	ChangedTool, ChangedAudit, ChangedGrant, ChangedRequest}

// put takes that the change which led to a revision was of a kind, of a database that is at another
// revision by now. Each revision is announced once: where there are two words about one, either may
// be the true one.
func (b *mailbox) put(c Change, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case c.Revision > at:
		b.see(at) // which nobody has made
	case c.Revision != b.last+1 || len(b.pending) >= backlog || len(b.pending) > 0 &&
		b.pending[len(b.pending)-1].Kind == Everything:
		b.all(min(at, max(b.last, c.Revision)))
	default:
		b.pending, b.last = append(b.pending, c), c.Revision
		b.ring()
	}
}

// everything takes that all up to a revision may have changed.
func (b *mailbox) everything(at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all(at)
}

// all puts Everything in the place of what is pending, but for the word that nothing was heard for
// a while.
func (b *mailbox) all(at int64) {
	b.deaf = false
	untold := slices.ContainsFunc(b.pending, func(c Change) bool { return c.Kind == Deaf })
	b.last, b.pending = at, b.pending[:0]
	if untold {
		b.pending = append(b.pending, Change{Kind: Deaf})
	}
	b.pending = append(b.pending, Change{Kind: Everything, Revision: b.last})
	b.ring()
}

// lost takes that nothing is being heard any more.
func (b *mailbox) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.deaf {
		b.deaf, b.pending = true, append(b.pending, Change{Kind: Deaf})
		b.ring()
	}
}

// saw takes that the database is at a revision, which must be the one that was heard of: it is
// lower where the database was restored.
func (b *mailbox) saw(at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.see(at)
}

func (b *mailbox) see(at int64) {
	if at != b.last {
		b.all(at)
	}
}

func (b *mailbox) ring() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *mailbox) take() (Change, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		return Change{}, false
	}
	c := b.pending[0]
	b.pending = b.pending[1:]
	return c, true
}

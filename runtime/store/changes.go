package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

// channel is the notification channel of a store's changes. Channels belong to a database, and a
// store to one schema of it.
const channel = `'mcpgen_' || md5(current_schema())`

const (
	// quiet is how long a follower relies on notifications before it compares the revision.
	quiet = 30 * time.Second
	// pause is how long a follower waits before it connects again.
	pause = time.Second
	// looking is the time limit of a read of the revision.
	looking = 10 * time.Second
	// backlog is the maximum number of pending changes of a follower.
	backlog = 256
)

// Changes sends the changes of the database until ctx ends or the store is closed, and then closes
// the channel. It starts with [storechange.Everything] once notifications arrive: a read after it
// misses no change. [storechange.Deaf] reports that none arrive. A slow follower delays no other:
// it gets Everything in place of the changes that it missed.
//
// On PostgreSQL each follower has its own connection, and receives the changes of all processes
// as they are committed. On SQLite, changes of this process are sent at once. Those of another
// process arrive within half a minute, as Everything.
func (s *Store) Changes(ctx context.Context) <-chan storechange.Change {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	out, box := make(chan storechange.Change), &mailbox{signal: make(chan struct{}, 1)}
	var attending sync.WaitGroup
	attending.Go(func() { s.attend(ctx, box) })
	s.follow(func() {
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
	})
	return out
}

// attend fills a mailbox until ctx ends.
func (s *Store) attend(ctx context.Context, box *mailbox) {
	if s.engine.listen != nil {
		for ctx.Err() == nil {
			if err := s.listen(ctx, box); err != nil {
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
	for report := box.everything; ctx.Err() == nil; {
		if s.look(ctx, report) != nil {
			wait(ctx, s.pause)
			continue
		}
		report = box.saw
		wait(ctx, s.quiet)
	}
}

// listen sends notifications to a mailbox until the connection or ctx ends. At intervals it reads
// the revision. That detects a dead connection, and a change without notification, as behind a
// pooler that drops them.
func (s *Store) listen(ctx context.Context, box *mailbox) error {
	return s.engine.listen(ctx, channel, func(conn *pgx.Conn) error {
		revision := func() (at int64, err error) {
			ctx, cancel := context.WithTimeout(ctx, looking)
			defer cancel()
			err = conn.QueryRow(ctx, revisionQuery).Scan(&at)
			return at, err
		}
		at, err := revision()
		if err != nil {
			return err
		}
		box.everything(at)
		for look := time.Now().Add(s.quiet); ; {
			waiting, cancel := context.WithDeadline(ctx, look)
			notification, err := conn.WaitForNotification(waiting)
			quiet := waiting.Err() != nil
			cancel()
			if err != nil && (!quiet || ctx.Err() != nil) {
				return err
			}
			if at, err = revision(); err != nil {
				return err
			}
			if notification != nil {
				box.receive(notification.Payload, at)
			}
			if !time.Now().Before(look) {
				box.saw(at)
				look = time.Now().Add(s.quiet)
			}
		}
	})
}

// look reports the revision of an SQLite database while no change of this process is unannounced.
// Otherwise the change would look like one of another process.
func (s *Store) look(ctx context.Context, report func(at int64)) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var at int64
	if err := s.prepared.QueryRowContext(ctx, revisionQuery).Scan(&at); err != nil {
		return err
	}
	report(at)
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// followers are the followers within a process.
type followers[F comparable] struct {
	mu sync.Mutex
	in map[F]bool
}

func (f *followers[F]) add(one F) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.in == nil {
		f.in = map[F]bool{}
	}
	f.in[one] = true
}

func (f *followers[F]) remove(one F) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.in, one)
}

func (f *followers[F]) each(do func(F)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for one := range f.in {
		do(one)
	}
}

// wake signals a follower, on a channel of size one.
func wake(due chan struct{}) {
	select {
	case due <- struct{}{}:
	default:
	}
}

// mailbox holds the pending changes of a follower. Revisions have no gaps: a missing one means a
// missed notification.
type mailbox struct {
	mu      sync.Mutex
	pending []storechange.Change
	deaf    bool          // no notifications arrive
	last    int64         // the newest revision that was put into pending
	signal  chan struct{} // of size one: a change is pending
}

// receive processes a notification; at is the revision that was read after it. Any role that may
// connect can send notifications, so only the revision is trusted.
func (b *mailbox) receive(payload string, at int64) {
	var c storechange.Change
	if err := json.Unmarshal([]byte(payload), &c); err != nil || !slices.Contains(changed, c.Kind) {
		b.saw(at)
		return
	}
	b.put(c, at)
}

// changed are the kinds that are announced. A process of an earlier version takes a later kind for
// Everything.
var changed = []storechange.Kind{storechange.Org, storechange.Team, storechange.Member,
	storechange.Catalog, storechange.Entry, storechange.Tool, storechange.Audit,
	storechange.Grant, storechange.Request, storechange.Boundary}

// put adds the change of a revision; at is the revision that was read after it. Each revision is
// announced once: if two notifications name the same one, either may be forged.
func (b *mailbox) put(c storechange.Change, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case c.Revision > at:
		b.see(at) // a change that does not exist
	case c.Revision != b.last+1 || len(b.pending) >= backlog || len(b.pending) > 0 &&
		b.pending[len(b.pending)-1].Kind == storechange.Everything:
		b.all(min(at, max(b.last, c.Revision)))
	default:
		b.pending, b.last = append(b.pending, c), c.Revision
		wake(b.signal)
	}
}

// everything reports that all up to a revision may have changed.
func (b *mailbox) everything(at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all(at)
}

// all replaces the pending changes with Everything, and keeps a pending Deaf.
func (b *mailbox) all(at int64) {
	b.deaf = false
	wasDeaf := slices.ContainsFunc(b.pending, func(c storechange.Change) bool {
		return c.Kind == storechange.Deaf
	})
	b.last, b.pending = at, b.pending[:0]
	if wasDeaf {
		b.pending = append(b.pending, storechange.Change{Kind: storechange.Deaf})
	}
	b.pending = append(b.pending,
		storechange.Change{Kind: storechange.Everything, Revision: b.last})
	wake(b.signal)
}

// lost reports that notifications no longer arrive.
func (b *mailbox) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.deaf {
		b.deaf, b.pending = true, append(b.pending, storechange.Change{Kind: storechange.Deaf})
		wake(b.signal)
	}
}

// saw compares the revision of the database with the last one. It is lower after a restore.
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

func (b *mailbox) take() (storechange.Change, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		return storechange.Change{}, false
	}
	c := b.pending[0]
	b.pending = b.pending[1:]
	return c, true
}

const (
	// maxUpdates is how many updates of resources the database keeps. A follower that has missed
	// more gets an empty URI.
	maxUpdates = 1024
	// updatesInterval is the time between two reads of the updates of other processes on SQLite.
	updatesInterval = time.Second
)

// updatesChannel is where PostgreSQL announces updates of resources, without their URIs: any role
// that may connect to the database can listen.
const updatesChannel = `'mcpgen_updates_' || md5(current_schema())`

// PublishUpdate reports the update of a resource to every [Store.FollowUpdates] of the database. It
// is part of runtime.ResourceUpdates, and so is the meaning of an empty URI.
func (s *Store) PublishUpdate(ctx context.Context, uri string) error {
	const action = "publish the update of a resource"
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return s.engine.explain(ctx, action, ctx.Err())
	}
	err := s.within(ctx, action, func(t *tx) error {
		var number int64
		// The row is locked until the transaction ends, so that numbers are in the order of commits.
		if err := stmt(`UPDATE resource_update_count SET number = number + 1 WHERE id = 1 `+
			`RETURNING number`).row(ctx, t).Scan(&number); err != nil {
			return err
		}
		if _, err := stmt(`INSERT INTO resource_updates (place, number, uri) VALUES (?, ?, ?) `+
			`ON CONFLICT (place) DO UPDATE SET number = excluded.number, uri = excluded.uri`,
			number%maxUpdates, number, uri).exec(ctx, t); err != nil || s.engine.announce == nil {
			return err
		}
		return s.engine.announce(ctx, t.Tx, updatesChannel, "")
	})
	if err == nil && s.engine.announce == nil {
		s.updates.each(wake)
	}
	return err
}

// FollowUpdates sends the URIs of the resources whose updates are published from now on, by every
// process, until ctx ends or the store is closed, and then closes the channel. An empty URI means
// that any resource may have been updated: it comes first, and in place of updates that were
// missed. It is part of runtime.ResourceUpdates.
//
// On PostgreSQL each follower has its own connection, and receives updates as they are committed.
// On SQLite, updates of another process arrive within a second.
func (s *Store) FollowUpdates(ctx context.Context) <-chan string {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.closing, cancel)
	out, due := make(chan string), make(chan struct{}, 1)
	var listening sync.WaitGroup
	interval := updatesInterval
	if s.engine.listen != nil {
		interval = s.quiet
		listening.Go(func() {
			for ctx.Err() == nil {
				// Ignore the cause: connect again.
				_ = s.engine.listen(ctx, updatesChannel, func(conn *pgx.Conn) error {
					for {
						wake(due) // the first time for earlier updates
						if _, err := conn.WaitForNotification(ctx); err != nil {
							return err
						}
					}
				})
				wait(ctx, s.pause)
			}
		})
	} else {
		s.updates.add(due)
	}
	s.follow(func() {
		defer close(out)
		defer listening.Wait()
		defer s.updates.remove(due)
		defer cancel()
		defer stop()
		for last := int64(-1); ; {
			uris, newest, err := s.updatesAfter(ctx, last)
			pause := interval
			if err != nil {
				pause = s.pause
			} else {
				last = newest
			}
			for _, uri := range uris {
				select {
				case out <- uri:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-due:
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
	})
	return out
}

// updatesAfter returns the URIs of the updates after a number, each once, and the newest number.
func (s *Store) updatesAfter(ctx context.Context, last int64) (
	uris []string, newest int64, err error) {
	type update struct {
		number sql.NullInt64
		uri    sql.NullString
	}
	q := stmt(`SELECT c.number, u.number, u.uri FROM resource_update_count c `+
		`LEFT JOIN resource_updates u ON u.number > ? ORDER BY u.number`, last)
	rows, err := all(ctx, s.reads, q,
		func(row scanner) (u update, err error) { return u, row.Scan(&newest, &u.number, &u.uri) })
	switch {
	case err != nil:
		return nil, 0, err
	case newest == last:
		return nil, newest, nil
	case last < 0 || newest < last || rows[0].number.Int64 != last+1:
		return []string{""}, newest, nil // the first time, after a restore, or if some are gone
	}
	for _, u := range rows {
		if !slices.Contains(uris, u.uri.String) {
			uris = append(uris, u.uri.String)
		}
	}
	return uris, newest, nil
}

package store

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

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

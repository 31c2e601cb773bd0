package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/task"
)

// Tasks returns the store of tasks for runtime.Options.Tasks.Store. Tasks are no changes of an
// administrator: they have no revision, and the server records them itself. The database has the
// arguments and the results of calls until their tasks expire.
func (s *Store) Tasks() task.Store { return tasks{s} }

type tasks struct{ *Store }

// Create implements [task.Store]. Of tasks that are created at the same moment, each may miss the
// others in its count.
func (s tasks) Create(ctx context.Context, r task.Record, l task.Limits) error {
	return s.within(ctx, "create a task", func(t *tx) error {
		var own, total int
		alive := t.engine.moment(r.Created)
		q := stmt(`SELECT (SELECT count(*) FROM tasks WHERE issuer = ? AND subject = ? AND `+
			`expires_at > ?), (SELECT count(*) FROM tasks WHERE expires_at > ?)`,
			keepable(r.Owner.Issuer), keepable(r.Owner.Subject), alive, alive)
		if err := q.row(ctx, t).Scan(&own, &total); err != nil {
			return err
		}
		if own >= l.User || total >= l.Total {
			return task.ErrFull
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = stmt(`INSERT INTO tasks (id, issuer, subject, client, expires_at, due_at, `+
			`record) VALUES (?, ?, ?, ?, ?, ?, ?)`, r.ID,
			keepable(r.Owner.Issuer), keepable(r.Owner.Subject), keepable(r.Owner.Client),
			t.engine.moment(r.Expires), t.engine.dueAt(&r),
			string(text)).exec(ctx, t)
		return err
	})
}

func (e *engine) dueAt(r *task.Record) any {
	if due := r.Due(); !due.IsZero() {
		return e.moment(due.UTC())
	}
	return nil
}

func taskOf(o task.Owner, id string) *statement {
	return stmt(`SELECT record FROM tasks WHERE id = ? AND issuer = ? AND subject = ? AND client = ?`,
		keepable(id), keepable(o.Issuer), keepable(o.Subject), keepable(o.Client))
}

// readTask reads a row of an owner. Two owners can have the same columns, but not the same record.
func readTask(row scanner, o task.Owner) (task.Record, error) {
	r, err := scanTask(row)
	if errors.Is(err, sql.ErrNoRows) || err == nil && r.Owner != o {
		return task.Record{}, task.ErrUnknown
	}
	return r, err
}

func scanTask(row scanner) (r task.Record, err error) {
	var text string
	if err = row.Scan(&text); err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, err
}

// Get implements [task.Store].
func (s tasks) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	r, err := readTask(taskOf(o, id).row(ctx, s.prepared), o)
	if err == nil || errors.Is(err, task.ErrUnknown) {
		return r, err
	}
	return r, s.engine.explain(ctx, "read a task", err)
}

// Due implements [task.Store].
func (s tasks) Due(ctx context.Context, ids []string) (map[string]time.Time, error) {
	due := map[string]time.Time{}
	for some := range slices.Chunk(ids, 100) {
		q := anyOf(stmt(`SELECT id, due_at FROM tasks WHERE due_at IS NOT NULL AND id`), some)
		if _, err := every(ctx, s.Store, s.reads, "read when tasks are due", q,
			func(row scanner) (none struct{}, err error) {
				var id string
				var at time.Time
				if err = row.Scan(&id, moment{&at}); err == nil {
					due[id] = at
				}
				return none, err
			}); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// Change implements [task.Store].
func (s tasks) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (r task.Record, err error) {
	var refused error
	err = s.within(ctx, "change a task", func(t *tx) error {
		r, err = readTask(taskOf(o, id).and(t.engine.forUpdate).row(ctx, t), o)
		if err != nil {
			return err
		}
		if refused = change(&r); refused != nil {
			return refused
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = stmt(`UPDATE tasks SET expires_at = ?, due_at = ?, record = ? WHERE id = ?`,
			t.engine.moment(r.Expires), t.engine.dueAt(&r), string(text), id).exec(ctx, t)
		return err
	})
	if refused != nil {
		err = refused
	}
	return only(r, err)
}

// Lost implements [task.Store].
func (s tasks) Lost(ctx context.Context, now time.Time, most int) ([]task.Record, error) {
	q := stmt(`SELECT record FROM tasks WHERE due_at <= ? ORDER BY due_at LIMIT ?`,
		s.engine.moment(now.UTC()), most)
	lost, err := all(ctx, s.prepared, q, scanTask)
	if err != nil {
		return nil, s.engine.explain(ctx, "find tasks whose run has died", err)
	}
	return lost, nil
}

// Owners implements [task.Store].
func (s tasks) Owners(ctx context.Context) (map[string]task.Owner, error) {
	owners := map[string]task.Owner{}
	_, err := every(ctx, s.Store, s.reads, "read the owners of tasks",
		stmt(`SELECT record FROM tasks WHERE due_at IS NOT NULL`),
		func(row scanner) (none struct{}, err error) {
			r, err := scanTask(row)
			owners[r.ID] = r.Owner
			return none, err
		})
	return only(owners, err)
}

// Purge implements [task.Store].
func (s tasks) Purge(ctx context.Context, now time.Time) error {
	_, err := stmt(`DELETE FROM tasks WHERE expires_at <= ? AND due_at IS NULL`,
		s.engine.moment(now.UTC())).exec(ctx, s.writes)
	if err != nil {
		return s.engine.explain(ctx, "delete expired tasks", err)
	}
	return nil
}

// within runs do in one transaction, and again if it conflicts with another one.
func (s *Store) within(ctx context.Context, doing string, do func(*tx) error) error {
	attempt := func() error {
		begun, err := s.begin(ctx)
		if err != nil {
			return err
		}
		defer begun.Rollback() // nothing once it is committed
		if err := do(&tx{begun, ctx, s.engine, now(), s.limits}); err != nil {
			return err
		}
		return s.engine.commit(begun)
	}
	for n := 1; ; n++ {
		err := attempt()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, task.ErrFull), errors.Is(err, task.ErrUnknown):
			return fmt.Errorf("store: %s: %w", doing, err)
		case s.engine.fault(err) != again || n == attempts:
			return s.engine.explain(ctx, doing, err)
		}
	}
}

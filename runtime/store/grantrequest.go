package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

const requestColumns = `id, ` + permissionColumns +
	`, principal, tool, reason, status, created_at, decided_at, decided_by, note, grant_id`

// requestsAt returns a function that reads a request with its status at a moment.
func requestsAt(at time.Time) func(scanner) (grant.Request, error) {
	return func(row scanner) (r grant.Request, err error) {
		var id int64
		var granted sql.Null[int64]
		restricted := true
		err = row.Scan(&id, &r.Issuer, &r.Client, &r.Type, &r.Resource, &restricted,
			parameters{&r.Parameters}, &r.Principal, &r.Tool, &r.Reason,
			&r.Status, moment{&r.Created}, sometime{&r.Decided}, &r.By, &r.Note, &granted)
		r.ID = strconv.FormatInt(id, 10)
		complete(&r.Permission, restricted)
		if granted.Valid {
			r.Grant = strconv.FormatInt(granted.V, 10)
		}
		return r.At(at), err
	}
}

// openRequests adds a condition for the open requests of a client at a moment.
func (e *engine) openRequests(q *statement, issuer, client string, at time.Time) *statement {
	return q.and(`WHERE issuer = ? AND client = ? AND status = 'open' AND created_at > ?`, issuer,
		client, e.moment(at.Add(-grant.Waits)))
}

// RequestGrant keeps a request, in canonical form. If the client has an open request for the same
// permission, that one is returned. most limits the open requests of the client. All
// clients have at most 10,000. It withdraws requests of the client that have been open for
// [grant.Waits], and deletes at most 100 requests that are 90 days older than that. Errors wrap
// [grant.ErrInvalid] and [grant.ErrTooMany].
func (s *Store) RequestGrant(ctx context.Context, r grant.Request, most int, by audit.Event) (
	made grant.Request, err error) {
	const doing = "request permission"
	r, err = r.Keepable(now())
	if err != nil {
		return grant.Request{}, invalid(doing, err)
	}
	digest := digestOf(r.Permission)
	same := func(db querier, at time.Time) (grant.Request, error) {
		return requestsAt(at)(s.engine.openRequests(
			stmt(`SELECT `+requestColumns+` FROM grant_requests`), r.Issuer, r.Client, at).and(
			`AND digest = ?`, digest).row(ctx, db))
	}
	switch made, err = same(s.reads, now()); {
	case err == nil:
		return made, nil
	case !errors.Is(err, sql.ErrNoRows):
		return grant.Request{}, s.engine.explain(ctx, doing, err)
	}
	// Count before the transaction too: a client that repeats requests must not delay others.
	switch err := s.engine.room(ctx, s.reads, r, now(), most, s.limits.requests); {
	case errors.Is(err, grant.ErrTooMany):
		return grant.Request{}, fmt.Errorf("store: %s: %w", doing, err)
	case err != nil:
		return grant.Request{}, s.engine.explain(ctx, doing, err)
	}
	found := false
	err = s.change(ctx, by, doing, func(t *tx) (done, error) {
		if err := t.alone(); err != nil {
			return done{}, err
		}
		if made, err = same(t, t.now); !errors.Is(err, sql.ErrNoRows) {
			if found = err == nil; found {
				err = errNothing
			}
			return done{}, err
		}
		made, err = t.request(r, digest, most)
		return done{storechange.Request, fmt.Sprintf(
			"request %s: %s to %s%s", made.ID, made.Permission, clientOf(r.Issuer, r.Client),
			because(r.Reason))}, err
	})
	if found {
		return made, nil // from a concurrent call
	}
	return only(made, err)
}

// errNothing ends a transaction that has nothing to do.
var errNothing = errors.New("no change is needed")

func (t *tx) request(r grant.Request, digest string, most int) (grant.Request, error) {
	_, err := stmt(`UPDATE grant_requests SET status = 'withdrawn' WHERE issuer = ? AND client = ? `+
		`AND status = 'open' AND created_at <= ?`,
		r.Issuer, r.Client, t.engine.moment(t.now.Add(-grant.Waits))).exec(t.ctx, t)
	if err != nil {
		return r, err
	}
	if err := t.pruneRequests(); err != nil {
		return r, err
	}
	if err := t.engine.room(t.ctx, t, r, t.now, most, t.limits.requests); err != nil {
		return r, err
	}
	r.Created = t.now
	parameters, err := parametersOf(r.Permission)
	if err != nil {
		return r, err
	}
	var id int64
	err = stmt(`INSERT INTO grant_requests (`+permissionColumns+`, digest, principal, tool, reason, `+
		`status, created_at, decided_by, note) `+
		`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, '', '') RETURNING id`,
		r.Issuer, r.Client, r.Type, r.Resource, bool(!r.Unrestricted), parameters, digest,
		r.Principal, r.Tool, r.Reason, t.engine.moment(r.Created)).row(t.ctx, t).Scan(&id)
	r.ID = strconv.FormatInt(id, 10)
	return r, err
}

// tooMany is a [grant.ErrTooMany] for all clients together.
type tooMany int

func (n tooMany) Error() string {
	return fmt.Sprintf("all clients together have %d open requests, which is the maximum: "+
		"approve or deny some first", int(n))
}

func (tooMany) Is(target error) bool { return target == grant.ErrTooMany }

// room returns an error if a client, or all clients together, have the maximum of open requests.
func (e *engine) room(ctx context.Context, db querier, r grant.Request, at time.Time, most,
	all int) error {
	var open int
	if err := e.openRequests(stmt(`SELECT count(*) FROM grant_requests`), r.Issuer, r.Client,
		at).row(ctx, db).Scan(&open); err != nil {
		return err
	}
	if open >= most {
		return grant.ErrTooMany
	}
	var one int64
	q := stmt(`SELECT id FROM grant_requests WHERE status = 'open' AND created_at > ? `+
		`ORDER BY id DESC LIMIT 1 OFFSET ?`, e.moment(at.Add(-grant.Waits)), all-1)
	switch err := q.row(ctx, db).Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return tooMany(all)
}

const (
	// requestRetention is the maximum age of a request: 90 days after its last possible decision.
	// The database refuses to delete requests of the last 90 days.
	requestRetention = grant.Waits + 90*24*time.Hour
	// pruneBatch is the maximum number that one call deletes.
	pruneBatch = 100
)

// pruneRequests deletes a batch of the oldest requests. Ids are in the order of creation.
func (t *tx) pruneRequests() error {
	_, err := stmt(`DELETE FROM grant_requests WHERE id IN (SELECT id FROM (SELECT id, created_at `+
		`FROM grant_requests ORDER BY id LIMIT ?) AS oldest WHERE created_at <= ?)`,
		pruneBatch, t.engine.moment(t.now.Add(-requestRetention))).exec(t.ctx, t)
	return err
}

// GrantRequest returns a request. The error wraps [grant.ErrUnknown] if it does not exist.
func (s *Store) GrantRequest(ctx context.Context, id string) (grant.Request, error) {
	r, err := requestByID(ctx, s.prepared, id, now(), "")
	switch {
	case errors.Is(err, grant.ErrUnknown):
		return grant.Request{}, fmt.Errorf("store: %w", err)
	case err != nil:
		return grant.Request{}, s.engine.explain(ctx, "read a request", err)
	}
	return r, nil
}

func requestByID(ctx context.Context, db querier, id string, at time.Time, more string) (
	r grant.Request, err error) {
	n, ok := grant.Number(id)
	if ok {
		r, err = requestsAt(at)(stmt(`SELECT `+requestColumns+` FROM grant_requests WHERE id = ? `+
			more, n).row(ctx, db))
	}
	if !ok || errors.Is(err, sql.ErrNoRows) {
		return grant.Request{}, fmt.Errorf("request %.40q: %w", id, grant.ErrUnknown)
	}
	return r, err
}

// ApproveRequest grants the permission of an open request, or less. Errors wrap
// [grant.ErrUnknown], [grant.ErrDecided], [grant.ErrInvalid] and [grant.ErrFull].
func (s *Store) ApproveRequest(ctx context.Context, id string, v grant.Verdict, by audit.Event) (
	r grant.Request, g grant.Grant, err error) {
	r, err = s.decide(ctx, id, v, by, "approve request",
		func(t *tx, open grant.Request) (grant.Request, string, error) {
			wanted, err := open.Granted(v, t.now)
			if err != nil {
				return open, "", err
			}
			object := ""
			g, object, err = t.grant(wanted)
			return open.Decide(grant.Approved, v, g.ID, t.now), object, err
		})
	g, err = only(g, err)
	return r, g, err
}

// DenyRequest refuses an open request. Errors wrap [grant.ErrUnknown], [grant.ErrDecided] and
// [grant.ErrInvalid].
func (s *Store) DenyRequest(ctx context.Context, id string, v grant.Verdict, by audit.Event) (
	grant.Request, error) {
	return s.decide(ctx, id, v, by, "deny request",
		func(t *tx, open grant.Request) (grant.Request, string, error) {
			return open.Decide(grant.Refused, v, "", t.now), open.Permission.String() + " to " +
				clientOf(open.Issuer, open.Client) + because(v.Note), nil
		})
}

// decide decides on an open request. Only one of several concurrent decisions finds it open.
func (s *Store) decide(ctx context.Context, id string, v grant.Verdict, by audit.Event,
	action string, how func(t *tx, open grant.Request) (grant.Request, string, error)) (
	r grant.Request, err error) {
	err = s.change(ctx, by, action, func(t *tx) (done, error) {
		if err := t.alone(); err != nil {
			return done{}, err
		}
		if r, err = requestByID(ctx, t, id, t.now, t.engine.forUpdate); err != nil {
			return done{}, err
		}
		if err := r.Decidable(v); err != nil {
			return done{}, err
		}
		object, kind := "", storechange.Request
		if r, object, err = how(t, r); err != nil {
			return done{}, err
		}
		if r.Grant != "" {
			kind = storechange.Grant
		}
		number, _ := grant.Number(r.ID)
		granted, _ := grant.Number(r.Grant)
		_, err = stmt(`UPDATE grant_requests SET status = ?, decided_at = ?, decided_by = ?, `+
			`note = ?, grant_id = ? WHERE id = ? AND status = 'open'`,
			r.Status, t.engine.moment(r.Decided), r.By, r.Note,
			sql.Null[int64]{V: granted, Valid: r.Grant != ""}, number).exec(ctx, t)
		return done{kind, "request " + r.ID + ": " + object}, err
	})
	return only(r, err)
}

// GrantRequests returns a page of the requests of a filter, the newest first. Errors wrap
// [grant.ErrInvalid].
func (s *Store) GrantRequests(ctx context.Context, f grant.Filter) ([]grant.Request, error) {
	after, limit, err := f.Page()
	if err != nil {
		return nil, invalid("list requests", err)
	}
	q := stmt(`SELECT ` + requestColumns + ` FROM grant_requests WHERE id > 0`)
	if after != 0 {
		q = stmt(`SELECT `+requestColumns+` FROM grant_requests WHERE id < ?`, after)
	}
	at := now()
	stale := s.engine.moment(at.Add(-grant.Waits))
	switch q = chosen(f, q); f.Status {
	case "":
	case grant.Open:
		q = q.and(`AND status = 'open' AND created_at > ?`, stale)
	case grant.Withdrawn:
		q = q.and(`AND (status = 'withdrawn' OR status = 'open' AND created_at <= ?)`, stale)
	default:
		q = q.and(`AND status = ?`, keepable(string(f.Status)))
	}
	return every(ctx, s, s.reads, "list requests", q.and(`ORDER BY id DESC LIMIT ?`, limit),
		requestsAt(at))
}

package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

// Bound is the boundary of a client or an actor.
type Bound struct {
	ID       int64
	Version  int64          // 1, and one more with each update
	Party    boundary.Party // unique. It never changes
	Boundary boundary.Boundary
	Created  time.Time
	Updated  time.Time
}

var bounds = table[Bound]{storechange.Boundary, "boundary", "boundaries",
	`id, version, issuer, client, subject, actor, boundary, created_at, updated_at`,
	func(row scanner) (b Bound, err error) {
		var text string
		err = row.Scan(&b.ID, &b.Version, &b.Party.Issuer, &b.Party.Client, &b.Party.Subject,
			&b.Party.Actor, &text, moment{&b.Created}, moment{&b.Updated})
		if err == nil {
			b.Boundary = boundaryOf(b.ID, text)
		}
		return b, err
	}, func(_ Scope, q *statement) *statement { return q }}

// boundaryText is the text of a boundary in a row, without zero values.
type boundaryText struct {
	Roles    []string  `json:"roles,omitempty"`
	Items    []string  `json:"items,omitempty"`
	ReadOnly bool      `json:"readonly,omitempty"`
	Blocked  bool      `json:"blocked,omitempty"`
	Until    time.Time `json:"until,omitzero"`
}

// textOf returns the text of a valid boundary.
func textOf(b boundary.Boundary) (string, error) {
	err := first(checkList("role", b.Roles, maxRoles, boundaryitem.CheckRole),
		checkList("item", b.Items, maxItems, boundaryitem.CheckItem))
	if err != nil {
		return "", err
	}
	until := b.Until.UTC().Truncate(time.Microsecond)
	text, err := json.Marshal(boundaryText{b.Roles, b.Items, b.ReadOnly, b.Blocked, until})
	switch {
	case err != nil:
		return "", wrong("until is not a time of RFC 3339: %v", err)
	case len(text) > maxBoundary:
		return "", wrong("the boundary has %d bytes, more than %d: list fewer items, or a catalog",
			len(text), maxBoundary)
	}
	return string(text), nil
}

// boundaryOf reads the text of a row. A text with an unknown key, which a newer version can write,
// allows nothing: the key may narrow the boundary.
func boundaryOf(id int64, text string) boundary.Boundary {
	var read boundaryText
	where := fmt.Sprintf("boundary %d", id)
	from := json.NewDecoder(strings.NewReader(text))
	from.DisallowUnknownFields()
	err := from.Decode(&read)
	if _, end := from.Token(); err == nil && end != io.EOF {
		err = errors.New("more than one value")
	}
	if err != nil {
		return boundary.Boundary{Where: where + ", which this version cannot read"}
	}
	return boundary.Boundary{Roles: read.Roles, Items: read.Items, ReadOnly: read.ReadOnly,
		Blocked: read.Blocked, Until: read.Until, Where: where}
}

// object describes a boundary for the audit, with its differences from the one before.
func (b Bound) object(before boundary.Boundary) string {
	var text strings.Builder
	fmt.Fprintf(&text, "boundary %d of ", b.ID)
	switch p := b.Party; {
	case p.Actor != "":
		text.WriteString("actor " + quoted(p.Actor) + " of issuer " + quoted(p.Issuer))
	case p.Subject != "":
		text.WriteString(clientOf(p.Issuer, p.Client) + " for subject " + quoted(p.Subject))
	default:
		text.WriteString(clientOf(p.Issuer, p.Client))
	}
	now := b.Boundary
	named(&text, ", with the role", now.Roles, before.Roles)
	named(&text, ", without the role", before.Roles, now.Roles)
	named(&text, ", with the item", now.Items, before.Items)
	named(&text, ", without the item", before.Items, now.Items)
	for _, truth := range []struct {
		word        string
		now, before bool
	}{{"readonly", now.ReadOnly, before.ReadOnly}, {"blocked", now.Blocked, before.Blocked}} {
		switch {
		case truth.now && !truth.before:
			text.WriteString(", " + truth.word)
		case !truth.now && truth.before:
			text.WriteString(", no longer " + truth.word)
		}
	}
	switch {
	case now.Until.Equal(before.Until):
	case now.Until.IsZero():
		text.WriteString(", without an end")
	default:
		text.WriteString(", until " + now.Until.Format(time.RFC3339))
	}
	return text.String()
}

// maxNamed is the maximum number of roles or items that the audit names of one change.
const maxNamed = 50

// named writes the texts of a list that are not in another one, as in: , with the items "a", "b".
func named(to *strings.Builder, noun string, list, other []string) {
	list = slices.DeleteFunc(slices.Clone(list), func(text string) bool {
		return slices.Contains(other, text)
	})
	if len(list) == 0 {
		return
	}
	if len(list) > 1 {
		noun += "s"
	}
	some := list[:min(len(list), maxNamed)]
	for i, text := range some {
		some[i] = quoted(text)
	}
	to.WriteString(noun + " " + strings.Join(some, ", "))
	if more := len(list) - len(some); more > 0 {
		fmt.Fprintf(to, " and %d more", more)
	}
}

// CreateBound creates the boundary of a party. Where of the boundary is not kept.
func (s *Store) CreateBound(ctx context.Context, of boundary.Party, b boundary.Boundary,
	by audit.Event) (Bound, error) {
	text, err := textOf(b)
	if err = first(checkParty(of), err); err != nil {
		return Bound{}, invalid("create boundary", err)
	}
	return bounds.create(ctx, s, Global, s.limits.bounds, by, func(at any) *statement {
		return stmt(`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, `+
			`updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			of.Issuer, of.Client, of.Subject, of.Actor, text, at, at)
	}, func(b Bound) string { return b.object(boundary.Boundary{}) })
}

// Bound returns a boundary by its id.
func (s *Store) Bound(ctx context.Context, id int64) (Bound, error) {
	return bounds.get(ctx, s, Global, id)
}

// Bounds returns a page of the boundaries in the order of their ids, and whether there are more.
func (s *Store) Bounds(ctx context.Context, page Page[int64]) ([]Bound, bool, error) {
	return bounds.list(ctx, s, Global, page)
}

// AllBounds returns all boundaries of one state of the database, in the order of their ids.
func (s *Store) AllBounds(ctx context.Context) ([]Bound, error) {
	return every(ctx, s, s.prepared, "read the boundaries",
		stmt(`SELECT `+bounds.columns+` FROM boundaries ORDER BY id`), bounds.read)
}

// UpdateBound replaces a boundary that is still at the version that was read.
func (s *Store) UpdateBound(ctx context.Context, id, version int64, b boundary.Boundary,
	by audit.Event) (Bound, error) {
	text, err := textOf(b)
	if err = first(checkVersion(version, 1), err); err != nil {
		return Bound{}, invalid("update boundary", err)
	}
	return bounds.modify(ctx, s, Global, id, version, by, func(q *statement) {
		q.and(`, boundary = ?`, text)
	}, func(now, before Bound) string { return now.object(before.Boundary) })
}

// DeleteBound deletes a boundary. It fails with [ErrConflict] if the boundary has another version,
// unless version is 0.
func (s *Store) DeleteBound(ctx context.Context, id, version int64, by audit.Event) error {
	return bounds.remove(ctx, s, Global, id, version, by, func(b Bound) string {
		return b.object(boundary.Boundary{})
	}, nil)
}

// SeenClient is a client that a server has seen in a credential. Nobody has vouched for its name.
type SeenClient struct {
	ID             int64 // grows with each new client
	Issuer, Client string
	First, Last    time.Time
}

// SawClients keeps when clients were seen. It ignores ID, and clients whose names could not have a
// boundary. Of more than 10,000 clients, those that were last seen the longest ago are deleted.
// Seen clients are no changes: they have no revision and no audit event.
func (s *Store) SawClients(ctx context.Context, clients []SeenClient) error {
	const doing = "keep the seen clients"
	for some := range slices.Chunk(merged(clients), sawAtOnce) {
		err := s.within(ctx, doing, func(t *tx) error {
			q, next := stmt(`INSERT INTO seen_clients (issuer, client, first_at, last_at) VALUES`), ``
			for _, c := range some {
				q.and(next+`(?, ?, ?, ?)`, c.Issuer, c.Client, t.engine.moment(c.First.UTC()),
					t.engine.moment(c.Last.UTC()))
				next = `, `
			}
			_, err := q.and(`ON CONFLICT (issuer, client) DO UPDATE SET last_at = excluded.last_at `+
				`WHERE seen_clients.last_at < excluded.last_at`).exec(ctx, t)
			return err
		})
		if err != nil {
			return err
		}
		// In a transaction of its own, which waits for few rows of other processes.
		err = s.within(ctx, doing, func(t *tx) error {
			_, err := stmt(`DELETE FROM seen_clients WHERE id IN (SELECT id FROM seen_clients `+
				`ORDER BY last_at DESC, id DESC LIMIT ? OFFSET ?)`, sawAtOnce, t.limits.clients).
				exec(ctx, t)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sawAtOnce is the maximum number of clients of a statement. Engines limit its parameters.
const sawAtOnce = 1000

// merged returns each client that can have a boundary once. All processes lock the rows in the same
// order.
func merged(clients []SeenClient) []SeenClient {
	of := map[boundary.Party]SeenClient{}
	for _, c := range clients {
		p := boundary.Party{Issuer: c.Issuer, Client: c.Client}
		if checkParty(p) != nil || c.Client == boundaryitem.All {
			continue
		}
		if other, twice := of[p]; twice {
			if c.First.After(other.First) {
				c.First = other.First
			}
			if c.Last.Before(other.Last) {
				c.Last = other.Last
			}
		}
		of[p] = c
	}
	return slices.SortedFunc(maps.Values(of), func(a, b SeenClient) int {
		return cmp.Or(cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.Client, b.Client))
	})
}

// SeenClients returns a page of the clients that were seen, the newest first, and whether there are
// more. After is the id of the last client of the page before.
func (s *Store) SeenClients(ctx context.Context, page Page[int64]) ([]SeenClient, bool, error) {
	q := stmt(`SELECT id, issuer, client, first_at, last_at FROM seen_clients WHERE id < ? `+
		`ORDER BY id DESC`, cmp.Or(page.After, math.MaxInt64))
	return list(ctx, s, "seen clients", q, page, func(row scanner) (c SeenClient, err error) {
		return c, row.Scan(&c.ID, &c.Issuer, &c.Client, moment{&c.First}, moment{&c.Last})
	})
}

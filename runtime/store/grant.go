package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

const (
	permissionColumns = `issuer, client, type, resource, restricted, parameters`
	grantColumns      = `id, ` + permissionColumns + `, granted_by, reason, created_at, expires_at`
)

func readGrant(row scanner) (g grant.Grant, err error) {
	var id int64
	restricted := true
	err = row.Scan(&id, &g.Issuer, &g.Client, &g.Type, &g.Resource, &restricted,
		parameters{&g.Parameters}, &g.By, &g.Reason, moment{&g.Created}, sometime{&g.Expires})
	g.ID = strconv.FormatInt(id, 10)
	complete(&g.Permission, restricted)
	return g, err
}

// complete sets the fields that a row has in another form.
func complete(p *grant.Permission, restricted bool) {
	p.Unrestricted = grant.Unrestricted(!restricted)
	if len(p.Parameters) > 0 { // for example, rows escape "<"
		*p = p.Canonical()
	}
}

// parameters scans the parameters of a permission, a JSON object.
type parameters struct{ of *map[string]json.RawMessage }

func (p parameters) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("%T is not JSON", value)
	}
	*p.of = nil
	if text == "{}" {
		return nil
	}
	return json.Unmarshal([]byte(text), p.of)
}

func parametersOf(p grant.Permission) (string, error) {
	if len(p.Parameters) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(p.Parameters)
	return string(text), err
}

// digestOf returns the digest of the permission's line. Parse reads the line back, so no two
// permissions have the same. The word "unrestricted" is left out, as in earlier versions, whose
// digests are stored.
func digestOf(p grant.Permission) string {
	line := p.String()
	if p.Unrestricted {
		head := grant.Permission{Type: p.Type, Resource: p.Resource, Unrestricted: true}.String()
		line = strings.TrimSuffix(head, " unrestricted") + strings.TrimPrefix(line, head)
	}
	return audit.DigestOf([]byte(line)).String()
}

// alone makes changes to grants and requests run one after the other, so that their counts and
// reads stay valid until the commit. They lock the row of the revision first, other changes lock it
// last, so there is no deadlock.
func (t *tx) alone() error { return t.hold(stmt(`SELECT id FROM store_revision WHERE id = 1`)) }

// Grant keeps a grant, in canonical form. If the client already has the permission, that grant is
// renewed and keeps its id. Errors wrap [grant.ErrInvalid] and [grant.ErrFull].
func (s *Store) Grant(ctx context.Context, g grant.Grant, by audit.Event) (
	made grant.Grant, err error) {
	if _, err := g.Keepable(now()); err != nil {
		return grant.Grant{}, invalid("grant permission", err)
	}
	err = s.change(ctx, by, "grant permission", func(t *tx) (done, error) {
		if err := t.alone(); err != nil {
			return done{}, err
		}
		var object string
		made, object, err = t.grant(g)
		return done{storechange.Grant, object}, err
	})
	return only(made, err)
}

// grant inserts or renews a grant, and describes it for the audit.
func (t *tx) grant(g grant.Grant) (made grant.Grant, object string, err error) {
	if g, err = g.Keepable(t.now); err != nil {
		return g, "", err
	}
	var has, id int64
	digest, renewed := digestOf(g.Permission), ""
	q := stmt(`SELECT count(*), coalesce(max(CASE WHEN digest = ? THEN id END), 0) FROM grants `+
		`WHERE issuer = ? AND client = ?`, digest, g.Issuer, g.Client)
	if err := q.row(t.ctx, t).Scan(&has, &id); err != nil {
		return g, "", err
	}
	parameters, err := parametersOf(g.Permission)
	switch {
	case err != nil:
	case id != 0:
		// The row has other parameters if the database was migrated back and forth.
		renewed = " anew"
		_, err = stmt(`UPDATE grants SET parameters = ?, granted_by = ?, reason = ?, `+
			`created_at = ?, expires_at = ? WHERE id = ?`, parameters, g.By, g.Reason,
			t.engine.moment(g.Created), t.engine.sometime(g.Expires), id).exec(t.ctx, t)
	case has >= int64(t.limits.grants):
		err = grant.ErrFull
	default:
		q = stmt(`INSERT INTO grants (`+permissionColumns+`, digest, granted_by, reason, `+
			`created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			g.Issuer, g.Client, g.Type, g.Resource, bool(!g.Unrestricted), parameters, digest, g.By,
			g.Reason, t.engine.moment(g.Created), t.engine.sometime(g.Expires))
		err = q.row(t.ctx, t).Scan(&id)
	}
	if err != nil {
		return g, "", err
	}
	g.ID = strconv.FormatInt(id, 10)
	return g, fmt.Sprintf("grant %d%s: %s%s", id, renewed, granted(g), because(g.Reason)), nil
}

// granted describes a grant for the audit, as in: file.read public/** to client "x" of issuer "y"
// until 2026-03-04T12:00:00Z.
func granted(g grant.Grant) string {
	until := ""
	if !g.Expires.IsZero() {
		until = " until " + g.Expires.Format(time.RFC3339)
	}
	return g.Permission.String() + " to " + clientOf(g.Issuer, g.Client) + until
}

func clientOf(issuer, client string) string {
	if issuer == "" {
		return "client " + quoted(client)
	}
	return "client " + quoted(client) + " of issuer " + quoted(issuer)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", because " + quoted(reason)
}

// RevokeGrants revokes a client's grants of a type and a pattern, or of the whole type if the
// pattern is empty. It returns them in the order of their ids. No such grant is no error, and is
// recorded too. Errors wrap [grant.ErrInvalid].
func (s *Store) RevokeGrants(ctx context.Context, r grant.Revocation, by audit.Event) (
	revoked []grant.Grant, err error) {
	if err := r.Keepable(); err != nil {
		return nil, invalid("revoke permission", err)
	}
	resource := grant.Permission{Type: r.Type, Resource: r.Resource}.Canonical().Resource
	err = s.change(ctx, by, "revoke permission", func(t *tx) (done, error) {
		if err := t.alone(); err != nil {
			return done{}, err
		}
		q := stmt(`DELETE FROM grants WHERE issuer = ? AND client = ? AND type = ?`,
			keepable(r.Issuer), keepable(r.Client), keepable(r.Type))
		if resource != "" {
			q = q.and(`AND resource = ?`, keepable(resource))
		}
		if revoked, err = all(ctx, t, q.and(`RETURNING `+grantColumns), readGrant); err != nil {
			return done{}, err
		}
		slices.SortFunc(revoked, byID)
		return done{storechange.Grant, revocation(r, resource, revoked)}, nil
	})
	return only(revoked, err)
}

func byID(a, b grant.Grant) int {
	x, _ := grant.Number(a.ID)
	y, _ := grant.Number(b.ID)
	return cmp.Compare(x, y)
}

// revocation describes a revocation for the audit, as in: file.read public/** of client "x": grant
// 12. Type and resource are not validated, and so quoted.
func revocation(r grant.Revocation, resource string, revoked []grant.Grant) string {
	what := "all of " + quoted(r.Type)
	if resource != "" {
		what = quoted(r.Type) + " " + quoted(resource)
	}
	ids := "none"
	if len(revoked) > 0 {
		numbers := make([]string, len(revoked))
		for i, g := range revoked {
			numbers[i] = g.ID
		}
		ids = "grant " + strings.Join(numbers, ", ")
	}
	return what + " of " + clientOf(r.Issuer, r.Client) + ": " + ids + because(r.Reason)
}

// GrantsOf returns the grants of a client in the order of their ids, expired ones included.
func (s *Store) GrantsOf(ctx context.Context, issuer, client string) ([]grant.Grant, error) {
	q := stmt(`SELECT `+grantColumns+` FROM grants WHERE issuer = ? AND client = ? ORDER BY id`,
		keepable(issuer), keepable(client))
	return every(ctx, s, s.prepared, "read the grants of a client", q, readGrant)
}

// Grants returns a page of the grants of a filter, in the order of their ids. Errors wrap
// [grant.ErrInvalid].
func (s *Store) Grants(ctx context.Context, f grant.Filter) ([]grant.Grant, error) {
	after, limit, err := f.Page()
	if err != nil {
		return nil, invalid("list grants", err)
	}
	q := chosen(f, stmt(`SELECT `+grantColumns+` FROM grants WHERE id > ?`, after)).and(
		`ORDER BY id LIMIT ?`, limit)
	return every(ctx, s, s.reads, "list grants", q, readGrant)
}

// chosen adds conditions for the id, the client and the type of a filter.
func chosen(f grant.Filter, q *statement) *statement {
	if f.ID != "" {
		id, ok := grant.Number(f.ID)
		if !ok {
			id = 0 // matches no row
		}
		q = q.and(`AND id = ?`, id)
	}
	for _, column := range []struct {
		name, value string
		exact       bool
	}{{"issuer", f.Issuer, f.Exact}, {"client", f.Client, f.Exact}, {"type", f.Type, false}} {
		if column.value != "" || column.exact {
			q = q.and(`AND `+column.name+` = ?`, keepable(column.value))
		}
	}
	return q
}

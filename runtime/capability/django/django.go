// Package django reads the permissions of a Django application from its database, as Django's own
// ModelBackend does: those of the user, those of its groups, and all of them for a superuser. What
// other authentication backends of the host would add is not seen.
package django

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

// Source is a [capability.Source] and a [capability.Enumerator] over a Django database. It only
// reads, keeps nothing, and is safe for concurrent use.
//
// The user of a principal is [access.Principal.User], matched as the database matches names:
// exactly, case included, unless the column has a collation of its own. An inactive user is
// none, superuser or not.
type Source struct {
	db         *sql.DB
	statements statements
}

var (
	_ capability.Source     = (*Source)(nil)
	_ capability.Enumerator = (*Source)(nil)
)

// New returns a source that reads db, which stays the caller's to close. Any driver of the engine
// will do. An account that may only select from the tables of users, groups, permissions and content types is
// enough, and is what a server should be given.
func New(db *sql.DB, d dialect.Dialect, options Options) (*Source, error) {
	if db == nil {
		return nil, errors.New("django: no database: open the host's with sql.Open")
	}
	s, err := options.statements(d)
	if err != nil {
		return nil, err
	}
	return &Source{db: db, statements: s}, nil
}

// Resolve returns the active user that a principal's User names.
func (s *Source) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	if !nameable(p.User) {
		return capability.User{}, noUser(p.User)
	}
	rows, err := s.db.QueryContext(ctx, s.statements.user, p.User)
	if err != nil {
		return capability.User{}, fmt.Errorf("django: user %q: %w", p.User, err)
	}
	defer rows.Close()
	var u capability.User
	for rows.Next() {
		if u.ID != "" {
			return capability.User{}, ambiguous(p.User)
		}
		if err := rows.Scan(&u.ID, &u.Name, &u.Superuser); err != nil {
			return capability.User{}, fmt.Errorf("django: user %q: %w", p.User, err)
		}
	}
	if err := rows.Err(); err != nil {
		return capability.User{}, fmt.Errorf("django: user %q: %w", p.User, err)
	}
	if u.ID == "" {
		return capability.User{}, noUser(p.User)
	}
	return u, nil
}

// Capabilities returns what user.get_all_permissions() returns in Django, by one statement. A
// superuser is exempt from all permissions besides, as Django's has_perm lets it do what no permission
// was made for.
func (s *Source) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	if !nameable(p.User) {
		return capability.Set{}, noUser(p.User)
	}
	rows, err := s.db.QueryContext(ctx, s.statements.capabilities, p.User)
	if err != nil {
		return capability.Set{}, fmt.Errorf("django: permissions of %q: %w", p.User, err)
	}
	defer rows.Close()
	var set capability.Set
	id := ""
	for rows.Next() {
		var u capability.User
		var app, codename sql.NullString
		if err := rows.Scan(&u.ID, &u.Name, &u.Superuser, &app, &codename); err != nil {
			return capability.Set{}, fmt.Errorf("django: permissions of %q: %w", p.User, err)
		}
		if id != "" && id != u.ID {
			return capability.Set{}, ambiguous(p.User)
		}
		id = u.ID
		if u.Superuser {
			set.Exempt(capability.Any, capability.Any)
		}
		if app.Valid && codename.Valid {
			set.Add(app.String + "." + codename.String)
		}
	}
	if err := rows.Err(); err != nil { // a set that was cut short is not given out
		return capability.Set{}, fmt.Errorf("django: permissions of %q: %w", p.User, err)
	}
	if id == "" {
		return capability.Set{}, noUser(p.User)
	}
	return set, nil
}

// Actions returns all permissions that the host has: those that migrate made for its models,
// and those that their Meta and the host's own code added.
func (s *Source) Actions(ctx context.Context) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, s.statements.actions)
	if err != nil {
		return nil, fmt.Errorf("django: the host's permissions: %w", err)
	}
	defer rows.Close()
	var actions []string
	for rows.Next() {
		var app, codename string
		if err := rows.Scan(&app, &codename); err != nil {
			return nil, fmt.Errorf("django: the host's permissions: %w", err)
		}
		actions = append(actions, app+"."+codename)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("django: the host's permissions: %w", err)
	}
	return actions, nil
}

// MapAction returns a permission as it is: Django's has_perm takes "app.codename" too, and a codename is
// free text. It errs where app or codename is missing, or there is no telling which is which.
func (s *Source) MapAction(permission string) (string, error) {
	app, codename, ok := strings.Cut(permission, ".")
	if !ok || app == "" || codename == "" || strings.ContainsFunc(permission, func(r rune) bool { return r <= ' ' }) {
		return "", fmt.Errorf("django: %q is no permission of Django's: it has the form app.codename, as in \"dcim.view_device\"; write app= in //mcp:server, and action= and object= on the tool", permission)
	}
	return permission, nil
}

// nameable reports whether a database could hold the name. One with NUL or broken UTF-8 would fail in
// PostgreSQL, and it is no user's.
func nameable(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsRune(name, 0)
}

func noUser(name string) error {
	if name == "" {
		return fmt.Errorf("django: the principal names no user of the host (set its user claim or ServiceUsers): %w", capability.ErrNoUser)
	}
	return fmt.Errorf("django: no active user %q: %w", name, capability.ErrNoUser)
}

// ambiguous refuses a name of two users, which would be given what either of them may do.
func ambiguous(name string) error {
	return fmt.Errorf("django: %q names more than one active user: set Options.Username to a column whose values are unique", name)
}

// Package django reads the permissions of a Django application from its database, as Django's own
// ModelBackend does: those of the user, those of its groups, and all of them for a superuser. What
// other authentication backends of the host would add is not seen: LDAP with FIND_GROUP_PERMS takes
// groups from the directory, and not from tables. Hosts on MySQL are not supported.
//
// # Database
//
// A source is made by [New] from an open database and its engine:
//
//	db, err := sql.Open("pgx", "postgres://mcp_reader@db.example/netops")
//	source, err := django.New(db, dialect.PostgreSQL, django.Options{})
//
// The driver is the program's own choice, imported by it: for [dialect.PostgreSQL] any that takes $1 for a
// parameter, as github.com/jackc/pgx/v5/stdlib ("pgx") does, and for [dialect.SQLite] any that takes a question
// mark, as modernc.org/sqlite ("sqlite") does. Those two are what this package is tested with.
//
// Six tables are read, and of users four columns, so that the account needs no right to the hashes of their
// passwords. In PostgreSQL this is all that it needs, besides the right to connect:
//
//	GRANT SELECT (id, username, is_active, is_superuser) ON auth_user TO mcp_reader;
//	GRANT SELECT ON auth_user_groups, auth_user_user_permissions, auth_group_permissions,
//		auth_permission, django_content_type TO mcp_reader;
//
// Groups are known by their keys: auth_group is not read. For a model of users of the host's own the first
// three tables have other names, and the columns id and username may have, as [Options] say.
package django

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/internal/hostuser"
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

// New returns a source that reads db, which stays the caller's to close. It does not connect: a server that
// is given the source asks it at its start. Which driver and which account will do, the
// documentation of the package says; an account that may do no more is what a server should be given.
func New(db *sql.DB, d dialect.Dialect, options Options) (*Source, error) {
	if db == nil {
		return nil, errors.New("django: no database: open the host's with sql.Open")
	}
	if err := dialect.CheckDriver(db); err != nil {
		return nil, fmt.Errorf("django: %w", err)
	}
	s, err := options.statements(d)
	if err != nil {
		return nil, err
	}
	return &Source{db: db, statements: s}, nil
}

// Resolve returns the active user that a principal's User names.
func (s *Source) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	return hostuser.Read(ctx, s.db, "django", s.statements.user, p.User, nil)
}

// Capabilities returns what user.get_all_permissions() returns in Django, by one statement. A
// superuser is exempt from all permissions besides, as Django's has_perm lets it do what no permission
// was made for.
func (s *Source) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	var set capability.Set
	var app, codename sql.NullString // null in the one row of a user without permissions
	add := func() error {
		if app.Valid && codename.Valid {
			set.Add(app.String + "." + codename.String)
		}
		return nil
	}
	u, err := hostuser.Read(ctx, s.db, "django", s.statements.capabilities, p.User, add, &app, &codename)
	if err != nil {
		return capability.Set{}, err
	}
	if u.Superuser {
		set.Exempt(capability.Any, capability.Any)
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

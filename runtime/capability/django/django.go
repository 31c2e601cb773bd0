// Package django reads the permissions of a Django application from its database, as Django's own
// ModelBackend does: those of the user, those of its groups, and all of them for a superuser. It
// runs no Python: it does not see what has_perm of a custom backend or user model grants or
// refuses. LDAP with FIND_GROUP_PERMS takes groups from the directory, and not from tables. If the
// host refuses in code what its tables grant, use package runtime/capability/hasperm. Hosts on
// MySQL are not supported.
//
// # Database
//
// A source is made by [New] from an open database and its engine:
//
//	db, err := sql.Open("pgx", "postgres://mcp_reader@db.example/netops")
//	source, err := django.New(db, dialect.PostgreSQL, django.Options{})
//
// The driver is the program's own choice, imported by it: for [dialect.PostgreSQL] any that takes
// $1 for a parameter, as github.com/jackc/pgx/v5/stdlib ("pgx") does, and for [dialect.SQLite] any
// that takes a question mark, as modernc.org/sqlite ("sqlite") does. Those two are what this
// package is tested with.
//
// A source reads seven tables, and four columns of users: the account needs no right to the hashes
// of passwords. In PostgreSQL this is all that it needs, besides the right to connect:
//
//	GRANT SELECT (id, username, is_active, is_superuser) ON auth_user TO mcp_reader;
//	GRANT SELECT ON auth_group, auth_user_groups, auth_user_user_permissions,
//		auth_group_permissions, auth_permission, django_content_type TO mcp_reader;
//
// If the host has a user model of its own, the table of users and its two relations have other
// names, and so may the columns id and username: see [Options]. [Source.Check] compares the options
// with the tables, and a server calls it at start.
package django

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
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
	dialect    dialect.Dialect
	host       host
	statements statements
}

var (
	_ capability.Source     = (*Source)(nil)
	_ capability.Checker    = (*Source)(nil)
	_ capability.Enumerator = (*Source)(nil)
)

// New returns a source that reads db, which stays the caller's to close. It does not connect: a
// server calls [Source.Check] at start. The documentation of the package names the drivers, and the
// rights that the account needs. Give it no others.
func New(db *sql.DB, d dialect.Dialect, options Options) (*Source, error) {
	if db == nil {
		return nil, errors.New("django: no database: open the host's database with sql.Open")
	}
	if err := hostcheck.CheckDriver(db); err != nil {
		return nil, fmt.Errorf("django: %w", err)
	}
	if !d.Known() {
		return nil, errors.New("django: no engine: set dialect.SQLite or dialect.PostgreSQL")
	}
	h, err := options.host()
	if err != nil {
		return nil, err
	}
	return &Source{db: db, dialect: d, host: h, statements: h.statements(d)}, nil
}

// Check compares the configured tables and columns with the catalog of the database. Its error is a
// [capability.ConfigurationError] that names each missing table, column and grant, and the option
// to set. A UserKey that is not the primary key of its table is refused as well.
func (s *Source) Check(ctx context.Context) error {
	h, tables := s.host, s.host.tables()
	found, err := hostcheck.Read(ctx, s.db, s.dialect, tables...)
	if err != nil {
		return fmt.Errorf("django: %w", err)
	}
	key := found.Key(h.users)
	if len(key) == 1 && strings.HasSuffix(key[0], "_ptr_id") {
		return hostcheck.Error("django", fmt.Sprintf("column %q of table %q refers to the table "+
			"of another model: a user model with table inheritance is not supported",
			key[0], h.users))
	}
	problems := found.Missing(tables...)
	if h.allActive && found.Has(h.users, active) {
		problems = append(problems, fmt.Sprintf("table %q has a column %q: "+
			"remove Options.AllActive", h.users, active))
	}
	if len(key) > 0 && found.Has(h.users, h.key) && !found.IsKey(h.users, h.key) {
		problems = append(problems, fmt.Sprintf("column %q is not the primary key of table %q "+
			"(set Options.UserKey to %q)", h.key, h.users, key[0]))
	}
	problems = append(problems, found.Denied(tables...)...)
	if len(problems) > 0 {
		return hostcheck.Error("django", problems...)
	}
	return hostcheck.Run(ctx, s.db, "django", s.statements.capabilities)
}

// Resolve returns the active user that a principal's User names.
func (s *Source) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	return hostuser.Read(ctx, s.db, "django", s.statements.user, p.User, nil)
}

// Capabilities returns what user.get_all_permissions() returns in Django, by one statement. A
// superuser is exempt from all permissions besides, as Django's has_perm lets it do what no
// permission was made for.
func (s *Source) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	var set capability.Set
	var app, codename sql.NullString // null in the one row of a user without permissions
	add := func() error {
		if app.Valid && codename.Valid {
			set.Add(app.String + "." + codename.String)
		}
		return nil
	}
	u, err := hostuser.Read(ctx, s.db, "django", s.statements.capabilities, p.User, add, &app,
		&codename)
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
	actions, err := hostcheck.Texts(ctx, s.db, s.statements.actions)
	if err != nil {
		return nil, fmt.Errorf("django: the host's permissions: %w", err)
	}
	return actions, nil
}

// MapAction returns a permission unchanged: Django's has_perm takes "app.codename" too, and a
// codename is free text. It returns an error if app or codename is missing, or if the permission
// cannot be split into the two.
func (s *Source) MapAction(permission string) (string, error) {
	return hostuser.DjangoPermission("django", permission)
}

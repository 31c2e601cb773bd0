// Package hostuser reads what a host keeps of one user. Adapters whose hosts have a table of users
// share it, so that all of them take the same names for no user's.
package hostuser

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/capability"
)

// Read runs a statement whose one parameter is a user's name. Each row starts with the user's key,
// name and whether it is a superuser; what follows is scanned into columns, and row is called for
// it, if there is one. No row is no user: the error then wraps [capability.ErrNoUser]. Rows of two
// users are an error too, because a name of both would be given what either of them may do. host
// names the adapter in errors.
func Read(
	ctx context.Context, db *sql.DB, host, statement, name string,
	row func() error, columns ...any,
) (capability.User, error) {
	if name == "" {
		return capability.User{}, fmt.Errorf("%s: the principal has no user of the host (set the "+
			"user claim of its tokens, or ServiceUsers): %w", host, capability.ErrNoUser)
	}
	// PostgreSQL fails on these names, which no user can have.
	if !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return capability.User{}, fmt.Errorf("%s: %q cannot be a user name: %w", host, name,
			capability.ErrNoUser)
	}
	rows, err := db.QueryContext(ctx, statement, name)
	if err != nil {
		return capability.User{}, fmt.Errorf("%s: user %q: %w", host, name, err)
	}
	defer rows.Close()
	var found, u capability.User
	isFound := false // not by the key, which may be an empty text
	dest := append([]any{&u.ID, &u.Name, &u.Superuser}, columns...)
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return capability.User{}, fmt.Errorf("%s: user %q: %w", host, name, err)
		}
		if isFound && found.ID != u.ID {
			return capability.User{}, fmt.Errorf("%s: %q matches more than one active user: use a "+
				"column with unique values", host, name)
		}
		found, isFound = u, true
		if row == nil {
			continue
		}
		if err := row(); err != nil {
			return capability.User{}, fmt.Errorf("%s: user %q: %w", host, name, err)
		}
	}
	if err := rows.Err(); err != nil { // what was read until then is not given out
		return capability.User{}, fmt.Errorf("%s: user %q: %w", host, name, err)
	}
	if found.ID == "" {
		return capability.User{}, fmt.Errorf(
			"%s: no active user %q: %w", host, name, capability.ErrNoUser)
	}
	return found, nil
}

// DjangoPermission returns a permission unchanged, or an error if app or codename is missing or if
// it cannot be split into the two. host names the adapter.
func DjangoPermission(host, permission string) (string, error) {
	app, codename, ok := strings.Cut(permission, ".")
	if !ok || app == "" || codename == "" ||
		strings.ContainsFunc(permission, func(r rune) bool { return r <= ' ' }) {
		return "", fmt.Errorf("%s: %q is not a Django permission: write app.codename, for example "+
			"\"dcim.view_device\"; write app= in //mcp:server, and action= and object= on the tool",
			host, permission)
	}
	return permission, nil
}

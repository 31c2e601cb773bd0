package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx", for hosts on PostgreSQL

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// app is the server with what it stands on.
type app struct {
	settings  settings
	inventory *dcim.Inventory
	host      *sql.DB
	users     string // the table of the host's
	server    *runtime.Server
}

// open opens both databases and makes the server. A nil source serves nobody over HTTP.
func open(ctx context.Context, s settings, source identity.Source, logger *slog.Logger) (_ *app, err error) {
	a := &app{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.inventory, err = dcim.Open(ctx, s.file); err != nil {
		return nil, err
	}
	permissions, err := a.openHost()
	if err != nil {
		return nil, err
	}
	a.server, err = runtime.New(runtime.Options{
		Identity:        source,
		Audit:           audit.Slog(logger),
		Denial:          s.denial,
		PermissionAware: true,
		Capabilities:    permissions,
		CapabilityTTL:   s.cache,
		ServiceUsers:    s.clients,
		Logger:          logger,
	}, dcim.Toolset(a.inventory))
	return a, err
}

// openHost opens the database of the host, to read it only.
func (a *app) openHost() (capability.Source, error) {
	named := cmp.Or(a.settings.netbox, a.settings.django, "sqlite:"+a.settings.file)
	driver, source, engine := "sqlite", "", dialect.SQLite
	switch kind, rest, _ := strings.Cut(named, ":"); kind {
	case "postgres", "postgresql":
		driver, source, engine = "pgx", named, dialect.PostgreSQL
	case "sqlite":
		source = dcim.Source(rest, "mode=ro")
	default:
		return nil, fmt.Errorf("the database of the host is on %s: want sqlite:FILE or postgres://HOST/NAME", kind)
	}
	var err error
	if a.host, err = sql.Open(driver, source); err != nil {
		return nil, err
	}
	if a.settings.netbox != "" {
		a.users = objectperm.NetBox().Users
		return objectperm.New(a.host, engine, objectperm.NetBox(), objectperm.Options{})
	}
	a.users = "auth_user"
	return django.New(a.host, engine, django.Options{})
}

// doctor prints what everybody who is known would see, and why not the rest.
func (a *app) doctor(ctx context.Context, w io.Writer) error {
	users := []string{a.settings.as}
	if a.settings.as == "" {
		var err error
		if users, err = a.everybody(ctx); err != nil {
			return err
		}
	}
	_, err := a.server.Doctor(ctx, a.settings.principals(users)...).WriteTo(w)
	return err
}

// everybody is the users of the host, those that are not active included.
func (a *app) everybody(ctx context.Context) ([]string, error) {
	rows, err := a.host.QueryContext(ctx, "SELECT username FROM "+a.users)
	if err != nil {
		return nil, fmt.Errorf("the users of the host: %w", err)
	}
	defer rows.Close()
	var users []string
	for rows.Next() {
		var user string
		if err := rows.Scan(&user); err != nil {
			return nil, fmt.Errorf("the users of the host: %w", err)
		}
		users = append(users, user)
	}
	return users, rows.Err()
}

// close closes the inventory last: where both are one file, it is the one that may tidy it up.
func (a *app) close() error {
	var errs []error
	if a.host != nil {
		errs = append(errs, a.host.Close())
	}
	if a.inventory != nil {
		errs = append(errs, a.inventory.Close())
	}
	return errors.Join(errs...)
}

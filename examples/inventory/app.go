package main

import (
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
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// app is the server with what it stands on.
type app struct {
	settings  settings
	inventory *dcim.Inventory
	host      *sql.DB
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
	var engine dialect.Dialect
	if a.host, engine, err = openHost(s); err != nil {
		return nil, err
	}
	permissions, err := django.New(a.host, engine, django.Options{})
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
func openHost(s settings) (*sql.DB, dialect.Dialect, error) {
	file := s.file
	switch kind, rest, _ := strings.Cut(s.django, ":"); kind {
	case "postgres", "postgresql":
		db, err := sql.Open("pgx", s.django)
		return db, dialect.PostgreSQL, err
	case "sqlite":
		file = rest
	case "":
	default:
		return nil, 0, fmt.Errorf("-django %s: want sqlite:FILE or postgres://...", kind)
	}
	db, err := sql.Open("sqlite", dcim.Source(file, "mode=ro"))
	return db, dialect.SQLite, err
}

// doctor prints what everybody who is known would see, and why not the rest.
func (a *app) doctor(ctx context.Context, w io.Writer) error {
	users := []string{a.settings.as}
	if a.settings.as == "" {
		var err error
		if users, err = a.users(ctx); err != nil {
			return err
		}
	}
	_, err := a.server.Doctor(ctx, a.settings.principals(users)...).WriteTo(w)
	return err
}

// users are those of the host, those that are not active included.
func (a *app) users(ctx context.Context) ([]string, error) {
	rows, err := a.host.QueryContext(ctx, "SELECT username FROM auth_user")
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

func (a *app) close() error {
	var errs []error
	if a.inventory != nil {
		errs = append(errs, a.inventory.Close())
	}
	if a.host != nil {
		errs = append(errs, a.host.Close())
	}
	return errors.Join(errs...)
}

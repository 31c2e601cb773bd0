package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx", for hosts on PostgreSQL

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// app is the server with its databases.
type app struct {
	settings  settings
	inventory *dcim.Inventory
	host      *sql.DB
	users     string // the host's table of users
	server    *runtime.Server
}

// open opens both databases and makes the server. With a nil source it serves no HTTP.
func open(ctx context.Context, s settings, source identity.Source, logger *slog.Logger) (_ *app,
	err error) {
	a := &app{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	file := s.file
	switch there, err := exists(file); {
	case err != nil:
		return nil, err
	case there:
	case s.hosted() == "":
		return nil, noHost(file, "does not exist")
	case s.doctor:
		file = ":memory:" // the doctor reads no device, and creates no file
	}
	if a.inventory, err = dcim.Open(ctx, file); err != nil {
		return nil, err
	}
	permissions, err := a.openHost(ctx)
	if err != nil {
		return nil, err
	}
	limits := runtime.AccessOptions{Denial: s.denial}
	if s.boundaries != "" {
		if limits.Boundaries, err = static.Open(s.boundaries); err != nil {
			return nil, err
		}
	}
	a.server, err = runtime.New(runtime.Options{
		Identity: source,
		Audit:    runtime.AuditOptions{Sink: audit.Slog(logger)},
		Access:   limits,
		Host: runtime.HostOptions{Source: permissions, RecordOnly: permissions == nil, TTL: s.cache,
			ServiceUsers: s.clients},
		Logger: logger,
	}, dcim.Toolset(a.inventory))
	return a, err
}

// openHost opens the database of the host, to read it only. The source is nil without a host.
func (a *app) openHost(ctx context.Context) (capability.Source, error) {
	named := cmp.Or(a.settings.hosted(), "sqlite:"+a.settings.file)
	driver, source, engine := "sqlite", "", dialect.SQLite
	switch kind, rest, _ := strings.Cut(named, ":"); kind {
	case none:
		return nil, nil
	case "postgres", "postgresql":
		driver, source, engine = "pgx", named, dialect.PostgreSQL
	case "sqlite":
		if there, err := exists(rest); err != nil || !there {
			return nil, cmp.Or(err, noHost(rest, "does not exist"))
		}
		source = dcim.Source(rest, "mode=ro")
	default:
		return nil, fmt.Errorf("the database of the host is %s: want sqlite:FILE or "+
			"postgres://HOST/NAME", kind)
	}
	var err error
	if a.host, err = sql.Open(driver, source); err != nil {
		return nil, err
	}
	if a.settings.hosted() == "" {
		var hosts int
		if err := a.host.QueryRowContext(ctx, hasHost).Scan(&hosts); err != nil {
			return nil, fmt.Errorf("the database of the host, %s: %w", a.settings.file, err)
		}
		if hosts == 0 {
			return nil, noHost(a.settings.file, "has no tables of a host")
		}
	}
	if a.settings.netbox != "" {
		tables := releases[a.settings.release]()
		a.users = tables.Users
		return objectperm.New(a.host, engine, tables, objectperm.Options{})
	}
	a.users = "auth_user"
	return django.New(a.host, engine, django.Options{})
}

// noHost is the error of a file without a host.
func noHost(file, why string) error {
	return fmt.Errorf("there is no host with users and permissions: %s %s; write a demonstration to "+
		"the file of -db with -seed, or name the database of a host with -django or -netbox",
		file, why)
}

// exists reports whether a file exists. SQLite would create it.
func exists(file string) (bool, error) {
	switch _, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// doctor prints what each known identity may use, and the reason for each denial. It returns an
// error if an identity has a problem. An inactive user of the host is none, unless -as names it.
func (a *app) doctor(ctx context.Context, w io.Writer) error {
	users := map[string]bool{a.settings.as: true}
	if a.settings.as == "" {
		var err error
		if users, err = a.everybody(ctx); err != nil {
			return err
		}
	}
	report := a.server.Doctor(ctx, a.settings.principals(slices.Sorted(maps.Keys(users)))...)
	if _, err := report.WriteTo(w); err != nil {
		return err
	}
	problems := 0
	for _, d := range report.Identities {
		if active, isUser := users[d.Principal.User]; d.Problem != "" && (active || !isUser) {
			problems++
		}
	}
	if problems > 0 {
		return fmt.Errorf("-doctor found problems: %d of %d; see the lines that begin with "+
			"\"problem:\"", problems, len(report.Identities))
	}
	return nil
}

// everybody returns the users of the host, and whether each is active.
func (a *app) everybody(ctx context.Context) (map[string]bool, error) {
	rows, err := a.host.QueryContext(ctx, "SELECT username, is_active FROM "+a.users)
	if err != nil {
		return nil, fmt.Errorf("the users of the host: %w", err)
	}
	defer rows.Close()
	users := map[string]bool{}
	for rows.Next() {
		var user string
		var active bool
		if err := rows.Scan(&user, &active); err != nil {
			return nil, fmt.Errorf("the users of the host: %w", err)
		}
		users[user] = active
	}
	return users, rows.Err()
}

// close closes the inventory last. If both databases are one file, only it may write the file.
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

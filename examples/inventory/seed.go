package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
)

// layout is the tables of users and permissions of django.contrib.auth. A real host has made them
// with its migrations, and this program only reads them.
const layout = `
CREATE TABLE django_content_type (
	id INTEGER PRIMARY KEY, app_label varchar(100) NOT NULL, model varchar(100) NOT NULL,
	UNIQUE (app_label, model)
);
CREATE TABLE auth_permission (
	id INTEGER PRIMARY KEY, content_type_id integer NOT NULL REFERENCES django_content_type,
	codename varchar(100) NOT NULL, name varchar(255) NOT NULL,
	UNIQUE (content_type_id, codename)
);
CREATE TABLE auth_group (id INTEGER PRIMARY KEY, name varchar(150) NOT NULL UNIQUE);
CREATE TABLE auth_user (
	id INTEGER PRIMARY KEY, username varchar(150) NOT NULL UNIQUE,
	password varchar(128) NOT NULL DEFAULT '!',
	is_superuser bool NOT NULL, is_active bool NOT NULL, is_staff bool NOT NULL DEFAULT FALSE,
	first_name varchar(150) NOT NULL DEFAULT '', last_name varchar(150) NOT NULL DEFAULT '',
	email varchar(254) NOT NULL DEFAULT '',
	last_login datetime, date_joined datetime NOT NULL DEFAULT '2026-01-01 00:00:00'
);
CREATE TABLE auth_group_permissions (
	id INTEGER PRIMARY KEY, group_id integer NOT NULL REFERENCES auth_group,
	permission_id integer NOT NULL REFERENCES auth_permission, UNIQUE (group_id, permission_id)
);
CREATE TABLE auth_user_groups (
	id INTEGER PRIMARY KEY, user_id integer NOT NULL REFERENCES auth_user,
	group_id integer NOT NULL REFERENCES auth_group, UNIQUE (user_id, group_id)
);
CREATE TABLE auth_user_user_permissions (
	id INTEGER PRIMARY KEY, user_id integer NOT NULL REFERENCES auth_user,
	permission_id integer NOT NULL REFERENCES auth_permission, UNIQUE (user_id, permission_id)
);`

// models are what the host is about, with the actions that its code adds to those which Django
// gives every model.
var models = []struct {
	name  string
	added []string
}{
	{"device", []string{"rename_device", "napalm_read_device"}},
	{"dnsrecord", nil},
	{"ipaddress", nil},
}

var groups = []struct {
	name        string
	permissions []string
}{
	{"readers", []string{"view_device", "view_dnsrecord", "view_ipaddress"}},
	{"operators", []string{
		"view_device", "add_device", "change_device", "delete_device", "rename_device",
		"napalm_read_device",
		"view_dnsrecord", "add_dnsrecord", "change_dnsrecord", "delete_dnsrecord",
	}},
}

// people are the users of the demonstration. They have no password and cannot log in.
var people = []struct {
	name              string
	superuser, active bool
	groups            []string
	permissions       []string
}{
	{name: "ada", superuser: true, active: true},
	{name: "mara", active: true, groups: []string{"operators"}},
	{name: "vera", active: true, groups: []string{"readers"}},
	{name: "nina", active: true},
	{name: "gone", superuser: true, groups: []string{"operators"}},
	// An agent that reconciles DNS records with the names of devices.
	{name: "dns-agent", active: true, permissions: []string{"view_dnsrecord", "rename_device"}},
}

// seed writes the demonstration to a file, and adds missing devices, records and addresses. It
// leaves an existing host as it is. made reports whether it has written a host.
func seed(ctx context.Context, file string) (made bool, err error) {
	inventory, err := dcim.Open(ctx, file)
	if err != nil {
		return false, err
	}
	err = inventory.Demonstrate(ctx)
	if err := errors.Join(err, inventory.Close()); err != nil {
		return false, err
	}
	db, err := sql.Open("sqlite", dcim.Source(file, "_pragma=foreign_keys(1)&_txlock=immediate"))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	made, err = seedHost(ctx, tx)
	if err != nil {
		return false, errors.Join(fmt.Errorf("-seed: %s: %w", file, err), tx.Rollback())
	}
	return made, tx.Commit()
}

// hasHost counts the tables of users in a SQLite file.
const hasHost = "SELECT count(*) FROM sqlite_master WHERE name = 'auth_user'"

// seedHost writes the tables of a host, unless they exist.
func seedHost(ctx context.Context, tx *sql.Tx) (made bool, err error) {
	var hosts int
	if err := tx.QueryRowContext(ctx, hasHost).Scan(&hosts); err != nil || hosts > 0 {
		return false, err
	}
	var errs []error
	do := func(statement string, args ...any) {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			errs = append(errs, err)
		}
	}
	do(layout)
	for _, m := range models {
		do("INSERT INTO django_content_type (app_label, model) VALUES ('dcim', ?)", m.name)
		codenames := []string{"add_" + m.name, "change_" + m.name, "delete_" + m.name,
			"view_" + m.name}
		for _, codename := range append(codenames, m.added...) {
			do(`INSERT INTO auth_permission (content_type_id, codename, name)
				SELECT id, ?, ? FROM django_content_type WHERE model = ?`,
				codename, "Can "+codename, m.name)
		}
	}
	for _, g := range groups {
		do("INSERT INTO auth_group (name) VALUES (?)", g.name)
		for _, codename := range g.permissions {
			do(`INSERT INTO auth_group_permissions (group_id, permission_id) SELECT g.id, p.id
				FROM auth_group g, auth_permission p WHERE g.name = ? AND p.codename = ?`,
				g.name, codename)
		}
	}
	for _, u := range people {
		do("INSERT INTO auth_user (username, is_superuser, is_active) VALUES (?, ?, ?)", u.name,
			u.superuser, u.active)
		for _, g := range u.groups {
			do(`INSERT INTO auth_user_groups (user_id, group_id) SELECT u.id, g.id
				FROM auth_user u, auth_group g WHERE u.username = ? AND g.name = ?`, u.name, g)
		}
		for _, codename := range u.permissions {
			do(`INSERT INTO auth_user_user_permissions (user_id, permission_id) SELECT u.id, p.id
				FROM auth_user u, auth_permission p WHERE u.username = ? AND p.codename = ?`,
				u.name, codename)
		}
	}
	err = errors.Join(errs...)
	return err == nil, err
}

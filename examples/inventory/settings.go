package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// settings are the settings of the command line.
type settings struct {
	file           string // of the inventory
	django, netbox string // the host's database; if both are empty, a Django in the same file
	boundaries     string // a file, or ""
	release        string // of the host of -netbox
	cache          time.Duration
	denial         access.Denial
	verbose        bool

	seed, stdio, doctor bool
	addr                string
	as, role            string // of a caller without a token

	issuer, audience     string
	userClaim, roleClaim string
	clients              []runtime.ServiceUser
	scopes               []string
	leeway               time.Duration
}

// none as -django is no host, and as -role no role.
const none = "none"

// releases are the values of -netbox-release, with their tables.
var releases = map[string]func() objectperm.Layout{
	"4.4": objectperm.NetBox,
	"4.3": objectperm.NetBox41, "4.2": objectperm.NetBox41, "4.1": objectperm.NetBox41,
	"4.0": objectperm.NetBox40,
	"3.7": objectperm.NetBox36, "3.6": objectperm.NetBox36,
	"3.5":      objectperm.NetBox29,
	"nautobot": objectperm.Nautobot,
}

// releaseNames is how help and errors list the releases.
const releaseNames = "4.4 for it and later, 4.3, 4.2, 4.1, 4.0, 3.7, 3.6, " +
	"3.5 for it and earlier to 2.9, or nautobot"

// parse reads the command line and refuses contradictory flags. It writes help to out.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("inventory", flag.ContinueOnError)
	// Otherwise flags prints each error with all flags, and main prints it again.
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.addr, "http", "", "serve HTTP on this `address`; port 0 takes a free one")
	flags.BoolVar(&s.stdio, "stdio", false, "serve over stdio, as the user that -as names")
	flags.BoolVar(&s.doctor, "doctor", false,
		"print what the clients of -client and the users of the host (or the one of -as) may "+
			"use, and the reason for each denial. Without -role, users have no role. The exit "+
			"status is 1 if an identity has a problem, other than an inactive user")
	flags.BoolVar(
		&s.seed, "seed", false,
		"first write a demonstration to the file of -db: an inventory, and the tables of a "+
			"Django host with users. Existing tables of a host stay as they are")

	flags.StringVar(&s.file, "db", "inventory.db", "SQLite `file` of the inventory")
	flags.StringVar(
		&s.django, "django", "",
		"`database` of the Django host: sqlite:FILE or postgres://USER@HOST/NAME, with a user "+
			"that may only select. The default is the file of -db. With none there is no host, and "+
			"roles and boundaries decide alone")
	flags.StringVar(
		&s.netbox, "netbox", "",
		"`database` of a host with NetBox's permissions, instead of -django")
	flags.StringVar(&s.release, "netbox-release", "4.4", "`release` of the host of -netbox: "+
		releaseNames)
	flags.DurationVar(&s.cache, "cache", 0, "how long permissions of the host are cached; "+
		"0 reads them for each message. SIGHUP drops them")
	flags.StringVar(
		&s.as, "as", "", "the `user` of the host for -stdio or -doctor, and its client in -boundaries")
	flags.StringVar(&s.boundaries, "boundaries", "", "`file` of the boundaries of clients")
	flags.StringVar(
		&s.role, "role", "",
		"the `roles` of users without a token, with commas, for -stdio and -doctor: Viewer, Member, "+
			"Manager, Admin, or none")
	denial := flags.String("denial", "conceal", "denial `mode`: conceal or forbid")

	flags.StringVar(
		&s.issuer, "issuer", "", "`URL` of the OpenID provider whose tokens are accepted over HTTP")
	flags.StringVar(&s.audience, "audience", "",
		"`URL` of this server as clients write it, which is the audience of tokens. It may be "+
			"left out with a loopback address in -http")
	flags.StringVar(&s.userClaim, "user-claim", "", "`claim` that names the user of the host")
	flags.StringVar(&s.roleClaim, "role-claim", "",
		"`claim` that contains roles: Viewer, Member, Manager, Admin. Other values are ignored. "+
			"Without the claim a caller has no role")
	flags.Func(
		"client",
		"`CLIENT=USER`: the user of the host for an OAuth client whose tokens name no user; "+
			"may be repeated", func(v string) error {
			client, user, _ := strings.Cut(v, "=")
			if client == "" || user == "" {
				return errors.New("want CLIENT=USER")
			}
			s.clients = append(s.clients, runtime.ServiceUser{Client: client, User: user})
			return nil
		})
	flags.Func("scope", "`scope` that clients request of the provider; may be repeated",
		func(v string) error {
			s.scopes = append(s.scopes, v)
			return nil
		})
	flags.DurationVar(&s.leeway, "leeway", oidc.DefaultLeeway,
		"the maximum difference between the clocks of the provider and this server")
	flags.BoolVar(&s.verbose, "v", false, "log at debug level, with each decision")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return s, err
	case err != nil:
		return s, fmt.Errorf("%w; -h lists the flags", err)
	}
	switch *denial {
	case "conceal":
		s.denial = access.Conceal
	case "forbid":
		s.denial = access.Forbid
	default:
		return s, fmt.Errorf("-denial %s: want conceal or forbid", *denial)
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("%q: want flags only", flags.Arg(0))
	}
	err := s.check()
	if s.role == none {
		s.role = ""
	}
	return s, err
}

func (s settings) check() error {
	modes := 0
	for _, asked := range []bool{s.addr != "", s.stdio, s.doctor} {
		if asked {
			modes++
		}
	}
	switch {
	case modes > 1, modes == 0 && !s.seed:
		return errors.New(
			"want one of -http, -stdio and -doctor, or -seed alone or with one of them")
	case s.addr != "" && s.issuer == "":
		return errors.New("-http needs -issuer: the OpenID provider whose tokens are accepted")
	case s.addr == "" && len(s.scopes) > 0:
		return errors.New("-scope needs -http: only HTTP callers have tokens")
	case s.addr == "" && s.issuer != "":
		return errors.New("-issuer needs -http: only HTTP callers have tokens")
	case s.django != "" && s.netbox != "":
		return errors.New("want one host: -django or -netbox")
	case releases[s.release] == nil:
		return fmt.Errorf("-netbox-release %s: want %s", s.release, releaseNames)
	case s.stdio && s.as == "":
		return errors.New("-stdio needs -as: the user of the host for whom the client acts")
	case s.addr != "" && (s.as != "" || s.role != ""):
		return errors.New(
			"-as and -role go with -stdio and -doctor: over HTTP the token identifies the caller")
	case s.doctor && s.hosted() == none && s.as == "":
		return errors.New("-doctor without a host needs -as: only a host has a list of users")
	case s.addr != "" && s.userClaim == "" && len(s.clients) == 0 && s.hosted() != none:
		return errors.New(
			"-http needs -user-claim, the claim of a token that names the user of the host, or " +
				"-client for clients whose tokens name no user, or both")
	}
	return nil
}

// identity is the source of callers over HTTP.
func (s settings) identity(ctx context.Context, logger *slog.Logger) (identity.Source, error) {
	issuer := oidc.Issuer{URL: s.issuer, Claims: oidc.Claims{User: s.userClaim}}
	if s.roleClaim != "" {
		issuer.Claims.Roles = []string{s.roleClaim}
	}
	source := oidc.New(oidc.Options{
		Resource: identity.Resource{URL: s.audience, Scopes: s.scopes},
		Issuers:  []oidc.Issuer{issuer},
		Leeway:   s.leeway,
		Logger:   logger,
	})
	if err := source.Check(); err != nil {
		return nil, fmt.Errorf("-issuer %s, -audience %s and the flags of claims: %w", s.issuer,
			s.audience, err)
	}
	return source, source.Fetch(ctx)
}

// hosted is the database of a host outside the file of -db, or "".
func (s settings) hosted() string { return cmp.Or(s.netbox, s.django) }

// principal is a user of the host without a token, and the client of the same name.
func (s settings) principal(user string) access.Principal {
	roles := strings.FieldsFunc(s.role, func(c rune) bool { return c == ',' })
	return access.Principal{Issuer: "host", Subject: user, Client: user, User: user, Roles: roles}
}

// principals are the users that -doctor reports, besides the clients.
func (s settings) principals(users []string) []access.Principal {
	var all []access.Principal
	for _, user := range users {
		all = append(all, s.principal(user))
	}
	return all
}

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

// settings are what the command line says.
type settings struct {
	file           string // of the inventory
	django, netbox string // of the host; where both are empty it is a Django in the same file
	release        string // of the host of netbox
	cache          time.Duration
	denial         access.Denial
	verbose        bool

	seed, stdio, doctor bool
	addr                string
	as, role            string // of a caller who brings no token

	issuer, audience     string
	userClaim, roleClaim string
	clients              []runtime.ServiceUser
	leeway               time.Duration
}

// releases are those that -netbox-release takes, with their tables.
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

// parse reads the command line and refuses what does not go together. Help goes to out.
func parse(args []string, out io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("inventory", flag.ContinueOnError)
	// or it would print its errors, all flags behind each, before the caller does
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.addr, "http", "", "serve HTTP on this `address`; port 0 takes a free one")
	flags.BoolVar(&s.stdio, "stdio", false, "serve over stdio, as the user that -as names")
	flags.BoolVar(&s.doctor, "doctor", false,
		"print what each known identity would see, and why not the rest: the clients of -client, "+
			"and the users of the host or the one that -as names. Without -role they have no "+
			"role, which hides what needs one even from a superuser. The exit status is 1 where "+
			"somebody has a problem, inactive users of the host aside")
	flags.BoolVar(
		&s.seed, "seed", false,
		"first make a demonstration of it all in the file of -db: an inventory, and the tables of a "+
			"Django host with users. A host that already exists is left as it is")

	flags.StringVar(&s.file, "db", "inventory.db", "SQLite `file` of the inventory")
	flags.StringVar(
		&s.django, "django", "",
		"`database` of the Django host: sqlite:FILE or postgres://USER@HOST/NAME, a user that may do no more than select; the file of -db where it is left out")
	flags.StringVar(
		&s.netbox, "netbox", "",
		"`database` of a host with NetBox's permissions, in place of -django")
	flags.StringVar(&s.release, "netbox-release", "4.4", "`release` of the host of -netbox: "+
		releaseNames)
	flags.DurationVar(&s.cache, "cache", 0, "how long the permissions of the host are kept; "+
		"0 reads them for each message. SIGHUP drops them")
	flags.StringVar(
		&s.as, "as", "", "the `user` of the host whom -stdio serves or -doctor looks at")
	flags.StringVar(
		&s.role, "role", "",
		"the `role` of who brings no token, as with -stdio and -doctor: Viewer, Member, Manager, Admin, or none")
	denial := flags.String("denial", "conceal", "how a refusal looks: conceal or forbid")

	flags.StringVar(
		&s.issuer, "issuer", "", "`URL` of the OpenID provider whose tokens are taken over HTTP")
	flags.StringVar(&s.audience, "audience", "",
		"`URL` that tokens must be for: that of this server as clients write it. It may be left out with a loopback address in -http")
	flags.StringVar(&s.userClaim, "user-claim", "", "`claim` that names the user of the host")
	flags.StringVar(&s.roleClaim, "role-claim", "",
		"`claim` that names roles, by the names that they have here: Viewer, Member, Manager, Admin. Other values count for nothing, and without the claim nobody has a role")
	flags.Func(
		"client",
		"`CLIENT=USER`: the user of the host for an OAuth client whose tokens name none; as often as there are such clients", func(v string) error {
			client, user, _ := strings.Cut(v, "=")
			if client == "" || user == "" {
				return errors.New("want CLIENT=USER")
			}
			s.clients = append(s.clients, runtime.ServiceUser{Client: client, User: user})
			return nil
		})
	flags.DurationVar(&s.leeway, "leeway", oidc.DefaultLeeway,
		"how far the clocks of the provider and of this server may be apart")
	flags.BoolVar(&s.verbose, "v", false, "log at debug level: how each decision was made")
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
	return s, s.check()
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
		return errors.New("-http needs -issuer: the OpenID provider whose tokens are taken")
	case s.addr == "" && s.issuer != "":
		return errors.New("-issuer goes with -http: nobody else brings a token")
	case s.django != "" && s.netbox != "":
		return errors.New("want one host: -django or -netbox")
	case releases[s.release] == nil:
		return fmt.Errorf("-netbox-release %s: want %s", s.release, releaseNames)
	case s.stdio && s.as == "":
		return errors.New("-stdio needs -as: the user of the host for whom the client acts")
	case s.addr != "" && (s.as != "" || s.role != ""):
		return errors.New(
			"-as and -role go with -stdio and -doctor: over HTTP the token says who is calling")
	case s.addr != "" && s.userClaim == "" && len(s.clients) == 0:
		return errors.New(
			"-http needs -user-claim, the claim of a token that names the user of the host, or " +
				"-client for clients whose own tokens name none, or both: nobody could be a user " +
				"of the host")
	}
	return nil
}

// identity is who is calling over HTTP.
func (s settings) identity(ctx context.Context, logger *slog.Logger) (identity.Source, error) {
	issuer := oidc.Issuer{URL: s.issuer, Claims: oidc.Claims{User: s.userClaim}}
	if s.roleClaim != "" {
		issuer.Claims.Roles = []string{s.roleClaim}
	}
	source := oidc.New(oidc.Options{
		Resource: identity.Resource{URL: s.audience},
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

// hosted is the database of a host that is elsewhere than in the file of -db, or "".
func (s settings) hosted() string { return cmp.Or(s.netbox, s.django) }

// principal is a user of the host who brings no token.
func (s settings) principal(user string) access.Principal {
	return access.Principal{Issuer: "host", Subject: user, User: user, Role: s.role}
}

// principals are whom -doctor looks at besides the clients.
func (s settings) principals(users []string) []access.Principal {
	var all []access.Principal
	for _, user := range users {
		all = append(all, s.principal(user))
	}
	return all
}

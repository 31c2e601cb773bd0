// Package objectperm reads the permissions of NetBox and Nautobot from their database: object
// permissions, each a list of actions on types of objects, given to users and groups, with
// constraints on the objects that it covers. Permissions that a host computes are not in its
// tables, so the source does not find them: NetBox with LDAP and FIND_GROUP_PERMS takes groups from
// the directory. Hosts on MySQL are not supported.
//
// # Database
//
// A source is made by [New] from an open database, its engine, and the tables of the host:
//
//	db, err := sql.Open("pgx", "postgres://mcp_reader@db.example/netbox")
//	source, err := objectperm.New(db, dialect.PostgreSQL, objectperm.NetBox(), objectperm.Options{})
//
// The releases of the hosts differ in their tables, in the models that no setting exempts, and in
// the permissions that all users hold. There is a layout for each:
//
//   - [NetBox] for NetBox 4.4 and later
//   - [NetBox41] for NetBox 4.1 to 4.3
//   - [NetBox40] for NetBox 4.0
//   - [NetBox36] for NetBox 3.6 and 3.7
//   - [NetBox29] for NetBox 2.9 to 3.5
//   - [Nautobot] for Nautobot 1.0 and later
//
// [Source.Check] compares the layout with the tables, and a server calls it at start. With the
// layout of another release, the server does not start. The error names the layout to use.
//
// The driver is the program's own choice, imported by it: any that takes $1 for a parameter, as
// github.com/jackc/pgx/v5/stdlib ("pgx") does, which this package is tested with. [dialect.SQLite],
// with modernc.org/sqlite ("sqlite") as the driver, is for tests: neither host runs on it.
//
// A source reads seven tables: those that the [Layout] names, and django_content_type. It reads
// four columns of users: the account needs no right to the hashes of passwords. For NetBox 4.0 and
// later this is all that it needs, besides the right to connect:
//
//	GRANT SELECT (id, username, is_active, is_superuser) ON users_user TO mcp_reader;
//	GRANT SELECT ON users_user_groups, users_objectpermission, users_user_object_permissions,
//		users_group_object_permissions, users_objectpermission_object_types, django_content_type
//		TO mcp_reader;
//
// And for Nautobot, and NetBox before 4.0:
//
//	GRANT SELECT (id, username, is_active, is_superuser) ON auth_user TO mcp_reader;
//	GRANT SELECT ON auth_user_groups, users_objectpermission, users_objectpermission_users,
//		users_objectpermission_groups, users_objectpermission_object_types, django_content_type
//		TO mcp_reader;
package objectperm

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/internal/hostuser"
)

// view is the action that hosts exempt models from.
const view = "view"

// Options are the settings of a host that concern its permissions. The server's author reads them
// from the host's configuration, because no table has them.
type Options struct {
	// ExemptView is EXEMPT_VIEW_PERMISSIONS: models that everybody may view, "dcim.site", or
	// [capability.Any] for all but the layout's NeverExempt. Empty exempts none, as hosts do by
	// default.
	ExemptView []string
	// DefaultPermissions is DEFAULT_PERMISSIONS, if a deployment sets it. An empty map that is not
	// nil has no permissions. Nil is the layout's.
	DefaultPermissions map[string][]capability.Constraint
}

// Source is a [capability.Source] over the database of NetBox or Nautobot. It only reads, keeps
// nothing, and is safe for concurrent use.
//
// It is no [capability.Enumerator]: an action is free text that a permission's author writes, so
// that no list of them is complete.
//
// The user of a principal is [access.Principal.User], matched exactly. An inactive user is none.
type Source struct {
	db         *sql.DB
	dialect    dialect.Dialect
	layout     Layout
	statements statements
	exempt     map[string]bool // models
	exemptAll  bool
	never      map[string]bool // models that exemptAll leaves out
	defaults   map[string]*grant
}

var (
	_ capability.Source  = (*Source)(nil)
	_ capability.Checker = (*Source)(nil)
)

// New returns a source that reads db, which stays the caller's to close. It does not connect: a
// server calls [Source.Check] at start. The documentation of the package names the drivers, and the
// rights that the account needs. Give it no others.
func New(db *sql.DB, d dialect.Dialect, layout Layout, options Options) (*Source, error) {
	if db == nil {
		return nil, errors.New("objectperm: no database: open the host's database with sql.Open")
	}
	if err := hostcheck.CheckDriver(db); err != nil {
		return nil, fmt.Errorf("objectperm: %w", err)
	}
	s := &Source{
		db: db, dialect: d, layout: layout,
		exempt: map[string]bool{}, never: map[string]bool{}, defaults: map[string]*grant{},
	}
	for _, model := range options.ExemptView {
		if model == capability.Any {
			s.exemptAll = true
			continue
		}
		app, name, _ := strings.Cut(model, ".")
		if p, ok := parse(app + "." + view + "_" + name); !ok || p.object() != model ||
			strings.Contains(model, capability.Any) {
			return nil,
				fmt.Errorf(
					"objectperm: Options.ExemptView: %q is not a model: write it as in "+
						"EXEMPT_VIEW_PERMISSIONS, for example \"dcim.site\", or \"*\" for all", model)
		}
		s.exempt[model] = true
	}
	for _, model := range layout.NeverExempt {
		s.never[model] = true
	}
	defaults := options.DefaultPermissions
	if defaults == nil {
		defaults = layout.DefaultPermissions
	}
	for name, constraints := range defaults {
		if _, ok := parse(name); !ok {
			return nil,
				fmt.Errorf(
					"objectperm: DefaultPermissions: %q is not a permission: write it as in "+
						"DEFAULT_PERMISSIONS, for example \"users.view_token\"", name)
		}
		g := &grant{}
		for _, c := range constraints {
			if err := g.constrain(c); err != nil {
				return nil, fmt.Errorf("objectperm: DefaultPermissions: %s: %w", name, err)
			}
		}
		s.defaults[name] = g
	}
	var err error
	s.statements, err = layout.statements(d, s.exemptAll)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Resolve returns the active user that a principal's User names.
func (s *Source) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	return hostuser.Read(ctx, s.db, "objectperm", s.statements.user, p.User, nil)
}

// Capabilities returns, by one statement, the enabled permissions of a user and of its groups, and
// those that all users hold. Constraints are raw JSON, each an object that is a queryset filter;
// "$user" in one stands for the user's own key, as the host has it. A permission is held without
// constraints where one of its grants has none (null, or an empty object), and so is every
// permission of a superuser and the viewing of an exempt model, which hosts do not constrain
// either. Actions that are no list of names are an error. A constraint that is no JSON object makes
// its permission [capability.Set.Unreadable], even if another grant of the permission has none.
func (s *Source) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	var set capability.Set
	grants := map[string]*grant{}
	for name, g := range s.defaults {
		grants[name] = &grant{free: g.free, constraints: slices.Clone(g.constraints)}
	}
	var isModel bool
	var app, model, actions, constraints sql.NullString
	read := func() error {
		if !app.Valid { // the one row of a user without permissions
			return nil
		}
		object := app.String + "." + model.String
		if isModel {
			if !s.never[object] {
				set.Exempt(object, view)
			}
			return nil
		}
		var names []string
		if err := json.Unmarshal([]byte(actions.String), &names); err != nil || names == nil {
			return fmt.Errorf("a permission on %s has actions %q, which is not a list of names: fix it "+
				"in the host", object, actions.String)
		}
		for _, action := range names {
			name := app.String + "." + action + "_" + model.String
			if grants[name] == nil {
				grants[name] = &grant{}
			}
			if err := grants[name].add(constraints); err != nil {
				grants[name].malformed = fmt.Errorf("%w: fix it in the host", err)
			}
		}
		return nil
	}
	u, err := hostuser.Read(ctx, s.db, "objectperm", s.statements.capabilities, p.User, read,
		&isModel, &app, &model, &actions, &constraints)
	if err != nil {
		return capability.Set{}, err
	}
	if u.Superuser {
		set.Exempt(capability.Any, capability.Any)
	}
	for model := range s.exempt {
		set.Exempt(model, view)
	}
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		g := grants[name]
		parsed, ok := parse(name)
		switch {
		case u.Superuser || ok && set.Unrestricted(parsed.object(), parsed.action):
			set.Add(name)
		case g.malformed != nil:
			set.Unreadable(name, g.malformed)
		case g.free:
			set.Add(name)
		default:
			set.Add(name, g.constraints...)
		}
	}
	return set, nil
}

// MapAction returns a permission unchanged: hosts write it "app.action_model" too. It fails if one
// of the three is missing, or if the model is not in lower case, as every model of Django is.
//
// The model is the part after the last underscore, as hosts read a name. A name whose action then
// begins with one of Django's own, such as "dcim.view_dns_record", is an error: its author most
// likely means a model with an underscore, which hosts do not support. [Source.MapPermission] gets
// the action and the model separately.
func (s *Source) MapAction(permission string) (string, error) {
	p, ok := parse(permission)
	if !ok {
		return "", malformed(permission)
	}
	if first, _, more := strings.Cut(p.action, "_"); more && slices.Contains(verbs, first) {
		return "",
			fmt.Errorf(
				"objectperm: this host parses %q as the action %q on the model %q, because the model "+
					"follows the last underscore: use a model without underscores",
				permission, p.action, p.object())
	}
	return permission, nil
}

// verbs are Django's own actions.
var verbs = []string{view, "add", "change", "delete"}

// MapPermission writes a permission in the form of the hosts. It fails as MapAction does, and if
// the host would read another action and model from the name than those of the permission, such as
// "dcim.sync_dns_record" for the action "sync" on the model "dns_record".
func (s *Source) MapPermission(p access.Permission) (string, error) {
	name := p.String()
	read, ok := parse(name)
	switch {
	case !ok:
		return "", malformed(name)
	case read != permission{p.App, p.Action, p.Object}:
		return "",
			fmt.Errorf(
				"objectperm: this host parses %q as the action %q on the model %q, but you wrote %q on %q: "+
					"a model has no underscores; write object= as in django_content_type",
				name, read.action, read.object(), p.Action, p.Type())
	}
	return name, nil
}

func malformed(name string) error {
	return fmt.Errorf(
		"objectperm: %q is not a permission of this host. The form is app.action_model, with the "+
			"model in lower case and without underscores, for example \"dcim.napalm_read_device\". "+
			"Write app= in //mcp:server, and action= and object= on the tool", name)
}

// grant is the union of all grants of one permission. Without constraints and not free it covers
// all objects: its lists are empty, which hosts read so.
type grant struct {
	free        bool
	constraints []capability.Constraint
	malformed   error // of a constraint; the permission is then not held
}

// add adds a column of constraints: null, one, or a list of which an object must meet any.
func (g *grant) add(column sql.NullString) error {
	if !column.Valid {
		g.free = true
		return nil
	}
	text := []byte(column.String)
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		return g.constrain(text)
	}
	var list []capability.Constraint
	if err := json.Unmarshal(text, &list); err != nil {
		return noObject(text)
	}
	for _, c := range list {
		if err := g.constrain(c); err != nil {
			return err
		}
	}
	return nil
}

// constrain adds one constraint; null and the empty object constrain nothing.
func (g *grant) constrain(c capability.Constraint) error {
	var members map[string]json.RawMessage // nil for null
	if err := json.Unmarshal(c, &members); err != nil {
		return noObject(c)
	}
	if len(members) == 0 {
		g.free = true
		return nil
	}
	g.constraints = append(g.constraints, c)
	return nil
}

func noObject(c []byte) error { return fmt.Errorf("the constraint %.200q is not a JSON object", c) }

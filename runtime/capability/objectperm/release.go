package objectperm

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

// NetBox returns the layout of NetBox 4.4 and later. The migration users.0011_concrete_objecttype
// of 4.4 refers permissions to contenttypes.ContentType again, which renames TypeColumn.
func NetBox() Layout {
	l := NetBox41()
	l.TypeColumn, l.release = "contenttype_id", "NetBox"
	return l
}

// NetBox41 returns the layout of NetBox 4.1 to 4.3. Release 4.1 added notifications and
// subscriptions, with default permissions.
func NetBox41() Layout {
	l := NetBox40()
	l.DefaultPermissions = own(
		"extras.%s_bookmark", "extras.%s_notification", "extras.%s_subscription", "users.%s_token")
	l.release = "NetBox41"
	return l
}

// NetBox40 returns the layout of NetBox 4.0, which has users and groups of its own, and refers
// permissions to core.ObjectType.
func NetBox40() Layout {
	return Layout{
		Users:            "users_user",
		UserGroups:       "users_user_groups",
		Permissions:      "users_objectpermission",
		UserPermissions:  "users_user_object_permissions",
		GroupPermissions: "users_group_object_permissions",
		PermissionTypes:  "users_objectpermission_object_types",
		TypeColumn:       "objecttype_id",
		NeverExempt: []string{
			"extras.configrevision", "users.group", "users.objectpermission", "users.token",
			"users.user",
		},
		DefaultPermissions: own("extras.%s_bookmark", "users.%s_token"),
		release:            "NetBox40",
	}
}

// NetBox36 returns the layout of NetBox 3.6 and 3.7, whose users and groups are Django's.
func NetBox36() Layout {
	l := NetBox29()
	l.NeverExempt = append(l.NeverExempt, "extras.configrevision", "users.token")
	l.DefaultPermissions = own("extras.%s_bookmark", "users.%s_token")
	l.release = "NetBox36"
	return l
}

// NetBox29 returns the layout of NetBox 2.9 to 3.5, which have no default permissions.
func NetBox29() Layout {
	l := Nautobot()
	l.NeverExempt = []string{"auth.group", "auth.user", "users.objectpermission"}
	l.release = "NetBox29"
	return l
}

// Nautobot returns the layout of Nautobot 1.0 and later, whose keys are UUIDs and whose groups are
// Django's. It has no default permissions.
func Nautobot() Layout {
	return Layout{
		Users:            "auth_user",
		UserGroups:       "auth_user_groups",
		Permissions:      "users_objectpermission",
		UserPermissions:  "users_objectpermission_users",
		GroupPermissions: "users_objectpermission_groups",
		PermissionTypes:  "users_objectpermission_object_types",
		TypeColumn:       "contenttype_id",
		// The last one is no entry of EXEMPT_EXCLUDE_MODELS: Nautobot takes it for auth.group.
		NeverExempt: []string{
			"auth.group", "users.user", "users.objectpermission", "users.admingroup",
		},
		release: "Nautobot",
	}
}

// own returns permissions for all actions on the objects of the user.
func own(names ...string) map[string][]capability.Constraint {
	permissions := map[string][]capability.Constraint{}
	for _, name := range names {
		for _, action := range verbs {
			permissions[fmt.Sprintf(name, action)] = []capability.Constraint{
				capability.Constraint(`{"user":"$user"}`),
			}
		}
	}
	return permissions
}

// release is a layout, and the content types that distinguish it from releases with the same
// tables.
type release struct {
	layout     Layout
	hosts      string
	has, lacks []string
}

// releases are all that this package has a layout of. The tables of a host fit one at most.
var releases = []release{
	{layout: NetBox(), hosts: "NetBox 4.4 and later"},
	{layout: NetBox41(), hosts: "NetBox 4.1 to 4.3", has: []string{notification}},
	{layout: NetBox40(), hosts: "NetBox 4.0", lacks: []string{notification}},
	{
		layout: NetBox36(), hosts: "NetBox 3.6 and 3.7",
		has: []string{bookmark}, lacks: []string{gitRepository},
	},
	{layout: NetBox29(), hosts: "NetBox 2.9 to 3.5", lacks: []string{bookmark, gitRepository}},
	{layout: Nautobot(), hosts: "Nautobot", has: []string{gitRepository}},
}

// Models of the app extras: of NetBox since 4.1, of NetBox since 3.6, and of every Nautobot.
const (
	notification  = "notification"
	bookmark      = "bookmark"
	gitRepository = "gitrepository"
)

func (r release) String() string { return "objectperm." + r.layout.release + "()" }

// fits reports whether tables and content types are those of the release.
func (r release) fits(found hostcheck.Catalog, models []string) bool {
	has := func(model string) bool { return slices.Contains(models, model) }
	lacks := func(model string) bool { return !has(model) }
	return len(found.Missing(r.layout.tables()...)) == 0 &&
		!slices.ContainsFunc(r.has, lacks) && !slices.ContainsFunc(r.lacks, has)
}

// Check compares the tables and columns of the layout with the catalog of the database. Its error
// is a [capability.ConfigurationError] that names each missing table, column and grant. It also is
// one if the layout is that of another release than the tables. The error then names the function
// that returns the right layout.
func (s *Source) Check(ctx context.Context) error {
	own := s.layout.tables()
	all := slices.Clone(own)
	for _, r := range releases {
		all = append(all, r.layout.tables()...)
	}
	found, err := hostcheck.Read(ctx, s.db, s.dialect, all...)
	if err != nil {
		return fmt.Errorf("objectperm: %w", err)
	}
	missing := found.Missing(own...)
	problems := slices.Concat(missing, found.Denied(own...))
	if len(found.Missing(types)) == 0 && len(found.Denied(types)) == 0 {
		// By the models of the app extras, releases with the same tables differ.
		models, err := hostcheck.Texts(ctx, s.db,
			"SELECT t.model FROM "+types.Name+" t WHERE t.app_label = 'extras'")
		if err != nil {
			return fmt.Errorf("objectperm: the models of the host: %w", err)
		}
		if other := s.other(found, models, len(missing) > 0); other != "" {
			problems = slices.Insert(problems, 0, other)
		}
	}
	if len(problems) > 0 {
		return hostcheck.Error("objectperm", problems...)
	}
	return hostcheck.Run(ctx, s.db, "objectperm", s.statements.capabilities)
}

// other describes that the tables are those of another release than the layout. It is empty if
// they are of the same release, or of none. A layout that no function returned has no release: its
// tables are of another one only if some of them are missing.
func (s *Source) other(found hostcheck.Catalog, models []string, missing bool) string {
	mine := ""
	var fitting *release
	for i, r := range releases {
		if r.layout.release == s.layout.release {
			mine = fmt.Sprintf("the layout is %s, for %s, but ", r, r.hosts)
		}
		if !r.fits(found, models) {
			continue
		}
		if r.layout.release == s.layout.release {
			return ""
		}
		fitting = &releases[i]
	}
	if fitting == nil || mine == "" && !missing {
		return ""
	}
	return fmt.Sprintf("%sthe tables are those of %s: use %s", mine, fitting.hosts, fitting)
}

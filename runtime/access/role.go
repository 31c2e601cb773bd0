package access

// Role is a position in a hierarchy, lowest first, from 1. Zero is no role.
type Role int

// The reserved roles of toolsets that fit anybody's hierarchy.
const (
	Lowest  Role = -1 // the lowest role of the server's hierarchy
	Highest Role = -2 // the highest
)

// DefaultRoles returns the hierarchy of a server none of whose packages declares one:
// Viewer, Member, Manager and Admin.
func DefaultRoles() []string { return []string{"Viewer", "Member", "Manager", "Admin"} }

// Hierarchy returns the role names of decisions, lowest first: the table's own, or the default ones
// if it has none. The slice is the caller's own.
func (t Table) Hierarchy() []string {
	if t.Roles == nil {
		return DefaultRoles()
	}
	return append([]string(nil), t.Roles...)
}

// Rank returns a role's position in the hierarchy, from 1. An unknown name has the rank 0, which no
// rule requires.
func (t Table) Rank(role string) Role { return t.rank(role) }

func (t *Table) rank(role string) Role {
	if role == "" {
		return 0
	}
	roles := t.Roles
	if roles == nil {
		roles = defaultRoles
	}
	for i, name := range roles {
		if name == role {
			return Role(i + 1)
		}
	}
	return 0
}

// HighestOf returns the highest role among names, or "" if none is in the hierarchy. So a token
// that names several roles becomes a principal with one.
func (t Table) HighestOf(names ...string) string {
	var best Role
	var role string
	for _, name := range names {
		if rank := t.Rank(name); rank > best {
			best, role = rank, name
		}
	}
	return role
}

var defaultRoles = DefaultRoles()

// resolve turns the reserved roles into a rank of the hierarchy. A rank that the hierarchy
// does not reach stays out of reach.
func (t *Table) resolve(r Role) Role {
	roles := len(t.Roles)
	if t.Roles == nil {
		roles = len(defaultRoles)
	}
	switch {
	case r == Lowest:
		return 1
	case r == Highest && roles > 0:
		return Role(roles)
	case r < 0:
		return Role(roles + 1)
	}
	return r
}

// roleName is the name of a rank, for messages.
func (t *Table) roleName(r Role) string {
	roles := t.Roles
	if roles == nil {
		roles = defaultRoles
	}
	if r < 1 || int(r) > len(roles) {
		return ""
	}
	return roles[r-1]
}

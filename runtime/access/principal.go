package access

import (
	"cmp"
	"slices"
	"strings"
)

// Principal is the authenticated caller, the input of every decision. The zero Principal is an
// anonymous caller. Identity sources fill the fields.
type Principal struct {
	// Issuer is the authority that names the subject: a token's iss claim, the name of a mapping, or
	// empty for a principal that the program itself defines.
	Issuer string
	// Subject names the caller, stable and unique with Issuer. A principal without it is anonymous,
	// whatever its other fields have.
	Subject string
	// Client is the OAuth client or the program that calls, unique with Issuer. Empty is the
	// subject; see [Principal.ClientID].
	Client string
	// Actor is the party that acts for the subject in a delegated token (RFC 8693, section 4.1). Zero
	// is none: the client acts for the subject itself.
	Actor Actor
	// User is the caller's name in the host whose permissions the server mirrors. Empty is no user
	// of the host.
	User string
	// Roles are names of the hierarchy. A caller may do all that any of its roles may. A name that
	// is not in the hierarchy counts as none.
	Roles []string
	// Scopes are the OAuth scopes of the credential. Empty is none.
	Scopes []string
	// Groups are the caller's groups. Empty is none.
	Groups []string
	// Orgs are the caller's organizations. Empty is none.
	Orgs []Membership
	// Teams are the caller's teams. Empty is none.
	Teams []Membership
	// Permits are the host's permissions of the caller, for the table of one server. The server
	// sets them. Nil is none.
	Permits *Permits
	// Bounds are the permission boundary of the caller's client, for the table of one server. The
	// server sets them. Nil is no boundary.
	Bounds *Bounds

	held held // of Roles; see [Table.Resolve]
}

// Actor is a party that acts for a subject.
type Actor struct {
	Issuer  string `json:"issuer,omitempty"` // the authority that names the actor
	Subject string `json:"subject"`          // empty for no actor
}

// Membership is a place in an organization or a team.
type Membership struct {
	Name     string   // of the organization or team
	Standing Standing // of the member
}

// Standing is the rank of a member in its organization or team.
type Standing string

// The standings, highest first.
const (
	Owner  Standing = "owner"
	Admin  Standing = "admin"
	Lead   Standing = "lead"
	Member Standing = "member"
)

// ServiceUser maps an OAuth client to a user of the host. It applies to principals that name no
// user, and by [Principal.Client] alone: a subject with the name of a client is not that client. An
// entry with an issuer comes before one without.
type ServiceUser struct {
	Client string
	Issuer string // of the client; empty is any issuer
	User   string // as in [Principal.User]
	// Delegated applies the entry to all callers of the client, and not only to the client itself
	// (identity.Identity.ClientItself): callers without a user of the host then act as this one.
	// Leave it out if people sign in by the client.
	Delegated bool
}

// Anonymous reports whether the caller is not authenticated: Subject is empty.
func (p Principal) Anonymous() bool { return p.anonymous() }

// anonymous is Anonymous without a copy of the principal, which takes longer than to decide.
func (p *Principal) anonymous() bool { return p.Subject == "" }

// ClientID is the client, or the subject where no client is named. Records and grants are
// kept under it, together with Issuer.
func (p Principal) ClientID() string {
	if p.Client != "" {
		return p.Client
	}
	return p.Subject
}

// IsZero reports whether nothing at all is set.
func (p Principal) IsZero() bool {
	return p.Issuer == "" && p.Subject == "" && p.Client == "" && p.Actor == (Actor{}) &&
		p.User == "" &&
		len(p.Roles) == 0 && len(p.Scopes) == 0 && len(p.Groups) == 0 &&
		len(p.Orgs) == 0 && len(p.Teams) == 0 && p.Permits == nil && p.Bounds == nil
}

// Compare orders principals by subject, issuer, client, actor, user, roles and scopes. It returns
// -1, 0 or 1, as package cmp does.
func (p Principal) Compare(other Principal) int {
	return cmp.Or(
		strings.Compare(p.Subject, other.Subject), strings.Compare(p.Issuer, other.Issuer),
		strings.Compare(p.Client, other.Client),
		strings.Compare(p.Actor.Subject, other.Actor.Subject),
		strings.Compare(p.Actor.Issuer, other.Actor.Issuer), strings.Compare(p.User, other.User),
		slices.Compare(p.Roles, other.Roles), slices.Compare(p.Scopes, other.Scopes))
}

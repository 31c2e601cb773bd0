package access

import (
	"cmp"
	"slices"
	"strings"
)

// Principal is who is calling: the one value that every decision reads.
//
// The zero Principal is an anonymous caller. Identity sources document how they fill each field.
type Principal struct {
	// Issuer is who vouches for the subject: a token's iss claim, the name of a mapping, or
	// empty for a principal that the program itself wrote down.
	Issuer string
	// Subject names the caller, stable and unique with Issuer. A principal without one is
	// anonymous, whatever else it holds.
	Subject string
	// Client is the OAuth client or the program that calls, unique with Issuer. Empty means
	// the subject; see [Principal.ClientID].
	Client string
	// User is what the host whose permissions a server projects calls the caller: the user
	// claim of a token, or what a mapping says. Empty is no user of the host.
	User string
	// Role is one name of the hierarchy. A name that the hierarchy does not have counts as none.
	Role string
	// Scopes, Groups, Orgs and Teams are what the caller has. Empty means none, never all.
	Scopes []string
	Groups []string
	Orgs   []Membership
	Teams  []Membership
	// Permits are what the host lets the caller do, for the table of one server. A server fills
	// them in; nobody else does. Nil is nothing at all.
	Permits *Permits
}

// Membership is a place in an organisation or a team.
type Membership struct {
	Name     string
	Standing Standing
}

// Standing is what a member is in its organisation or team.
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

// Anonymous reports whether nobody vouches for the caller.
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
	return p.Issuer == "" && p.Subject == "" && p.Client == "" && p.User == "" && p.Role == "" &&
		len(p.Scopes) == 0 && len(p.Groups) == 0 && len(p.Orgs) == 0 && len(p.Teams) == 0 && p.Permits == nil
}

// Compare orders principals by subject, issuer, client, user, role and scopes. It returns -1, 0 or
// 1, as package cmp does.
func (p Principal) Compare(other Principal) int {
	return cmp.Or(
		strings.Compare(p.Subject, other.Subject), strings.Compare(p.Issuer, other.Issuer),
		strings.Compare(p.Client, other.Client), strings.Compare(p.User, other.User),
		strings.Compare(p.Role, other.Role), slices.Compare(p.Scopes, other.Scopes))
}

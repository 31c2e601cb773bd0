package stored

import (
	"context"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Memberships selects the source of memberships in organisations and teams: the store or tokens.
type Memberships struct {
	issuers []string // whose claims count; none if the store has the memberships
}

// Stored takes memberships from the store, by issuer and subject. It is the zero value.
var Stored Memberships

// Claimed takes memberships from the principal, as the identity source filled them in, by the
// names of organisations and teams in the store. Only the claims of the given issuers count: name
// only issuers that may decide who owns an organisation. The empty issuer is that of principals
// without an issuer.
//
// Two organisations may each have a team of the same name. So a team name alone counts only if
// the principal claims exactly one organisation, and means a team of that one. Otherwise the
// claim must contain both names, as in acme/lab, and the principal must claim the organisation
// too. A claim that does not, or that has two readings, does not count. A claim that begins with
// the name of a claimed organisation and a slash always contains both names.
func Claimed(issuer string, more ...string) Memberships {
	return Memberships{append([]string{issuer}, more...)}
}

// claimed reports whether memberships stand in tokens.
func (m Memberships) claimed() bool { return len(m.issuers) > 0 }

// counts reports whether somebody can be in any organisation or team.
func (m Memberships) counts(p access.Principal) bool {
	return !p.Anonymous() && (!m.claimed() || slices.Contains(m.issuers, p.Issuer))
}

// Of returns the organisations and teams of a store that a principal belongs to, with its
// standings in each. There are several standings if claims repeat a name. The error is the
// store's.
func (m Memberships) Of(ctx context.Context, s *store.Store, p access.Principal) (
	map[store.Scope][]access.Standing, error,
) {
	in := map[store.Scope][]access.Standing{}
	if !m.counts(p) {
		return in, nil
	}
	if !m.claimed() {
		own, err := s.Memberships(ctx, p.Issuer, p.Subject)
		for _, m := range own {
			in[m.Scope] = append(in[m.Scope], m.Standing)
		}
		return in, err
	}
	orgs := names(p.Orgs)
	teams, standings := teamsOf(orgs, p.Teams)
	foundOrgs, foundTeams, err := s.ScopesNamed(ctx, orgs, teams)
	if err != nil {
		return nil, err
	}
	for _, org := range p.Orgs {
		if scope, ok := foundOrgs[org.Name]; ok {
			in[scope] = append(in[scope], org.Standing)
		}
	}
	for i, team := range teams {
		if scope, ok := foundTeams[team]; ok {
			in[scope] = append(in[scope], standings[i])
		}
	}
	return in, nil
}

// teamsOf returns the claimed teams that count, beside some organisations. It does not check which
// teams exist: a team of one tenant that the store does not have must not match another tenant's.
func teamsOf(orgs []string, claimed []access.Membership) (
	teams [][2]string, standings []access.Standing,
) {
	own := map[string]bool{}
	for _, org := range orgs {
		own[org] = true
	}
	for _, m := range claimed {
		var read [][2]string
		for i := range len(m.Name) {
			if m.Name[i] == '/' && own[m.Name[:i]] {
				read = append(read, [2]string{m.Name[:i], m.Name[i+1:]})
			}
		}
		if len(read) == 0 && len(own) == 1 {
			read = append(read, [2]string{orgs[0], m.Name})
		}
		if len(read) == 1 {
			teams, standings = append(teams, read[0]), append(standings, m.Standing)
		}
	}
	return teams, standings
}

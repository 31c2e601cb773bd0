package authority_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var engines = testdb.Migrated(store.Open)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var ada = audit.Event{Principal: "ada"}

// roles is a server whose admins have the role Admin, the anonymous ones among them too.
type roles struct{}

func (roles) IsAdmin(p access.Principal) bool { return slices.Contains(p.Roles, "Admin") }
func (roles) MayManage(access.Principal) bool { return true }

// world has two organisations with a team of the same name each.
type world struct {
	*store.Store
	places map[string]store.Scope
}

const issuer = "https://id.example"

func worlds(t *testing.T, test func(t *testing.T, w *world)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			s, err := store.Open(ctx, engine(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			// Ids of organisations and of teams differ, so that none is taken for the other.
			for range 3 {
				must(0, s.DeleteOrg(ctx, must(s.CreateOrg(ctx, "gone", ada)).ID, 0, ada))
			}
			acme, rival := must(s.CreateOrg(ctx, "acme", ada)), must(s.CreateOrg(ctx, "rival", ada))
			test(t, &world{s, map[string]store.Scope{
				"acme": store.InOrg(acme.ID), "rival": store.InOrg(rival.ID),
				"acme/lab": store.InTeam(must(s.CreateTeam(ctx, acme.ID, "lab", ada)).ID), "rival/lab": store.InTeam(must(s.CreateTeam(ctx, rival.ID, "lab", ada)).ID),
				"acme/desk": store.InTeam(must(s.CreateTeam(ctx, acme.ID, "desk", ada)).ID),
				"no org":    store.InOrg(999), "no team": store.InTeam(999), "negative": store.InOrg(-1), "large": store.InTeam(math.MaxInt64),
				"global": store.Global, "anywhere": store.Anywhere, "nowhere": {},
			}})
		})
	}
}

func (w *world) joins(subject, place string, standing access.Standing) {
	must(w.AddMember(context.Background(), w.places[place], issuer, subject, standing, ada))
}

// check compares what a principal is to every place there is with what it should be.
func (w *world) check(t *testing.T, a *authority.Authority, p access.Principal, want map[string]authority.Standing) {
	t.Helper()
	var managed []store.Scope
	for name, place := range w.places {
		got, err := a.Of(t.Context(), p, place)
		if got != want[name] || err != nil {
			t.Errorf("%s to %s: %s, %v instead of %s", p.Subject, name, got, err, want[name])
		}
		if got == authority.Manager && !a.Admin(p) {
			managed = append(managed, place)
		}
	}
	// The places that it is in are those that it is something to, but for what an admin is to all.
	if in, err := a.Places(t.Context(), p); err != nil || !a.Admin(p) && len(in) != len(named(want, w)) {
		t.Errorf("%s is in %v, %v instead of %v", p.Subject, in, err, want)
	} else {
		for place, standing := range in {
			if got, err := a.Of(t.Context(), p, place); !a.Admin(p) && got != standing || err != nil {
				t.Errorf("%s is %s in %s, and %s to it, %v", p.Subject, standing, place, got, err)
			}
		}
	}
	got, err := a.Managed(t.Context(), p)
	same := len(got) == len(managed) && !slices.ContainsFunc(got, func(s store.Scope) bool { return !slices.Contains(managed, s) })
	if err != nil || !same {
		t.Errorf("%s manages %v, %v instead of %v", p.Subject, got, err, managed)
	}
}

// named are the organisations and teams that somebody is no stranger to.
func named(want standings, w *world) (all []store.Scope) {
	for name, standing := range want {
		if place := w.places[name]; standing != authority.Stranger && (place.Org() != 0 || place.Team() != 0) {
			all = append(all, place)
		}
	}
	return all
}

type standings = map[string]authority.Standing

func TestStandingComesFromTheStore(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		a := authority.New(roles{}, w.Store, stored.Stored)
		for standing, is := range map[access.Standing]authority.Standing{
			access.Owner: authority.Manager, access.Admin: authority.Manager, access.Lead: authority.Manager, access.Member: authority.Member,
		} {
			subject := string(standing)
			w.joins(subject+" of acme", "acme", standing)
			w.joins(subject+" of its lab", "acme/lab", standing)
			w.check(t, a, access.Principal{Issuer: issuer, Subject: subject + " of acme"}, standings{"global": authority.Member, "acme": is})
			w.check(t, a, access.Principal{Issuer: issuer, Subject: subject + " of its lab"}, standings{"global": authority.Member, "acme/lab": is})
		}
		// Another issuer's subject of that name is somebody else, and claims do not count.
		orgs, teams := []access.Membership{{Name: "acme", Standing: access.Owner}}, []access.Membership{{Name: "lab", Standing: access.Owner}}
		w.check(t, a, access.Principal{Issuer: "https://other.example", Subject: "owner of acme"}, standings{"global": authority.Member})
		w.check(t, a, access.Principal{Issuer: issuer, Subject: "claims", Orgs: orgs, Teams: teams}, standings{"global": authority.Member})
		w.check(t, a, access.Principal{Issuer: issuer, Orgs: orgs}, nil)
	})
}

func TestStandingComesFromWhatThePrincipalClaims(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		a := authority.New(roles{}, w.Store, stored.Claimed(issuer))
		w.joins("bob", "acme", access.Owner) // which does not count
		in := func(name string, s access.Standing) []access.Membership {
			return []access.Membership{{Name: name, Standing: s}}
		}
		for _, c := range []struct {
			orgs, teams []access.Membership
			want        standings
		}{
			{nil, nil, standings{}},
			{in("acme", access.Owner), nil, standings{"acme": authority.Manager}},
			{in("acme", access.Member), nil, standings{"acme": authority.Member}},
			{in("acme", "boss"), nil, standings{"acme": authority.Member}},
			{in("acme", ""), nil, standings{"acme": authority.Member}},
			{in("Acme", access.Owner), nil, standings{}},
			{in("a\x00", access.Owner), nil, standings{}},
			{nil, in("lab", access.Owner), standings{}},
			{in("rival", access.Member), in("desk", access.Owner), standings{"rival": authority.Member}},
			{in("acme", access.Owner), in("lab", access.Member), standings{"acme": authority.Manager, "acme/lab": authority.Member}},
			{in("acme", access.Member), in("lab", access.Lead), standings{"acme": authority.Member, "acme/lab": authority.Manager}},
			// A claim does not name the owner of its lab or desk, or does.
			{append(in("acme", access.Member), in("rival", access.Admin)...), in("lab", access.Lead),
				standings{"acme": authority.Member, "rival": authority.Manager}},
			{append(in("acme", access.Member), in("rival", access.Member)...), in("desk", access.Lead),
				standings{"acme": authority.Member, "rival": authority.Member}},
			{append(in("acme", access.Member), in("elsewhere", access.Member)...), in("desk", access.Lead), standings{"acme": authority.Member}},
			{append(in("acme", access.Member), in("rival", access.Member)...), in("acme/lab", access.Lead),
				standings{"acme": authority.Member, "rival": authority.Member, "acme/lab": authority.Manager}},
			{in("acme", access.Member), append(in("acme/lab", access.Lead), in("lab", access.Member)...), standings{"acme": authority.Member, "acme/lab": authority.Manager}},
			{in("acme", access.Member), append(in("lab", access.Lead), in("lab", access.Member)...), standings{"acme": authority.Member, "acme/lab": authority.Manager}},
			{append(in("acme", access.Member), in("acme", access.Lead)...), nil, standings{"acme": authority.Manager}},
		} {
			c.want["global"] = authority.Member
			w.check(t, a, access.Principal{Issuer: issuer, Subject: "bob", Orgs: c.orgs, Teams: c.teams}, c.want)
			// No other issuer counts.
			w.check(t, a, access.Principal{Issuer: "https://other.example", Subject: "bob", Orgs: c.orgs, Teams: c.teams}, standings{"global": authority.Member})
		}
	})
}

func TestAdminManagesWhatThereIs(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		want := standings{"global": authority.Manager, "anywhere": authority.Manager}
		for _, place := range []string{"acme", "rival", "acme/lab", "rival/lab", "acme/desk"} {
			want[place] = authority.Manager
		}
		for _, m := range []stored.Memberships{stored.Stored, stored.Claimed(issuer)} {
			a := authority.New(roles{}, w.Store, m)
			w.check(t, a, access.Principal{Issuer: issuer, Subject: "root", Roles: []string{"Admin"}}, want)
			nobody := access.Principal{Issuer: issuer, Roles: []string{"Admin"}}
			if w.check(t, a, nobody, nil); a.Admin(nobody) {
				t.Error("nobody is an admin")
			}
		}
		w.joins("root", "acme/desk", access.Lead)
		w.joins("root", "rival", access.Owner)
		w.joins("root", "acme", access.Owner)
		got, err := authority.New(roles{}, w.Store, stored.Stored).Managed(t.Context(),
			access.Principal{Issuer: issuer, Subject: "root", Roles: []string{"Admin"}})
		if err != nil || !slices.Equal(got, []store.Scope{w.places["acme"], w.places["rival"], w.places["acme/desk"]}) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// TestClaimsAndMembershipsAgree gives somebody the same places in both ways.
func TestClaimsAndMembershipsAgree(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		n := 0
		all := []access.Standing{access.Owner, access.Admin, access.Lead, access.Member}
		rapid.Check(t, func(rt *rapid.T) {
			n++
			p := access.Principal{Issuer: issuer, Subject: fmt.Sprint("caller ", n)}
			for _, place := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"acme", "lab", "desk"}), rapid.ID[string]).Draw(rt, "in") {
				m := access.Membership{Name: place, Standing: rapid.SampledFrom(all).Draw(rt, "standing")}
				if place == "acme" {
					p.Orgs = append(p.Orgs, m)
					w.joins(p.Subject, "acme", m.Standing)
				} else {
					p.Teams = append(p.Teams, m)
				}
			}
			for _, m := range p.Teams {
				if len(p.Orgs) > 0 { // claimed teams count within claimed organisations
					w.joins(p.Subject, "acme/"+m.Name, m.Standing)
				}
			}
			for name, place := range w.places {
				one, err1 := authority.New(roles{}, w.Store, stored.Stored).Of(t.Context(), p, place)
				two, err2 := authority.New(roles{}, w.Store, stored.Claimed(issuer)).Of(t.Context(), p, place)
				if one != two || err1 != nil || err2 != nil {
					rt.Fatalf("%v to %s: %s, %s, %v, %v", p, name, one, two, err1, err2)
				}
			}
		})
	})
}

func TestErrorsOfTheStoreMakeStrangers(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		orgs, teams := []access.Membership{{Name: "acme", Standing: access.Owner}}, []access.Membership{{Name: "lab", Standing: access.Owner}}
		w.joins("bob", "acme", access.Owner)
		for _, m := range []stored.Memberships{stored.Stored, stored.Claimed(issuer)} {
			a := authority.New(roles{}, w.Store, m)
			for _, p := range []access.Principal{{Issuer: issuer, Subject: "bob", Orgs: orgs,
				Teams: teams}, {Issuer: issuer, Subject: "root", Roles: []string{"Admin"}, Orgs: orgs}} {
				for _, place := range []string{"acme", "acme/lab"} {
					if got, err := a.Of(ctx, p, w.places[place]); got != authority.Stranger || !errors.Is(err, context.Canceled) {
						t.Errorf("%s to %s: %s, %v", p.Subject, place, got, err)
					}
				}
				if got, err := a.Places(ctx, p); got != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%s is in %v, %v", p.Subject, got, err)
				}
				if got, err := a.Managed(ctx, p); got != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%s manages %v, %v", p.Subject, got, err)
				}
			}
		}
	})
}

func TestStandingsHaveNames(t *testing.T) {
	if got := fmt.Sprint(authority.Stranger, authority.Member, authority.Manager, authority.Standing(7)); got != "stranger member manager stranger" {
		t.Error(got)
	}
}

// TestMachineAndTrailAreForAdminsOfTheServerAlone: a manager of an organisation decides nothing
// of the machine.
func TestMachineAndTrailAreForAdminsOfTheServerAlone(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		a := authority.New(roles{}, w.Store, stored.Stored)
		org := must(w.CreateOrg(t.Context(), "machines", ada))
		must(w.AddMember(t.Context(), store.InOrg(org.ID), issuer, "owner", access.Owner, ada))
		owner := access.Principal{Issuer: issuer, Subject: "owner", Roles: []string{"Viewer"}}
		if standing := must(a.Of(t.Context(), owner, store.InOrg(org.ID))); standing != authority.Manager {
			t.Fatal(standing)
		}
		for want, all := range map[bool][]access.Principal{
			true: {{Issuer: issuer, Subject: "root", Roles: []string{"Admin"}}},
			false: {owner, {}, {Roles: []string{"Admin"}}, {Subject: "x"}, {Subject: "x",
				Orgs: []access.Membership{{Name: "machines", Standing: access.Owner}}}},
		} {
			for _, p := range all {
				if a.MayGrant(p) != want || a.MayAudit(p) != want {
					t.Errorf("%+v: %v, %v", p, a.MayGrant(p), a.MayAudit(p))
				}
			}
		}
	})
}

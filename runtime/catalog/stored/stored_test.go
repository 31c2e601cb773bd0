package stored_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
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

// world has two organisations, each with a team of the same name, and one more team.
type world struct {
	*store.Store
	url                 string
	acme, rival         store.Org
	lab, desk, rivalLab store.Team
	scopes              map[string]store.Scope
}

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func worlds(t *testing.T, test func(t *testing.T, w *world)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			ctx, url := t.Context(), engine(t)
			s := open(t, url)
			w := &world{Store: s, url: url, acme: must(s.CreateOrg(ctx, "acme", ada)), rival: must(s.CreateOrg(ctx, "rival", ada))}
			w.lab, w.desk, w.rivalLab = must(s.CreateTeam(ctx, w.acme.ID, "lab", ada)), must(s.CreateTeam(ctx, w.acme.ID, "desk", ada)), must(s.CreateTeam(ctx, w.rival.ID, "lab", ada))
			w.scopes = map[string]store.Scope{
				"global": store.Global, "acme": store.InOrg(w.acme.ID), "rival": store.InOrg(w.rival.ID),
				"lab": store.InTeam(w.lab.ID), "desk": store.InTeam(w.desk.ID), "rivalLab": store.InTeam(w.rivalLab.ID),
			}
			test(t, w)
		})
	}
}

// add makes a catalog whose only tool is the name of its scope.
func (w *world) add(scope, name string, active bool) store.Catalog {
	c := must(w.CreateCatalog(context.Background(), w.scopes[scope], name, "", active, ada))
	must(w.AddEntry(context.Background(), w.scopes[scope], c.ID, scope, "", ada))
	return c
}

// member is a principal that is in some scopes, as the store has it and as it claims itself.
func (w *world) member(subject string, in ...string) access.Principal {
	p := access.Principal{Issuer: "https://id.example", Subject: subject}
	for _, scope := range in {
		must(w.AddMember(context.Background(), w.scopes[scope], p.Issuer, subject, access.Member, ada))
		if name, ok := map[string]string{"lab": "lab", "desk": "desk", "rivalLab": "lab"}[scope]; ok {
			p.Teams = append(p.Teams, access.Membership{Name: name, Standing: access.Member})
		} else {
			p.Orgs = append(p.Orgs, access.Membership{Name: scope, Standing: access.Member})
		}
	}
	return p
}

func (w *world) resolvers() map[string]*stored.Source {
	return map[string]*stored.Source{"stored": stored.New(w.Store, stored.Stored), "claimed": stored.New(w.Store, stored.Claimed(issuer))}
}

func TestNamesResolveInTheCallersOwnScope(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for scope := range w.scopes {
			w.add(scope, "everywhere", true)
		}
		w.add("global", "of all", true)
		w.add("acme", "of acme", true)
		w.add("rivalLab", "of a rival's lab", true)
		w.add("acme", "hidden", false)
		w.add("global", "hidden", true)
		callers := map[string]access.Principal{
			"anonymous": {Orgs: []access.Membership{{Name: "acme"}}},
			"stranger":  w.member("stranger"), "clerk": w.member("clerk", "acme"), "researcher": w.member("researcher", "acme", "lab"),
			"both": w.member("both", "acme", "desk", "lab"), "double": w.member("double", "acme", "rival"), "other": w.member("other", "rival", "rivalLab"),
		}
		for _, c := range []struct {
			caller, name, want string
			note               string
		}{
			{"anonymous", "everywhere", "global", ""}, {"stranger", "everywhere", "global", ""}, {"clerk", "everywhere", "acme", ""},
			{"researcher", "everywhere", "lab", ""}, {"both", "everywhere", "lab", "several of your teams"}, {"double", "everywhere", "acme", "several of your organizations"},
			{"other", "everywhere", "rivalLab", ""},
			{"stranger", "of all", "global", ""}, {"researcher", "of all", "global", ""},
			{"clerk", "of acme", "acme", ""}, {"researcher", "of acme", "acme", ""}, {"other", "of acme", "", ""}, {"anonymous", "of acme", "", ""},
			{"researcher", "of a rival's lab", "", ""}, {"other", "of a rival's lab", "rivalLab", ""},
			{"clerk", "hidden", "global", ""}, {"clerk", "Everywhere", "", ""}, {"clerk", "", "", ""}, {"clerk", "a\x00", "", ""},
		} {
			for kind, r := range w.resolvers() {
				got, err := r.Catalog(t.Context(), callers[c.caller], catalog.Ref{Name: c.name})
				if c.want == "" {
					if !errors.Is(err, catalog.ErrUnknown) || got.ID != "" {
						t.Errorf("%s, %+v: %+v, %v", kind, c, got, err)
					}
					continue
				}
				if err != nil || !slices.Equal(got.Tools, []string{c.want}) || got.Global != (c.want == "global") || (c.note == "") != (got.Note == "") || !strings.Contains(got.Note, c.note) {
					t.Errorf("%s, %+v: %+v, %v", kind, c, got, err)
				}
			}
		}
	})
}

func TestIDCountsBeforeTheNameAndAnotherTenantsIsUnknown(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		own, theirs, off := w.add("lab", "kit", true), w.add("rivalLab", "kit", true), w.add("lab", "off", false)
		caller := w.member("bob", "acme", "lab")
		for kind, r := range w.resolvers() {
			got, err := r.Catalog(t.Context(), caller, catalog.Ref{ID: fmt.Sprint(own.ID), Name: "no such name"})
			if err != nil || got.ID != fmt.Sprint(own.ID) || got.Name != own.Name {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
			_, unknown := r.Catalog(t.Context(), caller, catalog.Ref{ID: "999", Name: "kit"})
			for _, id := range []string{fmt.Sprint(theirs.ID), fmt.Sprint(off.ID), fmt.Sprint(-own.ID), "0" + fmt.Sprint(own.ID), "+1", " 1", "x", "1e0", "9999999999999999999999"} {
				if _, err := r.Catalog(t.Context(), caller, catalog.Ref{ID: id, Name: "kit"}); !errors.Is(err, catalog.ErrUnknown) || err.Error() != unknown.Error() {
					t.Errorf("%s, %s: %v, but %v", kind, id, err, unknown)
				}
			}
		}
	})
}

func TestClaimedTeamCountsInClaimedOrganizationsOnly(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.add("rivalLab", "kit", true)
		r := stored.New(w.Store, stored.Claimed(issuer))
		lab := []access.Membership{{Name: "lab", Standing: access.Owner}}
		for _, orgs := range [][]access.Membership{nil, {{Name: "acme"}}, {{Name: "Rival"}}, {{Name: "\x00"}}} {
			if got, err := r.Catalog(t.Context(), access.Principal{Issuer: issuer, Subject: "bob", Orgs: orgs, Teams: lab}, catalog.Ref{Name: "kit"}); !errors.Is(err, catalog.ErrUnknown) {
				t.Errorf("%v: %+v, %v", orgs, got, err)
			}
		}
		if _, err := r.Catalog(t.Context(), access.Principal{Issuer: issuer, Subject: "bob", Orgs: []access.Membership{{Name: "rival"}}, Teams: lab}, catalog.Ref{Name: "kit"}); err != nil {
			t.Error(err)
		}
	})
}

// TestClaimsOfOtherIssuersCountForNothing has a caller with the most claims from an issuer that may
// not assert them.
func TestClaimsOfOtherIssuersCountForNothing(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.add("acme", "kit", true)
		for _, tt := range []struct {
			memberships stored.Memberships
			issuer      string
			counts      bool
		}{
			{stored.Claimed(issuer), issuer, true}, {stored.Claimed(issuer), "https://other.example", false}, {stored.Claimed(issuer), issuer + "/", false}, {stored.Claimed(issuer), "", false},
			{stored.Claimed("https://other.example", issuer), issuer, true}, {stored.Claimed("", issuer), "", true}, {stored.Claimed(""), issuer, false}, {stored.Stored, issuer, false},
		} {
			r := stored.New(w.Store, tt.memberships)
			p := access.Principal{Issuer: tt.issuer, Subject: "mallory", Orgs: []access.Membership{{Name: "acme", Standing: access.Owner}}}
			for range 2 { // of which the second is from the cache
				if _, err := r.Catalog(t.Context(), p, catalog.Ref{Name: "kit"}); (err == nil) != tt.counts || err != nil && !errors.Is(err, catalog.ErrUnknown) {
					t.Errorf("%v of %s: %v", tt.memberships, tt.issuer, err)
				}
				honest := p
				honest.Issuer = issuer // who has just asked keeps nothing for the other
				r.Catalog(t.Context(), honest, catalog.Ref{Name: "kit"})
			}
		}
	})
}

// TestClaimedTeamCountsWhereItIsClearWhoseItIs has somebody of several organisations, of which not
// all are in the store.
func TestClaimedTeamCountsWhereItIsClearWhoseItIs(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		slashed := must(w.CreateTeam(t.Context(), w.acme.ID, "acme/desk", ada))
		deep := must(w.CreateOrg(t.Context(), "acme/lab", ada))
		deepLab := must(w.CreateTeam(t.Context(), deep.ID, "lab", ada))
		w.scopes["acme/acme/desk"], w.scopes["acme/lab/lab"], w.scopes["acme/lab"] = store.InTeam(slashed.ID), store.InTeam(deepLab.ID), store.InOrg(deep.ID)
		list := func(names string) (all []access.Membership) {
			for name := range strings.FieldsSeq(names) {
				all = append(all, access.Membership{Name: name, Standing: access.Lead})
			}
			return all
		}
		for _, tt := range []struct{ orgs, teams, want string }{
			{"acme", "lab", "acme lab"}, {"acme acme", "lab", "acme lab"}, {"acme", "acme/lab", "acme lab"}, {"acme", "rival/lab", "acme"},
			{"acme rival", "lab desk", "acme rival"}, {"acme rival", "acme/lab", "acme lab rival"}, {"acme rival", "rival/lab desk", "acme rival rivalLab"},
			// Of two that are claimed, one is not in the store: whose desk it is nobody knows all the same.
			{"acme elsewhere", "desk lab", "acme"}, {"acme elsewhere", "elsewhere/desk", "acme"}, {"acme elsewhere", "acme/desk", "acme desk"},
			{"elsewhere", "lab acme/lab", ""}, {"", "lab acme/lab", ""}, {"rival", "acme/lab desk", "rival"}, {"acme", "Acme/lab acme/ /lab acme//lab", "acme"},
			// A name that can be read as both is.
			{"acme", "acme/desk", "acme desk"}, {"acme", "acme/acme/desk", "acme acme/acme/desk"},
			{"acme acme/lab", "acme/lab/lab", "acme acme/lab"}, {"acme/lab rival", "acme/lab/lab", "acme/lab acme/lab/lab rival"}, {"acme/lab", "acme/lab", "acme/lab"},
		} {
			p := access.Principal{Issuer: issuer, Subject: "bob", Orgs: list(tt.orgs), Teams: list(tt.teams)}
			in, err := stored.Claimed(issuer).Of(t.Context(), w.Store, p)
			var got []string
			for name, scope := range w.scopes {
				if len(in[scope]) > 0 {
					got = append(got, name)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tt.want || len(in) != len(got) || err != nil {
				t.Errorf("%s of %s: %v of %v, %v, want %s", tt.teams, tt.orgs, got, in, err, tt.want)
			}
		}
	})
}

// TestNothingIsFoundOutsideTheCallersScope asks for every catalog there is, as somebody who is
// anywhere.
func TestNothingIsFoundOutsideTheCallersScope(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		names := []string{"global", "acme", "rival", "lab", "desk", "rivalLab"}
		var all []store.Catalog
		for _, scope := range names {
			all = append(all, w.add(scope, "kit", true), w.add(scope, "only "+scope, true))
		}
		n := 0
		r := stored.New(w.Store, stored.Stored)
		rapid.Check(t, func(rt *rapid.T) {
			n++
			in := rapid.SliceOfNDistinct(rapid.SampledFrom(names[1:]), 0, 5, rapid.ID[string]).Draw(rt, "in")
			caller := w.member(fmt.Sprint("caller ", n), in...)
			for _, c := range all {
				own := c.Scope == store.Global || slices.ContainsFunc(in, func(scope string) bool { return w.scopes[scope] == c.Scope })
				got, err := r.Catalog(t.Context(), caller, catalog.Ref{ID: fmt.Sprint(c.ID)})
				if own != (err == nil) || err != nil && !errors.Is(err, catalog.ErrUnknown) || err == nil && got.ID != fmt.Sprint(c.ID) {
					rt.Fatalf("%v in %v: %+v, %v", c, in, got, err)
				}
				got, err = r.Catalog(t.Context(), caller, catalog.Ref{Name: c.Name})
				if c.Name != "kit" && own != (err == nil) {
					rt.Fatalf("%v in %v: %+v, %v", c, in, got, err)
				}
				// each has its scope's name for a tool
				if err == nil && !got.Global && !slices.Contains(in, got.Tools[0]) {
					rt.Fatalf("%v in %v", got, in)
				}
			}
		})
	})
}

func TestErrorsOfTheStoreAreNotTakenForUnknown(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		c := w.add("global", "kit", true)
		caller := w.member("bob", "acme", "lab")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for kind, r := range w.resolvers() {
			for _, who := range []access.Principal{caller, {}} {
				for _, ref := range []catalog.Ref{{ID: fmt.Sprint(c.ID)}, {Name: "kit"}} {
					if _, err := r.Catalog(ctx, who, ref); !errors.Is(err, context.Canceled) || errors.Is(err, catalog.ErrUnknown) {
						t.Errorf("%s: %v", kind, err)
					}
				}
			}
		}
	})
}

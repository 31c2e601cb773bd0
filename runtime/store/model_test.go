package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// model is what a store should hold, in maps. Ids are the store's: the model learns each when it is
// given.
type model struct {
	orgs     map[int64]store.Org
	teams    map[int64]store.Team
	members  map[int64]store.Membership
	catalogs map[int64]store.Catalog
	entries  map[int64]map[string]string
	off      map[string]bool
	bounds   map[int64]store.Bound
	changes  int // that were acknowledged
	steps    int
	given    map[string]int64 // the highest id of each kind
}

// exists reports whether there is the place that a scope names.
func (m *model) exists(in store.Scope) bool {
	if in.Team() != 0 {
		_, ok := m.teams[in.Team()]
		return ok
	}
	_, ok := m.orgs[in.Org()]
	return ok || in == store.Global
}

// drop removes what is left without where it belongs.
func (m *model) drop() {
	maps.DeleteFunc(m.teams, func(_ int64, t store.Team) bool { return !m.exists(store.InOrg(t.Org)) })
	maps.DeleteFunc(m.members, func(_ int64, x store.Membership) bool { return !m.exists(x.Scope) })
	maps.DeleteFunc(m.catalogs, func(_ int64, c store.Catalog) bool { return !m.exists(c.Scope) })
	maps.DeleteFunc(m.entries, func(id int64, _ map[string]string) bool { _, ok := m.catalogs[id]; return !ok })
}

// wantError is the error of a change in the model: nil or one of the store's errors.
func wantError(found, conflict, taken bool) error {
	switch {
	case !found:
		return store.ErrNotFound
	case conflict:
		return store.ErrConflict
	case taken:
		return store.ErrExists
	}
	return nil
}

// id is one that there is, was or never will be.
func id[T any](t *rapid.T, there map[int64]T) int64 {
	ids := append(slices.Sorted(maps.Keys(there)), 1, 1_000_000)
	return rapid.SampledFrom(ids).Draw(t, "id")
}

func (m *model) scope(t *rapid.T) store.Scope {
	scopes := []store.Scope{store.Global, store.InOrg(1_000_000)}
	for _, id := range slices.Sorted(maps.Keys(m.orgs)) {
		scopes = append(scopes, store.InOrg(id))
	}
	for _, id := range slices.Sorted(maps.Keys(m.teams)) {
		scopes = append(scopes, store.InTeam(id))
	}
	return rapid.SampledFrom(scopes).Draw(t, "scope")
}

// sees reports whether what is in a scope is found from another.
func sees(from, in store.Scope) bool { return from == store.Anywhere || from == in }

// TestStoreDoesWhatASimpleModelDoes makes random changes, right ones and wrong ones, and compares
// each answer and in the end all that is there.
func TestStoreDoesWhatASimpleModelDoes(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			url := engine(t)
			s := hasty(t, open(t, url), url)
			rapid.Check(t, func(r *rapid.T) { play(r, t, s) })
		})
	}
}

func play(r *rapid.T, t *testing.T, s *store.Store) {
	ctx := t.Context()
	clear := func() {
		for _, o := range must(orgsOf(s, t)) {
			must(0, s.DeleteOrg(ctx, o.ID, 0, ada))
		}
		for _, c := range catalogs(t, s) {
			must(0, s.DeleteCatalog(ctx, store.Global, c.ID, 0, ada))
		}
		for _, name := range must(s.ToolsOff(ctx)) {
			must(0, s.SwitchTool(ctx, name, false, ada))
		}
		for _, b := range must(s.AllBounds(ctx)) {
			must(0, s.DeleteBound(ctx, b.ID, 0, ada))
		}
	}
	clear()
	m := &model{
		orgs: map[int64]store.Org{}, teams: map[int64]store.Team{}, members: map[int64]store.Membership{}, catalogs: map[int64]store.Catalog{},
		entries: map[int64]map[string]string{}, off: map[string]bool{}, given: map[string]int64{},
		bounds: map[int64]store.Bound{},
	}
	before := must(s.Revision(t.Context())).Number
	name := rapid.SampledFrom([]string{"a", "b", "A"})
	tool := rapid.SampledFrom([]string{"t1", "t2", "T1"})
	standing := rapid.SampledFrom([]access.Standing{access.Owner, access.Admin, access.Lead, access.Member})
	version := rapid.Int64Range(1, 3)
	limits := rapid.Custom(func(r *rapid.T) boundary.Boundary {
		until := time.UnixMicro(rapid.Int64Range(-1, 1).Draw(r, "until")).UTC()
		return boundary.Boundary{
			Roles:    rapid.SampledFrom([][]string{nil, {"*"}, {"A", "B"}}).Draw(r, "roles"),
			Items:    rapid.SampledFrom([][]string{nil, {"*"}, {"tool:a b=c", "prompt:d"}}).Draw(r, "items"),
			ReadOnly: rapid.Bool().Draw(r, "readonly"), Blocked: rapid.Bool().Draw(r, "blocked"),
			Until: rapid.SampledFrom([]time.Time{{}, until}).Draw(r, "ends")}
	})
	any := rapid.Int64Range(0, 2) // 0 is whichever
	answered := func(err, want error) bool {
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			r.Fatalf("%v, want %v", err, want)
		}
		if err == nil {
			m.changes++
		}
		return err == nil
	}
	fresh := func(kind string, id int64) {
		if id <= m.given[kind] {
			r.Fatalf("%s %d is given again", kind, id)
		}
		m.given[kind] = id
	}
	r.Repeat(map[string]func(*rapid.T){
		"create org": func(r *rapid.T) {
			name := name.Draw(r, "name")
			o, err := s.CreateOrg(ctx, name, ada)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.orgs)), func(o store.Org) bool { return o.Name == name })
			if answered(err, wantError(true, false, taken)) {
				fresh("org", o.ID)
				m.orgs[o.ID] = o
			}
		},
		"rename org": func(r *rapid.T) {
			id, version, name := id(r, m.orgs), version.Draw(r, "version"), name.Draw(r, "name")
			o, err := s.RenameOrg(ctx, id, version, name, ada)
			old, found := m.orgs[id]
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.orgs)), func(o store.Org) bool { return o.Name == name && o.ID != id })
			if answered(err, wantError(found, old.Version != version, taken)) {
				old.Name, old.Version, old.Updated = name, version+1, o.Updated
				m.orgs[id] = old
			}
		},
		"delete org": func(r *rapid.T) {
			id, version := id(r, m.orgs), any.Draw(r, "version")
			err := s.DeleteOrg(ctx, id, version, ada)
			old, found := m.orgs[id]
			if answered(err, wantError(found, version != 0 && old.Version != version, false)) {
				delete(m.orgs, id)
				m.drop()
				m.drop() // what belonged to the teams that were dropped
			}
		},
		"create team": func(r *rapid.T) {
			org, name := id(r, m.orgs), name.Draw(r, "name")
			made, err := s.CreateTeam(ctx, org, name, ada)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.teams)), func(t store.Team) bool { return t.Org == org && t.Name == name })
			if answered(err, wantError(m.exists(store.InOrg(org)), false, taken)) {
				fresh("team", made.ID)
				m.teams[made.ID] = made
			}
		},
		"delete team": func(r *rapid.T) {
			id, version := id(r, m.teams), any.Draw(r, "version")
			old, found := m.teams[id]
			in := rapid.SampledFrom([]store.Scope{store.Anywhere, store.InOrg(old.Org), store.InOrg(old.Org + 1)}).Draw(r, "in")
			err := s.DeleteTeam(ctx, in, id, version, ada)
			if answered(err, wantError(found && sees(in, store.InOrg(old.Org)), version != 0 && old.Version != version, false)) {
				delete(m.teams, id)
				m.drop()
			}
		},
		"add member": func(r *rapid.T) {
			in, subject, standing := m.scope(r), name.Draw(r, "subject"), standing.Draw(r, "standing")
			if in == store.Global {
				return
			}
			made, err := s.AddMember(ctx, in, "", subject, standing, ada)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.members)), func(x store.Membership) bool { return x.Scope == in && x.Subject == subject })
			if answered(err, wantError(m.exists(in), false, taken)) {
				fresh("member", made.ID)
				m.members[made.ID] = made
			}
		},
		"update member": func(r *rapid.T) {
			id, version, standing := id(r, m.members), version.Draw(r, "version"), standing.Draw(r, "standing")
			got, err := s.UpdateMember(ctx, store.Anywhere, id, version, standing, ada)
			old, found := m.members[id]
			if answered(err, wantError(found, old.Version != version, false)) {
				old.Standing, old.Version, old.Updated = standing, version+1, got.Updated
				m.members[id] = old
			}
		},
		"create catalog": func(r *rapid.T) {
			in, name, active := m.scope(r), name.Draw(r, "name"), rapid.Bool().Draw(r, "active")
			c, err := s.CreateCatalog(ctx, in, name, "", active, ada)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.catalogs)), func(c store.Catalog) bool { return c.Scope == in && c.Name == name })
			if answered(err, wantError(m.exists(in), false, taken)) {
				fresh("catalog", c.ID)
				m.catalogs[c.ID], m.entries[c.ID] = c, map[string]string{}
			}
		},
		"update catalog": func(r *rapid.T) {
			id, version, from := id(r, m.catalogs), version.Draw(r, "version"), m.scope(r)
			old, found := m.catalogs[id]
			var patch store.CatalogPatch
			want := old
			if rapid.Bool().Draw(r, "renamed") {
				want.Name = name.Draw(r, "name")
				patch.Name = &want.Name
			}
			if rapid.Bool().Draw(r, "described") {
				want.Description = name.Draw(r, "description")
				patch.Description = &want.Description
			}
			if rapid.Bool().Draw(r, "switched") {
				want.Active = !old.Active
				patch.Active = &want.Active
			}
			c, err := s.UpdateCatalog(ctx, from, id, version, patch, ada)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.catalogs)), func(c store.Catalog) bool {
				return c.Scope == old.Scope && c.Name == want.Name && c.ID != id
			})
			if answered(err, wantError(found && sees(from, old.Scope), old.Version != version, taken)) {
				want.Version, want.Updated = version+1, c.Updated
				m.catalogs[id] = want
			}
		},
		"delete catalog": func(r *rapid.T) {
			id, version, from := id(r, m.catalogs), any.Draw(r, "version"), m.scope(r)
			err := s.DeleteCatalog(ctx, from, id, version, ada)
			old, found := m.catalogs[id]
			if answered(err, wantError(found && sees(from, old.Scope), version != 0 && old.Version != version, false)) {
				delete(m.catalogs, id)
				m.drop()
			}
		},
		"add entry": func(r *rapid.T) {
			id, tool, module := id(r, m.catalogs), tool.Draw(r, "tool"), name.Draw(r, "module")
			_, err := s.AddEntry(ctx, store.Anywhere, id, tool, module, ada)
			entries, found := m.entries[id]
			if _, taken := entries[tool]; answered(err, wantError(found, false, taken)) {
				entries[tool] = module
			}
		},
		"remove entry": func(r *rapid.T) {
			id, tool, from := id(r, m.catalogs), tool.Draw(r, "tool"), m.scope(r)
			err := s.RemoveEntry(ctx, from, id, tool, ada)
			_, found := m.entries[id][tool]
			if answered(err, wantError(found && sees(from, m.catalogs[id].Scope), false, false)) {
				delete(m.entries[id], tool)
			}
		},
		"switch tool": func(r *rapid.T) {
			tool, off := tool.Draw(r, "tool"), rapid.Bool().Draw(r, "off")
			if answered(s.SwitchTool(ctx, tool, off, ada), nil) {
				m.off[tool] = off
			}
		},
		"create boundary": func(r *rapid.T) {
			p, limits := boundary.Party{Client: name.Draw(r, "client"),
				Subject: rapid.SampledFrom([]string{"", "a"}).Draw(r, "subject")}, limits.Draw(r, "limits")
			b, err := s.CreateBound(ctx, p, limits, ada)
			taken := slices.ContainsFunc(slices.Collect(maps.Values(m.bounds)),
				func(b store.Bound) bool { return b.Party == p })
			if answered(err, wantError(true, false, taken)) {
				fresh("boundary", b.ID)
				limits.Where = fmt.Sprint("boundary ", b.ID)
				m.bounds[b.ID] = store.Bound{ID: b.ID, Version: 1, Party: p, Boundary: limits,
					Created: b.Created, Updated: b.Created}
			}
		},
		"update boundary": func(r *rapid.T) {
			id, version, limits := id(r, m.bounds), version.Draw(r, "version"), limits.Draw(r, "limits")
			b, err := s.UpdateBound(ctx, id, version, limits, ada)
			old, found := m.bounds[id]
			if answered(err, wantError(found, old.Version != version, false)) {
				limits.Where = old.Boundary.Where
				old.Boundary, old.Version, old.Updated = limits, version+1, b.Updated
				m.bounds[id] = old
			}
		},
		"delete boundary": func(r *rapid.T) {
			id, version := id(r, m.bounds), any.Draw(r, "version")
			err := s.DeleteBound(ctx, id, version, ada)
			old, found := m.bounds[id]
			if answered(err, wantError(found, version != 0 && old.Version != version, false)) {
				delete(m.bounds, id)
			}
		},
		"resolve": func(r *rapid.T) {
			name, among := name.Draw(r, "name"), []store.Scope{m.scope(r), m.scope(r)}
			want := map[int64]bool{}
			for id, c := range m.catalogs {
				if c.Active && c.Name == name && slices.Contains(among, c.Scope) {
					want[id] = true
				}
			}
			got := map[int64]bool{}
			for _, c := range must(s.ActiveCatalogs(ctx, name, among...)) {
				got[c.ID] = true
			}
			if !maps.Equal(got, want) {
				r.Fatalf("%v, want %v", got, want)
			}
		},
		"": func(r *rapid.T) {
			if m.steps++; m.steps%5 == 0 {
				compare(r, t, s, m)
			}
		},
	})
	compare(r, t, s, m)
	if got := must(s.Revision(t.Context())).Number - before; got != int64(m.changes) {
		r.Fatalf("the revision went on by %d with %d changes", got, m.changes)
	}
}

func compare(r *rapid.T, t *testing.T, s *store.Store, m *model) {
	ctx := t.Context()
	var got, want []string
	put := func(to *[]string, v ...any) { *to = append(*to, fmt.Sprintf("%+v", v)) }
	for _, o := range must(orgsOf(s, t)) {
		put(&got, o)
	}
	for _, id := range slices.Sorted(maps.Keys(m.orgs)) {
		put(&want, m.orgs[id])
	}
	for _, in := range []store.Scope{store.Anywhere} {
		teams, _, err := s.Teams(ctx, in, store.Page[int64]{})
		members, _, err2 := s.Members(ctx, in, store.Page[int64]{})
		if err := errors.Join(err, err2); err != nil {
			r.Fatal(err)
		}
		for _, team := range teams {
			put(&got, team)
		}
		for _, member := range members {
			put(&got, member)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.teams)) {
		put(&want, m.teams[id])
	}
	for _, id := range slices.Sorted(maps.Keys(m.members)) {
		put(&want, m.members[id])
	}
	for _, c := range catalogs(t, s) {
		put(&got, c, must(s.Tools(ctx, c.ID)))
	}
	for _, id := range slices.Sorted(maps.Keys(m.catalogs)) {
		put(&want, m.catalogs[id], slices.Sorted(maps.Keys(m.entries[id])))
	}
	for _, b := range must(s.AllBounds(ctx)) {
		put(&got, b)
	}
	for _, id := range slices.Sorted(maps.Keys(m.bounds)) {
		put(&want, m.bounds[id])
	}
	put(&got, must(s.ToolsOff(ctx)))
	var off []string
	for _, name := range slices.Sorted(maps.Keys(m.off)) {
		if m.off[name] {
			off = append(off, name)
		}
	}
	put(&want, off)
	if !slices.Equal(got, want) {
		r.Fatalf("there is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func orgsOf(s *store.Store, t *testing.T) ([]store.Org, error) {
	all, _, err := s.Orgs(t.Context(), store.Page[int64]{Limit: 1000})
	return all, err
}

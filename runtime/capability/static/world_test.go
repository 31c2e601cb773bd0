package static_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

// world is a file as a test draws it, in the words of the format.
type world struct {
	Actions []string         `json:"actions,omitempty" yaml:"actions,omitempty"`
	Exempt  exempt           `json:"exempt,omitempty" yaml:"exempt,omitempty"`
	Groups  map[string]entry `json:"groups,omitempty" yaml:"groups,omitempty"`
	Users   map[string]user  `json:"users" yaml:"users"`
}

type exempt map[string][]string

type entry struct {
	Permissions []string                    `json:"permissions,omitempty" yaml:"permissions,omitempty"`
	Constrained map[string][]map[string]any `json:"constrained,omitempty" yaml:"constrained,omitempty"`
	Exempt      exempt                      `json:"exempt,omitempty" yaml:"exempt,omitempty"`
}

type user struct {
	entry     `yaml:",inline"`
	Groups    []string `json:"groups,omitempty" yaml:"groups,omitempty"`
	Active    *bool    `json:"active,omitempty" yaml:"active,omitempty"`
	Superuser bool     `json:"superuser,omitempty" yaml:"superuser,omitempty"`
}

// asked are the permissions that tables and worlds have: of objects, of an app, and a bare action.
var asked = []string{"dcim.view_device", "dcim.change_device", "dcim.wipe_device", "dcim.view_site",
	"billing.export", "view"}

// typeAndAction splits an element of asked.
func typeAndAction(permission string) (object, action string) {
	app, rest, ok := strings.Cut(permission, ".")
	if !ok {
		return "", permission
	}
	action, name, ok := strings.Cut(rest, "_")
	if !ok {
		return app, action
	}
	return app + "." + name, action
}

func drawExempt(t *rapid.T, name string) exempt {
	return rapid.MapOfN(
		rapid.SampledFrom([]string{"dcim.device", "dcim.site", "billing"}),
		rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"view", "change", "wipe", "export", "*"}),
			0, 2, rapid.ID[string]), 0, 1,
	).Draw(t, name)
}

func drawEntry(t *rapid.T, name string) entry {
	e := entry{Constrained: map[string][]map[string]any{},
		Exempt: drawExempt(t, name+" is exempt from")}
	for _, p := range asked {
		switch rapid.IntRange(0, 5).Draw(t, name+" "+p) {
		case 0:
			e.Permissions = append(e.Permissions, p)
		case 1:
			e.Constrained[p] = []map[string]any{{"site": name, "n": 1.5}}
		}
	}
	return e
}

func drawWorld(t *rapid.T) world {
	w := world{Groups: map[string]entry{}, Users: map[string]user{},
		Exempt: drawExempt(t, "everybody is exempt from")}
	if rapid.IntRange(0, 4).Draw(t, "views") == 0 {
		w.Exempt["*"] = []string{"view"}
	}
	groups := []string{"g", "h"}
	for _, g := range groups {
		w.Groups[g] = drawEntry(t, g)
	}
	for _, name := range []string{"ada", "7", "yes", "é: #\"'"} {
		u := user{
			entry: drawEntry(t, name),
			Groups: rapid.SliceOfNDistinct(
				rapid.SampledFrom(groups), 0, 2, rapid.ID[string]).Draw(t, name+" is in"),
			Superuser: rapid.IntRange(0, 5).Draw(t, name+" is a superuser") == 0,
		}
		if rapid.Bool().Draw(t, name+" says active") {
			active := rapid.IntRange(0, 3).Draw(t, name+" is active") > 0
			u.Active = &active
		}
		w.Users[name] = u
	}
	return w
}

// texts are the world as files, by their names.
func (w world) texts(t *rapid.T) map[string]string {
	asJSON, err := json.MarshalIndent(w, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Dump(w)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"a.json": string(asJSON), "a.yaml": string(asYAML)}
}

func (u user) active() bool { return u.Active == nil || *u.Active }

// permit is what a world lets a user do, without any of the adapter's steps between.
func (w world) permit(name, permission string) access.Permit {
	u, ok := w.Users[name]
	if !ok || !u.active() {
		return access.PermitNone
	}
	if u.Superuser {
		return access.PermitAll
	}
	object, action := typeAndAction(permission)
	best := access.PermitNone
	ways := []entry{u.entry, {Exempt: w.Exempt}}
	for _, g := range u.Groups {
		ways = append(ways, w.Groups[g])
	}
	for _, way := range ways {
		if slices.Contains(way.Permissions, permission) {
			return access.PermitAll
		}
		for _, o := range []string{object, "*"} {
			covers := slices.Contains(way.Exempt[o], action) || slices.Contains(way.Exempt[o], "*")
			if object != "" && covers {
				return access.PermitAll
			}
		}
		if len(way.Constrained[permission]) > 0 {
			best = access.PermitConstrained
		}
	}
	return best
}

// sites are the sites that the constraints of a permission name, sorted.
func (w world) sites(name, permission string) (sites []string) {
	u := w.Users[name]
	if u.Constrained[permission] != nil {
		sites = append(sites, name)
	}
	for _, g := range u.Groups {
		if w.Groups[g].Constrained[permission] != nil {
			sites = append(sites, g)
		}
	}
	slices.Sort(sites)
	return sites
}

func TestRandomFilesSayWhatTheirWorldsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for file, text := range w.texts(t) {
			s, err := openAs(file, text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for name, u := range w.Users {
				set, err := s.Capabilities(t.Context(), access.Principal{User: name})
				if u.active() != (err == nil) {
					t.Fatalf("%s, active %v: %v", name, u.active(), err)
				}
				for _, p := range asked {
					want, got := w.permit(name, p), permitOf(set, p)
					if got != want {
						t.Fatalf("%s: %q %s: %v, want %v\n%s", file, name, p, got, want, text)
					}
					if want != access.PermitConstrained {
						continue
					}
					if got, want := sitesOf(t, set, p), w.sites(name, p); !slices.Equal(got, want) {
						t.Fatalf("%s: %q %s: %q, want %q\n%s", file, name, p, got, want, text)
					}
				}
			}
		}
	})
}

func permitOf(set capability.Set, permission string) access.Permit {
	constraints, held := set.Constraints(permission)
	switch {
	case set.Unrestricted(typeAndAction(permission)), held && len(constraints) == 0:
		return access.PermitAll
	case held:
		return access.PermitConstrained
	}
	return access.PermitNone
}

func sitesOf(t *rapid.T, set capability.Set, permission string) (sites []string) {
	constraints, _ := set.Constraints(permission)
	for _, c := range constraints {
		var v struct {
			Site string
			N    float64
		}
		if err := json.Unmarshal(c, &v); err != nil || v.N != 1.5 {
			t.Fatalf("%s: %v", c, err)
		}
		sites = append(sites, v.Site)
	}
	slices.Sort(sites)
	return sites
}

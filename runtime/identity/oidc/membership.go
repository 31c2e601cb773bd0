package oidc

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Memberships configures how to read memberships from a claim. The claim is a name, a list of
// names, a list of objects with a name and a standing each, or an object whose keys are the names
// and whose values are standings, or objects with one.
//
// A membership without a standing is that of an [access.Member]. One with an unknown or malformed
// standing counts as none, since the member could be suspended.
type Memberships struct {
	// Claim is the path of the claim. Empty reads none.
	Claim string
	// Name and Standing are the paths of both within an object. Empty is "name" and "standing".
	Name, Standing string
	// Standings are what the values of Standing mean. Nil knows access.Owner, access.Admin,
	// access.Lead and access.Member by their own names. Of several values the highest counts.
	Standings map[string]access.Standing
}

// ranks are the standings, lowest first.
var ranks = []access.Standing{access.Member, access.Lead, access.Admin, access.Owner}

// rank is 0 for an unknown standing.
func rank(s access.Standing) int { return slices.Index(ranks, s) + 1 }

// read returns the memberships of a claim, each name once with its highest standing, in the
// order in which a list has them.
func (m Memberships) read(c map[string]any) []access.Membership {
	if m.Claim == "" {
		return nil
	}
	found := members{places: map[string]int{}}
	switch v := at(c, m.Claim).(type) {
	case string:
		found.add(v, access.Member)
	case []any:
		for _, item := range v {
			switch item := item.(type) {
			case string:
				found.add(item, access.Member)
			case map[string]any:
				name, _ := at(item, cmp.Or(m.Name, "name")).(string)
				found.add(name, m.standing(item))
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if o, ok := v[name].(map[string]any); ok {
				found.add(name, m.standing(o))
			} else {
				found.add(name, m.highest(v[name]))
			}
		}
	}
	return found.all
}

// reads reports whether read takes all of a claim's value.
func (m Memberships) reads(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool {
			o, isObject := item.(map[string]any)
			name := item
			if isObject {
				name = at(o, cmp.Or(m.Name, "name"))
			}
			return name == nil || !isText(name) || isObject && !m.readsStanding(o)
		})
	case map[string]any:
		for _, value := range v {
			if o, ok := value.(map[string]any); ok && !m.readsStanding(o) ||
				!ok && (value == nil || !areTexts(value)) {
				return false
			}
		}
		return true
	}
	return isText(v)
}

func (m Memberships) readsStanding(o map[string]any) bool {
	return areTexts(at(o, cmp.Or(m.Standing, "standing")))
}

// standing is that of an object, which need not have one.
func (m Memberships) standing(o map[string]any) access.Standing {
	v, present := find(o, cmp.Or(m.Standing, "standing"))
	if !present {
		return access.Member
	}
	return m.highest(v)
}

// highest is the highest standing among values, or "" where one of them is malformed or none is
// known.
func (m Memberships) highest(v any) access.Standing {
	values, _ := list(v)
	var best access.Standing
	for _, value := range values {
		standing := access.Standing(value)
		if m.Standings != nil {
			standing = m.Standings[value]
		}
		if rank(standing) > rank(best) {
			best = standing
		}
	}
	return best
}

// members gathers memberships.
type members struct {
	all    []access.Membership
	places map[string]int
}

func (f *members) add(name string, s access.Standing) {
	if name == "" || rank(s) == 0 {
		return
	}
	if i, ok := f.places[name]; ok {
		if rank(s) > rank(f.all[i].Standing) {
			f.all[i].Standing = s
		}
		return
	}
	f.places[name] = len(f.all)
	f.all = append(f.all, access.Membership{Name: name, Standing: s})
}

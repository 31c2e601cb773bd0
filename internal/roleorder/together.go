package roleorder

import "slices"

// mostTogether bounds the sets that Together tries.
const mostTogether = 3

// Together returns the smallest sets of several roles that open something, among the names. With
// another or a higher role, opens must stay true. A set is no result if one of its roles opens it
// alone, or if a lower set is a result. If no set of three opens it, the result is one set at most.
func (o *Order) Together(names []string, opens func(roles []string) bool) [][]string {
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int {
		return slices.Index(o.names, a) - slices.Index(o.names, b)
	})
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return opens([]string{name})
	})
	if opens(nil) || !opens(names) {
		return nil
	}
	var sets [][]string
	var extend func(set []string, from, more int)
	extend = func(set []string, from, more int) {
		if more == 0 {
			if opens(set) {
				sets = append(sets, set)
			}
			return
		}
		for i := from; i < len(names); i++ {
			extend(append(set[:len(set):len(set)], names[i]), i+1, more-1)
		}
	}
	for size := 2; size <= mostTogether; size++ {
		extend(nil, 0, size)
	}
	if sets == nil {
		return [][]string{o.shrunk(names, opens)}
	}
	all := slices.Clone(sets)
	return slices.DeleteFunc(sets, func(set []string) bool {
		held := o.Held(set)
		return slices.ContainsFunc(all, func(other []string) bool {
			lower := o.Held(other)
			return lower&^held == 0 && (lower != held || len(other) < len(set))
		})
	})
}

// shrunk returns a set without the roles that it does not need.
func (o *Order) shrunk(set []string, opens func(roles []string) bool) []string {
	for _, name := range set {
		less := slices.DeleteFunc(slices.Clone(set), func(n string) bool { return n == name })
		if opens(less) {
			set = less
		}
	}
	return set
}

package uritemplate

import (
	"fmt"
	"slices"
	"strings"
)

// Overlap reports whether one URI may match both templates. It compares characters only: it may
// report templates without a common URI, and never misses one. Spellings count: a literal e and its
// escape %65 are two URIs.
func Overlap(a, b Template) bool {
	return overlap(a.atoms, b.atoms, false, false, map[pair]bool{})
}

// pair is a state of both templates read side by side: atoms left, and whether the variable
// that is read has begun, which it must before it can end.
type pair struct {
	a, b           int
	aBegun, bBegun bool
}

func overlap(a, b []atom, aBegun, bBegun bool, seen map[pair]bool) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	state := pair{len(a), len(b), aBegun, bBegun}
	if seen[state] {
		return false
	}
	seen[state] = true
	// A variable that has begun may end.
	if aBegun && overlap(a[1:], b, false, bBegun, seen) ||
		bBegun && overlap(a, b[1:], aBegun, false, seen) {
		return true
	}
	if len(a) == 0 || len(b) == 0 || !share(a[0], b[0]) {
		return false
	}
	// Both read one character: a literal is over, a variable goes on.
	nextA, nextB := a, b
	if a[0].name == "" {
		nextA = a[1:]
	}
	if b[0].name == "" {
		nextB = b[1:]
	}
	return overlap(nextA, nextB, a[0].name != "", b[0].name != "", seen)
}

// share reports whether two atoms have a character in common.
func share(a, b atom) bool {
	for c := range 128 {
		if a.reads(byte(c)) && b.reads(byte(c)) {
			return true
		}
	}
	return false
}

func (a atom) reads(c byte) bool {
	if a.name == "" {
		return a.literal == c
	}
	return a.holds(c)
}

// Beyond reports whether a template matches a URI that none of some others matches. As Overlap, it
// compares characters only. With a set of others that is too large to compare, it returns true.
func Beyond(t Template, others ...Template) bool {
	type side struct {
		reads  []string
		follow [][]int
		ends   []int
	}
	of := func(t Template) side {
		reads, follow, ends := positionsOf(t.atoms)
		return side{reads, follow, ends}
	}
	first := of(t)
	var all side // the others, one after the other
	var start []int
	for _, other := range others {
		s, base := of(other), len(all.follow)
		start = append(start, base)
		for _, next := range s.follow {
			moved := make([]int, len(next))
			for i, n := range next {
				moved[i] = base + n
			}
			all.follow = append(all.follow, moved)
		}
		all.reads = append(all.reads, s.reads...)
		for _, end := range s.ends {
			all.ends = append(all.ends, base+end)
		}
	}
	type state struct {
		at     int    // of the template
		others string // the positions of the others
	}
	type step struct {
		at  int
		set []int
	}
	seen, todo := map[state]bool{}, []step{{0, start}}
	for len(todo) > 0 {
		now := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if slices.Contains(first.ends, now.at) && !slices.ContainsFunc(now.set, func(p int) bool {
			return slices.Contains(all.ends, p)
		}) {
			return true
		}
		for _, next := range first.follow[now.at] {
			for _, c := range []byte(first.reads[next]) {
				var set []int
				for _, p := range now.set {
					for _, n := range all.follow[p] {
						if strings.IndexByte(all.reads[n], c) >= 0 && !slices.Contains(set, n) {
							set = append(set, n)
						}
					}
				}
				slices.Sort(set)
				s := state{next, fmt.Sprint(set)}
				if seen[s] {
					continue
				}
				if seen[s] = true; len(seen) > maxStates {
					return true
				}
				todo = append(todo, step{next, set})
			}
		}
	}
	return false
}

// maxStates bounds the work of Beyond.
const maxStates = 20_000

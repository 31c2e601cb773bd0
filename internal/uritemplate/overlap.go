package uritemplate

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

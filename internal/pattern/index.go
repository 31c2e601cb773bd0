package pattern

import (
	"slices"
	"strings"
)

// Index finds the patterns of one kind that hold a resource, without a look at all of them. The
// zero Index is empty. It appends the number of each pattern that holds the resource once, in any
// order. It allocates nothing but what append needs.
type Index struct {
	byDir   map[string][]numbered[*Path] // by the leading segments that are exact
	depth   int                          // of the deepest of those
	bySeg   map[string][]numbered[*Path] // by an exact segment behind a sign, which is more telling
	byName  map[string][]numbered[*Command]
	anyName []numbered[*Command] // programs that are no exact name
	byHost  map[string][]numbered[*Host]
	byAddr  []numbered[*Host]
	exact   map[string][]int
	globs   []numbered[*Custom]
}

// numbered is a pattern with its number.
type numbered[P any] struct {
	number  int
	pattern P
}

// Add adds a pattern under a number.
func (x *Index) Add(number int, compiled Pattern) {
	switch p := compiled.(type) {
	case *Path:
		for i := len(p.segments) - 1; i > p.depth; i-- {
			if s := &p.segments[i]; !s.deep && s.exact {
				put(&x.bySeg, s.lit, numbered[*Path]{number, p})
				return
			}
		}
		put(&x.byDir, p.literal, numbered[*Path]{number, p})
		x.depth = max(x.depth, p.depth)
	case *Command:
		if len(p.words) > 0 && p.words[0].exact {
			put(&x.byName, p.words[0].lit, numbered[*Command]{number, p})
		} else {
			x.anyName = append(x.anyName, numbered[*Command]{number, p})
		}
	case *Host:
		if p.prefix.IsValid() {
			x.byAddr = append(x.byAddr, numbered[*Host]{number, p})
		} else {
			put(&x.byHost, p.name, numbered[*Host]{number, p})
		}
	case *Custom:
		if p.glob.exact {
			put(&x.exact, p.lit, number)
		} else {
			x.globs = append(x.globs, numbered[*Custom]{number, p})
		}
	}
}

func put[V any](m *map[string][]V, key string, v V) {
	if *m == nil {
		*m = map[string][]V{}
	}
	(*m)[key] = append((*m)[key], v)
}

// Paths appends the patterns that hold a canonical path. It looks under each folder that the path
// is below, for patterns whose further segments hold the rest.
func (x *Index) Paths(to []int, path string) []int {
	var few [32]string // of everyday paths, so that a decision allocates nothing
	names := splitPath(few[:0], path)
	if len(x.bySeg) > 0 {
		for i, name := range names {
			patterns := x.bySeg[name]
			if len(patterns) == 0 || slices.Contains(names[:i], name) {
				continue // a path such as a/a/a must not append each pattern many times
			}
			for _, n := range patterns {
				if matchSegments(n.pattern.segments, names) {
					to = append(to, n.number)
				}
			}
		}
	}
	length := 0 // of the folder's path
	for depth := 0; ; depth++ {
		for _, n := range x.byDir[path[:length]] {
			if matchSegments(n.pattern.segments[depth:], names[depth:]) {
				to = append(to, n.number)
			}
		}
		if depth == len(names) || depth == x.depth {
			return to
		}
		if depth > 0 {
			length++
		}
		length += len(names[depth])
	}
}

// Commands appends the patterns that hold argv, which has a program.
func (x *Index) Commands(to []int, argv []string) []int {
	for _, n := range x.byName[argv[0]] {
		if n.pattern.Match(argv) {
			to = append(to, n.number)
		}
	}
	for _, n := range x.anyName {
		if n.pattern.Match(argv) {
			to = append(to, n.number)
		}
	}
	return to
}

// Hosts appends the patterns that hold an endpoint. It looks under the name, and each name that it
// is below.
func (x *Index) Hosts(to []int, e Endpoint) []int {
	if e.Addr.IsValid() {
		for _, n := range x.byAddr {
			if n.pattern.Match(e) {
				to = append(to, n.number)
			}
		}
		return to
	}
	for name, more := e.Name, true; ; {
		for _, n := range x.byHost[name] {
			if n.pattern.Match(e) {
				to = append(to, n.number)
			}
		}
		if name == "" {
			return to
		}
		if _, name, more = strings.Cut(name, "."); !more {
			name = ""
		}
	}
}

// Custom appends the patterns that hold a resource of another kind.
func (x *Index) Custom(to []int, resource string) []int {
	to = append(to, x.exact[resource]...)
	for _, n := range x.globs {
		if n.pattern.Match(resource) {
			to = append(to, n.number)
		}
	}
	return to
}

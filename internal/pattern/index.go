package pattern

import "strings"

// Index finds the patterns of one kind that hold a resource. The zero Index is empty. It appends
// the number of each pattern that holds the resource once, in any order. It allocates nothing but
// what append needs.
type Index struct {
	paths    []numbered[*Path]
	commands []numbered[*Command]
	hosts    []numbered[*Host]
	customs  []numbered[*Custom]
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
		x.paths = append(x.paths, numbered[*Path]{number, p})
	case *Command:
		x.commands = append(x.commands, numbered[*Command]{number, p})
	case *Host:
		x.hosts = append(x.hosts, numbered[*Host]{number, p})
	case *Custom:
		x.customs = append(x.customs, numbered[*Custom]{number, p})
	}
}

func holding[P any](to []int, all []numbered[P], holds func(P) bool) []int {
	for _, n := range all {
		if holds(n.pattern) {
			to = append(to, n.number)
		}
	}
	return to
}

// Paths appends the patterns that hold a canonical path.
func (x *Index) Paths(to []int, path string) []int {
	var few [32]string // of everyday paths, so that a decision allocates nothing
	names := splitPath(few[:0], path)
	return holding(to, x.paths, func(p *Path) bool {
		return strings.HasPrefix(path, p.literal) && matchSegments(p.segments, names)
	})
}

// Commands appends the patterns that hold argv, which has a program.
func (x *Index) Commands(to []int, argv []string) []int {
	return holding(to, x.commands, func(p *Command) bool { return p.Match(argv) })
}

// Hosts appends the patterns that hold an endpoint.
func (x *Index) Hosts(to []int, e Endpoint) []int {
	return holding(to, x.hosts, func(p *Host) bool { return p.Match(e) })
}

// Custom appends the patterns that hold a resource of another kind.
func (x *Index) Custom(to []int, resource string) []int {
	return holding(to, x.customs, func(p *Custom) bool { return p.Match(resource) })
}

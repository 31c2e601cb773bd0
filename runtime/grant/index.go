package grant

import "strings"

var nothing index

// index finds the grants of one kind that could hold a resource, so that a decision looks at few of many.
type index struct {
	byDir   map[string][]numbered[*pathPattern] // by the leading segments that are exact
	depth   int                                 // of the deepest of those
	bySeg   map[string][]numbered[*pathPattern] // by an exact segment behind a sign, which is more telling
	byName  map[string][]numbered[*commandPattern]
	anyName []numbered[*commandPattern] // programs that are no exact name
	byHost  map[string][]numbered[*hostPattern]
	byAddr  []numbered[*hostPattern]
	exact   map[string][]int
	globs   []numbered[*customPattern]
}

// numbered is a pattern with the number of its grant.
type numbered[P any] struct {
	grant   int
	pattern P
}

func (x *index) add(grant int, compiled pattern) {
	switch p := compiled.(type) {
	case *pathPattern:
		for i := len(p.segments) - 1; i > p.depth; i-- {
			if s := &p.segments[i]; !s.deep && s.exact {
				put(&x.bySeg, s.lit, numbered[*pathPattern]{grant, p})
				return
			}
		}
		put(&x.byDir, p.literal, numbered[*pathPattern]{grant, p})
		x.depth = max(x.depth, p.depth)
	case *commandPattern:
		if len(p.words) > 0 && p.words[0].exact {
			put(&x.byName, p.words[0].lit, numbered[*commandPattern]{grant, p})
		} else {
			x.anyName = append(x.anyName, numbered[*commandPattern]{grant, p})
		}
	case *hostPattern:
		if p.prefix.IsValid() {
			x.byAddr = append(x.byAddr, numbered[*hostPattern]{grant, p})
		} else {
			put(&x.byHost, p.name, numbered[*hostPattern]{grant, p})
		}
	case *customPattern:
		if p.glob.exact {
			put(&x.exact, p.lit, grant)
		} else {
			x.globs = append(x.globs, numbered[*customPattern]{grant, p})
		}
	}
}

func put[V any](m *map[string][]V, key string, v V) {
	if *m == nil {
		*m = map[string][]V{}
	}
	(*m)[key] = append((*m)[key], v)
}

// paths looks under each folder that the path is below, for patterns whose further segments hold the rest.
func (x *index) paths(s *search, path string) {
	var few [32]string // of everyday paths, so that a decision allocates nothing
	names := splitPath(few[:0], path)
	if len(x.bySeg) > 0 {
		for _, name := range names {
			for _, n := range x.bySeg[name] {
				if matchSegments(n.pattern.segments, names) {
					s.hold(n.grant)
				}
			}
		}
	}
	length := 0 // of the folder's path
	for depth := 0; ; depth++ {
		for _, n := range x.byDir[path[:length]] {
			if matchSegments(n.pattern.segments[depth:], names[depth:]) {
				s.hold(n.grant)
			}
		}
		if depth == len(names) || depth == x.depth {
			return
		}
		if depth > 0 {
			length++
		}
		length += len(names[depth])
	}
}

func (x *index) commands(s *search, argv []string) {
	for _, n := range x.byName[argv[0]] {
		if n.pattern.match(argv) {
			s.hold(n.grant)
		}
	}
	for _, n := range x.anyName {
		if n.pattern.match(argv) {
			s.hold(n.grant)
		}
	}
}

// hosts looks under the name, and each name that it is below.
func (x *index) hosts(s *search, e endpoint) {
	if e.addr.IsValid() {
		for _, n := range x.byAddr {
			if n.pattern.match(e) {
				s.hold(n.grant)
			}
		}
		return
	}
	for name, more := e.name, true; ; {
		for _, n := range x.byHost[name] {
			if n.pattern.match(e) {
				s.hold(n.grant)
			}
		}
		if name == "" {
			return
		}
		if _, name, more = strings.Cut(name, "."); !more {
			name = ""
		}
	}
}

func (x *index) custom(s *search, resource string) {
	for _, grant := range x.exact[resource] {
		s.hold(grant)
	}
	for _, n := range x.globs {
		if n.pattern.match(resource) {
			s.hold(n.grant)
		}
	}
}

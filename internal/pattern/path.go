package pattern

import (
	"strings"
	"unicode/utf8"
)

// Path is a pattern of the file family. The zero segments are the top itself.
type Path struct {
	text     string
	literal  string // the leading segments that are exact, joined
	segments []segment
}

type segment struct {
	deep bool // "**"
	glob
}

// ParsePath reads a pattern of paths. Its error is an [*Error].
func ParsePath(text string) (*Path, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	p := &Path{text: text}
	fail := func(at int, problem, cure string) (*Path, error) {
		return nil, &Error{text, at, problem, cure}
	}
	if text == "." {
		return p, nil
	}
	if strings.HasPrefix(text, "/") {
		return fail(0, "it is absolute", "begin with the name of a root, for example public/**")
	}
	for at := 0; ; {
		part, rest, more := strings.Cut(text[at:], "/")
		switch part {
		case "":
			return fail(at, "a segment is empty",
				`write one "/" between segments and none at the end`)
		case ".", "..":
			return fail(at, "a segment "+part+" is in no path that was opened", "leave it out")
		case "**":
			if len(p.segments) > 0 && p.segments[len(p.segments)-1].deep {
				return fail(at, `"**" is there twice in a row`, "write it once")
			}
			p.segments = append(p.segments, segment{deep: true})
		default:
			g, err := parseGlob(text, at, part, true)
			if err != nil {
				return nil, err
			}
			if g.exact && (g.lit == "." || g.lit == "..") {
				return fail(at, "a segment is not a file name", "leave it out")
			}
			p.segments = append(p.segments, segment{glob: g})
		}
		if !more {
			break
		}
		at = len(text) - len(rest)
	}
	var names []string
	for _, s := range p.segments {
		if s.deep || !s.exact {
			break
		}
		names = append(names, s.lit)
	}
	p.literal = strings.Join(names, "/")
	orderRuns(p.segments, func(s segment) bool {
		return s.deep
	}, func(s segment) bool { return s.any })
	return p, nil
}

// Top returns the first name of every path that the pattern holds, or "" if they may differ.
func (p *Path) Top() string {
	name, _, _ := strings.Cut(p.literal, "/")
	return name
}

// Canonical returns the text of the pattern as it is stored and compared.
func (p *Path) Canonical() string { return p.text }

// Match reports whether the pattern holds a canonical path: names joined by "/", none for the top.
func (p *Path) Match(path string) bool {
	return matchSegments(p.segments, splitPath(nil, path))
}

// splitPath appends the names of a canonical path.
func splitPath(names []string, path string) []string {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		names = append(names, name)
	}
	return names
}

func matchSegments(segments []segment, names []string) bool {
	i, at := 0, 0
	// the sign behind the last "**", and the first name that it has not taken yet
	retry, from := -1, 0
	for at < len(names) {
		if i < len(segments) {
			s := &segments[i]
			if s.deep {
				i++
				if i == len(segments) {
					return true
				}
				retry, from = i, at
				continue
			}
			if s.exact && s.lit == names[at] || !s.exact && s.match(names[at]) {
				i++
				at++
				continue
			}
		}
		if retry < 0 {
			return false
		}
		from++
		i, at = retry, from
	}
	for i < len(segments) && segments[i].deep {
		i++
	}
	return i == len(segments)
}

// Covers reports whether p holds everything that other holds.
func (p *Path) Covers(other Pattern) bool {
	o, ok := other.(*Path)
	return ok && inclusion(p.segments, o.segments,
		func(s segment) bool { return s.deep },
		func(segment, segment) bool { return true },
		func(a, b segment) bool { return !b.deep && a.glob.covers(&b.glob) })
}

// CanonicalPath reports whether path could be the canonical path of something: it is clean,
// relative, and UTF-8 without NUL. Empty is the top.
func CanonicalPath(path string) bool {
	if path == "" {
		return true
	}
	if len(path) > MaxLength || !utf8.ValidString(path) || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for rest, more := path, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

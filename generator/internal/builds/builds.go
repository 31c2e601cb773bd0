// Package builds finds which builds of a module have a file, as go/build reads the name of the file
// and the comments above its package clause.
package builds

import (
	"bytes"
	"go/build"
	"go/build/constraint"
	"go/version"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// mostTags bounds the tags of a file whose combinations are tried.
const mostTags = 10

// Of reports whether all builds have the file, and whether some build has it. A build has any set
// of tags but the tag ignore, one system and one architecture, and the Go of the version, such as
// go1.26, or a later one. An empty version is unknown. cgo is one of the tags: whether the file
// imports "C" does not count. A file with more than mostTags tags is in some builds.
func Of(path string, text []byte, goVersion string) (all, some bool) {
	dir, name := filepath.Split(path)
	c := context{
		systems: []string{""}, architectures: []string{""}, compilers: []string{"gc"},
	}
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte("//")) {
			c.line(string(line))
		}
	}
	base, _, _ := strings.Cut(name, ".")
	for _, part := range strings.Split(base, "_") {
		if isSystem, isArchitecture := known(part); isSystem || isArchitecture {
			c.add(part)
		}
	}
	if c.count > mostTags {
		return false, true
	}
	// A build with Go 1.N has the tags of all releases up to it: N+1 sets of tags are enough.
	slices.SortFunc(c.releases, version.Compare)
	all = true
	for b := range c.builds(goVersion) {
		b.OpenFile = opens(text)
		match, err := b.MatchFile(dir, name)
		if err != nil {
			return false, true // the go command reports it
		}
		all, some = all && match, some || match
		if some && !all {
			break
		}
	}
	return all, some
}

func opens(text []byte) func(string) (io.ReadCloser, error) {
	return func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
}

// context is the tags that a file may depend on. An empty system or architecture is one that no
// file names.
type context struct {
	systems, architectures, compilers, releases, others []string
	count                                               int // without the releases
}

// line adds the tags of a line. It may be below the package clause, where no constraint counts.
func (c *context) line(line string) {
	if !constraint.IsGoBuild(line) && !constraint.IsPlusBuild(line) {
		return
	}
	expr, err := constraint.Parse(line)
	if err != nil {
		return
	}
	var visit func(constraint.Expr)
	visit = func(expr constraint.Expr) {
		switch e := expr.(type) {
		case *constraint.TagExpr:
			c.add(e.Tag)
		case *constraint.NotExpr:
			visit(e.X)
		case *constraint.AndExpr:
			visit(e.X)
			visit(e.Y)
		case *constraint.OrExpr:
			visit(e.X)
			visit(e.Y)
		}
	}
	visit(expr)
}

func (c *context) add(tag string) {
	list := &c.others
	isSystem, isArchitecture := known(tag)
	switch {
	case tag == "ignore": // no build has it, by convention of the go command
		return
	case version.IsValid(tag) && version.Lang(tag) == tag:
		if !slices.Contains(c.releases, tag) {
			c.releases = append(c.releases, tag)
		}
		return
	case tag == "gc" || tag == "gccgo":
		c.compilers = []string{"gc", "gccgo"}
		return
	case tag == "boringcrypto":
		tag = "goexperiment.boringcrypto" // as go/build reads it
	case isSystem:
		list = &c.systems
	case isArchitecture:
		list = &c.architectures
	}
	if !slices.Contains(*list, tag) {
		*list = append(*list, tag)
		c.count++
	}
}

// known reports whether a tag is that of a system or an architecture: the name of a file may have
// it.
func known(tag string) (isSystem, isArchitecture bool) {
	if strings.Contains(tag, "_") {
		return false, false
	}
	match := func(c build.Context, name string) bool {
		c.OpenFile = opens([]byte("package p\n"))
		found, err := c.MatchFile("", name+tag+".go")
		return err == nil && found
	}
	if match(build.Context{}, "x_") {
		return false, false
	}
	// Before an architecture, linux is a system. Before a system, it is a part of the name.
	isSystem = match(build.Context{GOOS: tag}, "x_linux_")
	return isSystem, !isSystem
}

// builds are the combinations of tags that a build with a Go of the version can have.
func (c *context) builds(goVersion string) func(yield func(build.Context) bool) {
	return func(yield func(build.Context) bool) {
		for newest := range len(c.releases) + 1 {
			if newest < len(c.releases) && version.Compare(c.releases[newest], goVersion) <= 0 {
				continue // each build has this release
			}
			for set := range 1 << len(c.others) {
				var tags []string
				for i, tag := range c.others {
					if set&(1<<i) != 0 {
						tags = append(tags, tag)
					}
				}
				for _, system := range c.systems {
					if system != "" && slices.Contains(tags, "unix") {
						continue // it is known whether the system is one
					}
					for _, arch := range c.architectures {
						for _, compiler := range c.compilers {
							if !yield(build.Context{GOOS: system, GOARCH: arch, Compiler: compiler,
								BuildTags: tags, ReleaseTags: c.releases[:newest]}) {
								return
							}
						}
					}
				}
			}
		}
	}
}

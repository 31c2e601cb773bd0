package policydiff

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/mcpgen/mcpgen/generator/internal/builds"
)

// folders are the files on the disk or of a commit, by paths with slashes.
type folders struct {
	has     func(file string) bool
	goFiles func(folder string) []string // without tests
	read    func(files []string) ([][]byte, error)
}

// isSource reports whether a file is Go code that the go command compiles into a package.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
		name[0] != '.' && name[0] != '_'
}

// module returns the folder of the go.mod of a folder, and its text. A repository ends the search.
func (t folders) module(folder string) (root string, mod *modfile.File) {
	for up := folder; ; up = path.Dir(up) {
		if file := path.Join(up, "go.mod"); t.has(file) {
			var mod *modfile.File
			if texts, err := t.read([]string{file}); err == nil {
				mod, _ = modfile.ParseLax(file, texts[0], nil) // the go command reports it
			}
			return up, mod
		}
		if up == path.Dir(up) || t.has(path.Join(up, ".git")) {
			return "", nil
		}
	}
}

// pattern is a pattern such as ./x/... .
type pattern struct {
	folders
	base     string
	module   bool     // base is in a module
	ignored  []string // folders that its go.mod ignores
	anywhere []string // names of folders that its go.mod ignores in every folder
}

func (t folders) pattern(base string) pattern {
	root, mod := t.module(base)
	p := pattern{folders: t, base: base, module: root != ""}
	if mod != nil {
		for _, ignore := range mod.Ignore {
			if below, here := strings.CutPrefix(ignore.Path, "./"); here {
				p.ignored = append(p.ignored, path.Join(root, below))
			} else {
				p.anywhere = append(p.anywhere, "/"+strings.Trim(ignore.Path, "/")+"/")
			}
		}
	}
	return p
}

// place is how a pattern with "..." treats a folder.
type place int

const (
	outside place = iota // of the pattern, or in another module or repository
	skipped              // for its name; a package may import it
	matched
)

func (p pattern) match(folder string) place {
	rest, below := strings.CutPrefix(folder+"/", strings.TrimSuffix(p.base, "/")+"/")
	if p.base == "." {
		rest, below = strings.TrimPrefix(folder+"/", "./"), true
	}
	if !below {
		return outside
	}
	found, module, at := matched, p.module, p.base
	for _, name := range strings.Split(strings.TrimSuffix(rest, "/"), "/") {
		if name == "" {
			continue // the folder of the pattern itself
		}
		at = path.Join(at, name)
		switch {
		case name == "vendor" || strings.HasPrefix(name, ".") || p.has(path.Join(at, ".git")):
			return outside
		case p.has(path.Join(at, "go.mod")):
			if module {
				return outside
			}
			module = true
		case name == "testdata", strings.HasPrefix(name, "_"), slices.Contains(p.ignored, at):
			found = skipped
		}
	}
	if slices.ContainsFunc(p.anywhere, func(name string) bool {
		return strings.Contains("/"+rest, name)
	}) {
		found = skipped
	}
	return found
}

// selection are the folders of patterns.
type selection struct {
	sources   []string // matched, whether they have a manifest or not
	manifests []string // matched
	hidden    []string // skipped, with a manifest
}

func (s *selection) add(t folders, folder string, at place) {
	manifest := at != outside && t.has(path.Join(folder, manifestName))
	switch {
	case at == matched:
		s.sources = append(s.sources, folder)
		if manifest {
			s.manifests = append(s.manifests, folder)
		}
	case manifest:
		s.hidden = append(s.hidden, folder)
	}
}

// served returns the folders of the manifests that count: the matched ones, and skipped ones that a
// main package imports, directly or not, in their module.
func (s *selection) served(t folders) ([]string, error) {
	if len(s.hidden) == 0 {
		return sorted(s.manifests), nil
	}
	seen := map[string]bool{} // packages that a main package imports
	for todo := sorted(s.sources); len(todo) > 0; {
		var next []string
		packages, err := t.packages(todo)
		if err != nil {
			return nil, err
		}
		for _, folder := range todo {
			p := packages[folder]
			if !p.main && !seen[folder] {
				continue
			}
			root, mod := t.module(folder)
			if mod == nil || mod.Module == nil {
				continue
			}
			for _, imported := range p.imports {
				rel, inside := strings.CutPrefix(imported, mod.Module.Mod.Path+"/")
				to := path.Join(root, rel)
				if imported == mod.Module.Mod.Path {
					to, inside = root, true
				}
				if inside && !seen[to] {
					seen[to], next = true, append(next, to)
				}
			}
		}
		todo = next
	}
	return sorted(append(slices.DeleteFunc(s.hidden, func(folder string) bool {
		return !seen[folder]
	}), s.manifests...)), nil
}

// code is what the files of a folder import, in any build.
type code struct {
	main    bool
	imports []string
}

func (t folders) packages(list []string) (map[string]code, error) {
	var files []string
	for _, folder := range list {
		files = append(files, t.goFiles(folder)...)
	}
	texts, err := t.read(files)
	if err != nil {
		return nil, err
	}
	found := map[string]code{}
	for i, file := range files {
		syntax, _ := parser.ParseFile(token.NewFileSet(), file, texts[i], parser.ImportsOnly)
		if syntax == nil || syntax.Name == nil {
			continue // the go command reports it
		}
		if _, some := builds.Of(file, texts[i], ""); !some {
			continue
		}
		p := found[path.Dir(file)]
		p.main = p.main || syntax.Name.Name == "main"
		for _, spec := range syntax.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
				p.imports = append(p.imports, imported)
			}
		}
		found[path.Dir(file)] = p
	}
	return found, nil
}

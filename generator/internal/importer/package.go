package importer

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/builds"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// Package is a directory that gets a package from foreign texts, as mcpgen-openapi writes one.
type Package struct {
	Dir, Name string
	Server    bool            // it has //mcp:server
	Taken     map[string]bool // the names in use
}

// Open reads the package in a directory, which must exist. An empty name stands for the name of
// the package there, or one from the path.
func Open(dir, name string) (Package, error) {
	p, err := existing(dir)
	if err != nil {
		return p, err
	}
	if name != "" {
		if p.Name != "" && p.Name != name {
			return p, fmt.Errorf("the directory has package %s, not %s", p.Name, name)
		}
		p.Name = name
	}
	if p.Name == "" {
		p.Name = packageName(dir)
	}
	if !token.IsIdentifier(p.Name) || p.Name == "_" {
		return p, fmt.Errorf("%q is not a package name", p.Name)
	}
	return p, nil
}

// existing reads the Go files of a directory, except those that Import and mcpgen write.
func existing(dir string) (Package, error) {
	p := Package{Dir: dir, Taken: map[string]bool{"Toolset": true}}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("the directory %s does not exist: create it", dir)
	}
	if err != nil {
		return p, err
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") ||
			strings.HasSuffix(name, "_test.go") ||
			name == File || name == emit.Code || name == emit.Error {
			continue
		}
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return p, err
		}
		if _, some := builds.Of(file, text, ""); !some {
			continue // such as a program for go run
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
		if err != nil {
			return p, fmt.Errorf("reading the package in the directory: %w", err)
		}
		p.Name = parsed.Name.Name
		for _, d := range parsed.Decls {
			p.take(d)
		}
		if parsed.Doc != nil {
			p.Server = p.Server || slices.ContainsFunc(parsed.Doc.List, func(c *ast.Comment) bool {
				return strings.HasPrefix(c.Text, "//mcp:server")
			})
		}
	}
	return p, nil
}

// take notes the names of a declaration.
func (p Package) take(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			p.Taken[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				p.Taken[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					p.Taken[name.Name] = true
				}
			}
		}
	}
}

var noIdentifier = regexp.MustCompile(`[^a-z0-9]+`)

// packageName makes a package name from the path of a directory.
func packageName(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	name := noIdentifier.ReplaceAllString(strings.ToLower(filepath.Base(dir)), "")
	if !token.IsIdentifier(name) {
		return "tools"
	}
	return name
}

// Missing returns an error if one of these files exists.
func (p Package) Missing(names ...string) error {
	var exist []string
	for _, name := range names {
		switch _, err := os.Lstat(filepath.Join(p.Dir, name)); {
		case err == nil:
			exist = append(exist, name)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if len(exist) > 0 {
		return fmt.Errorf("the directory %s has %s, and no file is overwritten: write --dir with "+
			"another directory", p.Dir, strings.Join(exist, ", "))
	}
	return nil
}

// Write writes all files or none.
func (p Package) Write(files map[string][]byte) ([]string, error) {
	var list []emit.File
	for name, content := range files {
		list = append(list, emit.File{Path: filepath.Join(p.Dir, name), Content: content})
	}
	return writefiles.Write(list, nil)
}

package load

import (
	"bytes"
	"errors"
	"go/parser"
	"go/scanner"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/builds"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// parse reads the author's files of the package, and notes the existing generated ones.
func (p *Program) parse(pkg *Package) {
	for _, path := range pkg.meta.GoFiles {
		p.parseFile(pkg, path, &pkg.Files)
	}
	for _, path := range pkg.meta.IgnoredFiles {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && pkg.Local {
			p.parseFile(pkg, path, &pkg.Ignored)
		}
	}
	if pkg.Local {
		pkg.Named = pkg.elsewhere()
		p.note(pkg, filepath.Join(pkg.Dir, TestFile))
		p.note(pkg, filepath.Join(pkg.Dir, ManifestFile))
	}
	if len(pkg.Files) > 0 {
		// The author's files name the package, not an old generated file.
		pkg.Name = pkg.Files[0].Syntax.Name.Name
	}
}

func (p *Program) parseFile(pkg *Package, path string, into *[]*File) {
	name := filepath.Base(path)
	if pkg.Local && (name == GeneratedFile || name == ErrorFile) && p.note(pkg, path) {
		return
	}
	text, found := p.overlay[path]
	var err error
	if !found {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		at := model.Position{File: path, Line: 1, Col: 1}
		pkg.Syntax.Add(diag.DoesNotParse, at, "", "%s", errors.Unwrap(err))
		return
	}
	mode := parser.SkipObjectResolution
	if pkg.Local {
		mode |= parser.ParseComments
	}
	file, err := parser.ParseFile(p.Fset, path, text, mode)
	all, some := builds.Of(path, text, pkg.goVersion)
	if err != nil && !some {
		return // no build reads it
	}
	pkg.syntaxErrors(path, err)
	if file == nil || file.Name == nil || file.Name.Name == "" || file.Name.Name == "_" {
		return
	}
	*into = append(*into, &File{
		Path: filepath.Clean(path), Syntax: file, Constrained: !all || importsC(file), never: !some,
	})
}

// syntaxErrors adds the errors of the parser.
func (pkg *Package) syntaxErrors(path string, err error) {
	list, ok := errors.AsType[scanner.ErrorList](err)
	if !ok {
		return
	}
	list.RemoveMultiples()
	for _, e := range list {
		pkg.Syntax.Add(diag.DoesNotParse, model.Position{File: path, Line: e.Pos.Line, Col: e.Pos.Column},
			"fix the syntax error", "%s", e.Msg)
	}
}

// note records a file under one of the generated names as owned or foreign, and reports
// whether it is owned. The header may be anywhere in the file, so that mcpgen also replaces a file
// that begins with conflict markers.
func (p *Program) note(pkg *Package, path string) (owned bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		// A missing file is neither. An unreadable file is an error when files are written.
		return false
	}
	list, text := &pkg.Foreign, bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(text) == 0 ||
		bytes.HasPrefix(text, []byte(Header)) || bytes.Contains(text, []byte("\n"+Header)) ||
		filepath.Base(path) == ManifestFile && bytes.Contains(text, []byte(`"manifest": `)) {
		list, owned = &pkg.Owned, true
	}
	*list = append(*list, filepath.Base(path))
	slices.Sort(*list)
	return owned
}

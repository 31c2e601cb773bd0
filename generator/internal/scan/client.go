package scan

import (
	"bytes"
	"errors"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// client reads the directory of the typed client. It is empty if client= is wrong.
func (s *scanner) client(d *directive.Directive) string {
	arg, ok := d.Arg("client")
	if !ok {
		return ""
	}
	dir := d.Text("client")
	bad := func(fix, format string, args ...any) string {
		s.report(diag.BadValue, arg.Span, fix, format, args...)
		return ""
	}
	switch {
	case !model.IsClientDir(dir) || token.IsKeyword(path.Base(dir)) || path.Base(dir) == "main":
		return bad("write a directory below the package, of lower-case letters, digits and "+
			"underscores, for example client=client",
			"client=%s is not the directory of a package below this one", dir)
	case s.pkg.Name == "main":
		return bad("move the handlers into a package of their own, or remove client=",
			"no package can import the types of package main, so it can have no typed client")
	}
	place := s.pkg.Dir
	for part := range strings.SplitSeq(dir, "/") {
		place = filepath.Join(place, part)
		if info, err := os.Lstat(place); err == nil && !info.IsDir() {
			return bad("write another name, or move the file away", "%s is not a directory", part)
		}
	}
	file := filepath.Join(place, model.ClientFile)
	switch text, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return bad("make it readable, or delete it", "client=%s: %s", dir, errors.Unwrap(err))
	case len(text) > 0 && !bytes.Contains(text, []byte(load.Header)):
		s.Findings.Add(diag.NotOurs, model.Position{File: file, Line: 1, Col: 1},
			"rename the file, or delete it if it was generated",
			"%s is not a file of mcpgen: it lacks the line %q", model.ClientFile, load.Header)
	}
	return dir
}

// typeForClient writes a type for the package of the typed client; nil without one.
func (s *scanner) typeForClient(t types.Type) model.Expr {
	if s.Service.Server.Client == "" {
		return nil
	}
	return gotype.Expr(t, nil)
}

// unexported reports types of tools that the package of the typed client cannot name.
func (s *scanner) unexported() {
	client := s.Service.Server.Client
	if client == "" {
		return
	}
	server := s.single("server")
	arg, _ := server.Arg("client")
	for _, t := range s.Service.Tools {
		exprs := []model.Expr{t.Input.Outside}
		if t.Output.Kind <= model.JSONOutput && t.Output.Kind != model.TextOutput {
			exprs = append(exprs, t.Output.Outside)
		}
		for _, p := range t.Input.Params {
			exprs = append(exprs, p.Outside)
		}
		for _, e := range exprs {
			for _, word := range e {
				if word.Path == "" || token.IsExported(word.Text) &&
					importable(word.Path, s.pkg.Path+"/"+client) {
					continue
				}
				s.report(diag.BadValue, arg.Span, "export the type, or remove client=",
					"a typed client cannot name the type %s.%s of the tool %s", word.Package,
					word.Text, t.Name)
				return
			}
		}
	}
}

// importable reports whether a package may import another one: an internal package is for those
// below the parent of its directory internal.
func importable(what, by string) bool {
	i := strings.LastIndex("/"+what+"/", "/internal/")
	if i < 0 {
		return true
	}
	parent := strings.TrimSuffix(("/" + what)[:i], "/")
	return parent == "" || strings.HasPrefix("/"+by+"/", parent+"/")
}

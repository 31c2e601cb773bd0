package scan

import (
	"bytes"
	"errors"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schemafile"
	"github.com/mcpgen/mcpgen/internal/structured"
)

// byHand is the schemas of one tool that //mcp:schema names.
type byHand struct {
	input, output *written
}

// written is one schema by hand. A file that cannot be used is reported, and an empty schema
// replaces it, so that mcpgen does not read the type, which the file replaces.
type written struct {
	schemafile.Schema
	file string // relative to the package, with slashes
	arg  directive.Arg
}

// byHand reads what //mcp:schema names.
func (t *reading) byHand() byHand {
	found := t.decl.Find("schema")
	if found == nil {
		return byHand{}
	}
	return byHand{input: t.schemaFile(found, "input"), output: t.schemaFile(found, "output")}
}

func (s *scanner) schemaFile(d *directive.Directive, key string) *written {
	arg, ok := d.Arg(key)
	if !ok {
		return nil
	}
	w := &written{file: filepath.ToSlash(filepath.Clean(filepath.FromSlash(d.Text(key)))), arg: arg}
	path, err := s.withinModule(w.file)
	if err != nil {
		s.report(diag.BadSchemaFile, arg.Span,
			"write the name of a file in this module, relative to the package's directory", "%s=%s: %s", key,
			d.Text(key), err)
		return w
	}
	text, err := os.ReadFile(path)
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		s.report(diag.BadSchemaFile, arg.Span,
			"write the file, or its name relative to the package's directory",
			"%s=%s cannot be read: %s", key, w.file, err)
		return w
	}
	s.files = append(s.files, w.file)
	s.hiddenInFile(path, text)
	w.Schema, err = schemafile.Read(text)
	if err != nil {
		s.inFile(path, text, err)
		w.Schema = schemafile.Schema{Object: true}
	}
	return w
}

// withinModule is the path of a file that the package names, which must be of its own module, since
// the generated test reads it.
func (s *scanner) withinModule(file string) (string, error) {
	if filepath.IsAbs(file) || strings.Contains(file, `\`) {
		return "", errors.New("the path is not a relative path with slashes")
	}
	root := s.pkg.Dir
	if below := strings.Trim(strings.TrimPrefix(s.pkg.Path, s.pkg.Module), "/"); below != "" {
		root = filepath.Join(root, strings.Repeat("../", strings.Count(below, "/")+1))
	}
	path := filepath.Join(s.pkg.Dir, filepath.FromSlash(file))
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if base, err := filepath.EvalSymlinks(root); err == nil && !inside(base, real) {
			return "", fmt.Errorf("the file is outside the module %s", s.pkg.Module)
		}
	}
	if !inside(root, path) {
		return "", fmt.Errorf("the file is outside the module %s", s.pkg.Module)
	}
	return path, nil
}

func inside(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// inFile reports the fault of a schema at its position.
func (s *scanner) inFile(path string, text []byte, err error) {
	place, cure := inText(path, text, 0), ""
	var bad *schemafile.Error
	if errors.As(err, &bad) {
		place, cure = inText(path, text, bad.Offset), bad.Cure
	}
	if !s.reported(diag.BadSchemaFile, place) { // two tools may name one file
		s.Findings.Add(diag.BadSchemaFile, place, cure, "%s", err)
	}
}

// inText is the position of a byte of a file.
func inText(path string, text []byte, offset int) model.Position {
	before := text[:min(offset, len(text))]
	return model.Position{File: path, Line: 1 + bytes.Count(before, []byte("\n")),
		Col: len(before) - bytes.LastIndexByte(before, '\n')}
}

// handInput gives a tool the arguments that its schema by hand describes. It is false for a tool
// whose type describes them.
func (t *reading) handInput() bool {
	w := t.hand.input
	if w == nil {
		return false
	}
	if t.Input.Kind == model.NoInput {
		t.report(diag.Contradiction, w.arg.Span, "remove input=",
			"%s has no arguments for a schema", t)
		return true
	}
	if w.Text != "" && !w.Object {
		t.report(diag.BadSchemaFile, w.arg.Span, `write "type": "object" at the root of the schema`,
			"input=%s: the arguments of a tool are an object, but the schema is not for an object",
			w.file)
	}
	t.Input.Schema, t.Input.Written, t.Input.File = w.Known, w.Text, w.file
	t.Input.Uncoded = "it has a schema by hand, in " + w.file
	if t.Input.Kind != model.PlainInput {
		return true
	}
	for _, p := range t.Input.Params {
		if w.Text != "" && !slices.Contains(w.Properties, p.Name) {
			t.report(diag.BadSchemaFile, w.arg.Span,
				"add the property, named as the parameter in snake_case",
				"input=%s: the schema has no property %s for the parameter %s of %s", w.file, p.Name,
				p.Go, t)
		}
	}
	for _, found := range t.decl.Directives {
		if found.Name == "param" {
			t.report(diag.Contradiction, found.Span, "describe it in "+w.file,
				"//mcp:param is for a parameter that the schema by hand describes")
		}
	}
	return true
}

// handOutput gives a tool the result that its schema by hand describes.
func (t *reading) handOutput(out types.Type) bool {
	w := t.hand.output
	if w == nil {
		return false
	}
	t.Output = model.Output{
		Kind: model.ObjectOutput, Type: gotype.Expr(out, t.pkg.Types),
		Outside: t.typeForClient(out), Name: t.base("out ", out, w.Known, "Result"), Schema: w.Known,
		Written: w.Text, File: w.file,
	}
	if structured.New([]byte(w.Text)).Form == structured.InResult {
		t.Output.Kind = model.ValueOutput
	}
	return true
}

// handNothing reports an output= for a handler that returns no result.
func (t *reading) handNothing() {
	for _, key := range []string{"output", "mimetype"} {
		if arg, ok := t.decl.Find("tool").Arg(key); ok {
			t.report(diag.Contradiction, arg.Span, "remove "+key+"=",
				"%s returns nothing but an error", t)
		}
	}
	if w := t.hand.output; w != nil {
		t.report(diag.Contradiction, w.arg.Span, "remove output=",
			"%s has no result for a schema", t)
	}
}

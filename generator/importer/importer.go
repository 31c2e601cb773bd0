// Package importer writes the start of a package from the tools of a foreign server: schema files,
// and handlers with directives whose access rule the author has to fill in.
//
// The tools are input of others. Their names and descriptions become identifiers, file names,
// string literals and comments; no text of theirs can become code or a directive.
package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/schema"
	"github.com/mcpgen/mcpgen/generator/writefiles"
)

// FillIn is [directive.FillIn]. A //mcp:default does not replace it.
const FillIn = directive.FillIn

// File is the name of the Go file that Import writes.
const File = "tools.go"

// Tool is one tool to import.
type Tool struct {
	Name, Title, Description string
	AnnotationTitle          string          // annotations.title, which older servers write
	Input, Output            json.RawMessage // schemas; Output is nil without one
	// The hints are nil if they are not written.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Options are what Import writes, and where.
type Options struct {
	Dir             string // must exist
	Package         string // empty: the package of Dir, or a name from its path
	Server, Version string // of the foreign server, if known
	Tools           []Tool
	Force           bool // overwrite files
}

// Result is what Import did.
type Result struct {
	Changed []string // paths of written files, sorted
	Notes   []string // what is not as in the foreign list, one line each, ASCII
}

// ExistError reports files that Import would have to overwrite.
type ExistError struct{ Paths []string }

func (e *ExistError) Error() string {
	return "these files exist with different content: " + strings.Join(e.Paths, ", ")
}

// Import writes the schema files and the Go file. It writes all of them or none.
func Import(o Options) (Result, error) {
	p, err := existing(o.Dir)
	if err != nil {
		return Result{}, err
	}
	if o.Package != "" {
		if p.name != "" && p.name != o.Package {
			return Result{}, fmt.Errorf("the directory has package %s, not %s", p.name, o.Package)
		}
		p.name = o.Package
	}
	if p.name == "" {
		p.name = packageName(o.Dir)
	}
	if !token.IsIdentifier(p.name) || p.name == "_" {
		return Result{}, fmt.Errorf("%q is not a package name", p.name)
	}
	w := &writer{packageOf: p, files: map[string]bool{}}
	for _, t := range o.Tools {
		if err := w.tool(t); err != nil {
			return Result{}, err
		}
	}
	if w.body.Len() == 0 {
		return Result{Notes: w.notes}, errors.New("the list has no tools")
	}
	source, err := w.source(o)
	if err != nil {
		return Result{}, err
	}
	files := append(w.schemas, emit.File{Path: File, Content: source})
	var exist []string
	for i := range files {
		files[i].Path = filepath.Join(o.Dir, filepath.FromSlash(files[i].Path))
		old, err := os.ReadFile(files[i].Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return Result{}, err
		case !bytes.Equal(old, files[i].Content):
			exist = append(exist, files[i].Path)
		}
	}
	if len(exist) > 0 && !o.Force {
		return Result{}, &ExistError{exist}
	}
	changed, err := write(filepath.Join(o.Dir, schemaDir), files)
	return Result{Changed: changed, Notes: w.notes}, err
}

// write writes the files. It makes the directory of the schemas, and removes it after an error if
// it was not there.
func write(schemas string, files []emit.File) ([]string, error) {
	made := false
	switch err := os.Mkdir(schemas, 0o755); {
	case err == nil:
		made = true
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	changed, err := writefiles.Write(files, nil)
	if err != nil && made {
		err = errors.Join(err, os.Remove(schemas))
	}
	return changed, err
}

// packageOf is the package that a directory has, and the names in use there.
type packageOf struct {
	name   string
	server bool // it has //mcp:server
	taken  map[string]bool
}

// existing reads the Go files of a directory, except those that Import and mcpgen write.
func existing(dir string) (packageOf, error) {
	p := packageOf{taken: map[string]bool{"Toolset": true}}
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
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil,
			parser.ParseComments)
		if err != nil {
			return p, fmt.Errorf("reading the package in the directory: %w", err)
		}
		p.name = parsed.Name.Name
		for _, d := range parsed.Decls {
			p.take(d)
		}
		if parsed.Doc != nil {
			p.server = p.server || slices.ContainsFunc(parsed.Doc.List, func(c *ast.Comment) bool {
				return strings.HasPrefix(c.Text, "//mcp:server")
			})
		}
	}
	return p, nil
}

// take notes the names of a declaration.
func (p *packageOf) take(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			p.taken[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				p.taken[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					p.taken[name.Name] = true
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

// writer collects the files.
type writer struct {
	packageOf
	body    bytes.Buffer // of the Go file
	schemas []emit.File  // with paths relative to the directory
	files   map[string]bool
	notes   []string
	imports struct{ bytes, json, sdk bool }
	met     map[string]bool
}

func (w *writer) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// source is the whole Go file.
func (w *writer) source(o Options) ([]byte, error) {
	var b bytes.Buffer
	if !w.server {
		fmt.Fprintf(&b, "// Package %s serves tools that mcpgen imported.\n", w.name)
		fmt.Fprintf(&b, "// Write the access rule of each tool in place of minrole=%s.\n//\n",
			FillIn)
		b.WriteString("//mcp:server" + key("name", visible(o.Server)) +
			key("version", visible(o.Version)) + "\n")
	}
	fmt.Fprintf(&b, "package %s\n\n", w.name)
	if !w.server {
		b.WriteString("//go:generate go tool mcpgen\n\n")
	}
	b.WriteString("import (\n")
	for _, i := range []struct {
		used bool
		path string
	}{
		{w.imports.bytes, "bytes"}, {true, "context"}, {w.imports.json, "encoding/json"},
		{true, "errors"},
	} {
		if i.used {
			fmt.Fprintf(&b, "%q\n", i.path)
		}
	}
	if w.imports.sdk {
		b.WriteString("\n\"github.com/modelcontextprotocol/go-sdk/mcp\"\n")
	}
	b.WriteString(")\n")
	b.Write(w.body.Bytes())
	return format.Source(b.Bytes())
}

// key is a key of a directive with its value, or nothing.
func key(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + "=" + strconv.QuoteToASCII(value)
}

// visible is a text on one line without hidden characters.
func visible(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}

// printable replaces invalid UTF-8 and removes all characters that a reader does not see, except
// line feeds and spaces.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n",
		"\t", "    ").Replace(text)
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf,
			unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return r
		}
		return -1
	}, text)
}

// comment is a text as the lines of a doc comment that holds no directive and nothing near to one.
func comment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(printable(text)) + "\n") {
		line = strings.TrimRight("// "+strings.TrimRight(line, " \n"), " ")
		if len(directive.Misses(line)) > 0 || strings.HasPrefix(line, "// +") ||
			strings.HasPrefix(line, "// //") {
			line = "// The line: " + strings.TrimPrefix(line, "// ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// described is the description that a doc comment gives to a tool.
func described(comment string) string {
	group := &ast.CommentGroup{}
	for line := range strings.Lines(comment) {
		group.List = append(group.List, &ast.Comment{Text: strings.TrimSuffix(line, "\n")})
	}
	return schema.Description(group.Text())
}

// declared is a constant with a text, which a comment would change.
func declared(name, text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strconv.Quote(line))
	}
	return fmt.Sprintf("const %s = %s\n\n", name, strings.Join(lines, " +\n"))
}

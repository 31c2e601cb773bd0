// Package stubs writes handlers that call an HTTP API, from its OpenAPI document.
//
// The document is input of others. Its names and texts become identifiers, string literals, tags
// and comments; none can become code or a directive.
package stubs

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// The files that Import writes.
const (
	toolsFile    = extension.File
	typesFile    = "types.go"
	upstreamFile = "upstream.go"
)

//go:embed upstream.go.txt
var upstream string

// maxOperations is a bound of the operations of one package.
const maxOperations = 2000

// maxNotes is a bound of the notes.
const maxNotes = 100

// maxOutput is a bound of the handlers and types, in bytes.
const maxOutput = 16 << 20

// Options are what Import writes, and where.
type Options struct {
	Dir     string   // must exist
	Package string   // empty: the package of Dir, or a name from its path
	Only    []string // patterns of operations, as of path.Match; empty: all
}

// Result is what Import did.
type Result struct {
	Written []string // paths of files
	Notes   []string // what is not as in the document, one line each, ASCII
}

// Import writes the package. It overwrites no file, and writes all files or none.
func Import(doc *openapi3.T, o Options) (Result, error) {
	p, err := extension.Open(o.Dir, o.Package)
	if err != nil {
		return Result{}, err
	}
	if err := p.Missing(toolsFile, typesFile, upstreamFile); err != nil {
		return Result{}, err
	}
	files, notes, err := contents(doc, p, o.Only)
	if err != nil {
		return Result{Notes: notes}, err
	}
	written, err := p.Write(files)
	return Result{Written: written, Notes: notes}, err
}

// writer collects the files.
type writer struct {
	doc    *openapi3.T
	taken  map[string]bool
	tools  bytes.Buffer // the handlers
	types  bytes.Buffer
	shapes map[key]shape
	open   map[key]int
	depth  int
	oneWay map[*openapi3.Schema]bool
	roots  []*openapi3.SchemaRef // of the chosen operations
	secret map[string]bool       // names of parameters that are credentials
	fields int                   // bytes of all fields of structs
	notes  []string
	more   int // notes beyond maxNotes
}

// contents is the content of each file.
func contents(
	doc *openapi3.T, p extension.Package, only []string,
) (files map[string][]byte, notes []string, err error) {
	w := &writer{doc: doc, taken: p.Taken, shapes: map[key]shape{}, open: map[key]int{},
		secret: map[string]bool{}}
	for _, name := range []string{"API", "newUpstream", "upstreamRequest", "upstreamTexts",
		"plainUpstream", "maxUpstreamBytes", "receive", "failed"} {
		if w.taken[name] {
			return nil, nil, fmt.Errorf("the package has %s, which %s declares: "+
				"write --dir with another directory", name, upstreamFile)
		}
		w.taken[name] = true
	}
	for _, field := range []string{"BaseURL", "Client"} {
		w.taken[field] = true // methods of API cannot have these names
	}
	operations, err := w.operations(only)
	if err != nil {
		return nil, nil, err
	}
	for _, op := range operations {
		w.roots = append(w.roots, op.schemas()...)
	}
	for _, op := range operations {
		if w.operation(op); w.full() {
			return nil, w.notes, fmt.Errorf("the files have more than %d MiB: choose operations with "+
				"--only", maxOutput>>20)
		}
	}
	if w.more > 0 {
		w.notes = append(w.notes, fmt.Sprintf("%d more notes are left out", w.more))
	}
	if len(operations) == 0 {
		return nil, w.notes, errors.New("the document has no operations to import")
	}
	files = map[string][]byte{}
	info := doc.Info
	if info == nil {
		info = &openapi3.Info{}
	}
	var head strings.Builder
	if !p.Server {
		fmt.Fprintf(&head, "// Package %s serves operations of an HTTP API as tools.\n"+
			"// mcpgen imports no access rules: the author of this file writes one for each tool.\n//\n"+
			"//mcp:server%s%s\n", p.Name,
			extension.Key("name", extension.Visible(info.Title)),
			extension.Key("version", extension.Visible(info.Version)))
	}
	start := ""
	if !p.Server {
		start = "//go:generate go tool mcpgen\n\n"
	}
	if files[toolsFile], err = source(head.String(), p.Name, start,
		w.tools.Bytes()); err != nil {
		return nil, w.notes, err
	}
	if w.types.Len() > 0 {
		if files[typesFile], err = source("", p.Name, "", w.types.Bytes()); err != nil {
			return nil, w.notes, err
		}
	}
	servers := "The document has no server.\n"
	if len(doc.Servers) > 0 {
		servers = "The document has:\n"
	}
	for i, server := range doc.Servers {
		if server != nil && i < 20 {
			servers += "  - " + w.bounded("server", extension.Visible(server.URL)) + "\n"
		}
	}
	helper, err := used(strings.Replace(upstream, "// SERVERS\n", extension.Comment(servers), 1),
		w.tools.String())
	if err == nil {
		files[upstreamFile], err = source("", p.Name, "", []byte(helper))
	}
	return files, w.notes, err
}

// imports are the packages that a file may need.
var imports = []string{"bytes", "context", "encoding/json", "errors", "fmt", "io", "log/slog",
	"net/http", "net/url", "reflect", "strconv", "strings", "time", "unicode"}

// source is the whole file, with the imports that its body needs.
func source(head, name, start string, body []byte) ([]byte, error) {
	declared, err := parsed(string(body))
	if err != nil {
		return nil, err
	}
	uses := func(name string) bool {
		return slices.ContainsFunc(declared, func(d declaration) bool { return d.uses[name+"."] })
	}
	var list string
	for _, path := range imports {
		if uses(filepath.Base(path)) {
			list += strconv.Quote(path) + "\n"
		}
	}
	if uses("toolset") {
		list += "\n\"github.com/mcpgen/mcpgen/runtime/toolset\"\n"
	}
	if list != "" {
		list = "import (\n" + list + ")\n"
	}
	return format.Source([]byte(head + "package " + name + "\n\n" + start + list + string(body)))
}

// declaration is a declaration with the names that it uses: with a dot before one that is selected,
// and a dot after one that is selected from.
type declaration struct {
	ast.Decl
	uses map[string]bool
}

const packageClause = "package p\n"

// parsed are the declarations of a file without a package clause.
func parsed(body string) (list []declaration, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", packageClause+body, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		uses := map[string]bool{}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				uses["."+n.Sel.Name] = true
				if x, ok := n.X.(*ast.Ident); ok {
					uses[x.Name+"."] = true
					return false
				}
			case *ast.Ident:
				uses[n.Name] = true
			}
			return true
		})
		list = append(list, declaration{d, uses})
	}
	return list, nil
}

// used is the helper without the funcs and methods that neither it nor the handlers use, which
// linters would report.
func used(helper, handlers string) (string, error) {
	others, err := parsed(handlers)
	if err != nil {
		return "", err
	}
	for {
		own, err := parsed(helper)
		if err != nil {
			return "", err
		}
		cut := ""
		for i, d := range own {
			f, ok := d.Decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				name = "." + name
			}
			if !slices.ContainsFunc(slices.Concat(others, own[:i], own[i+1:]),
				func(d declaration) bool { return d.uses[name] }) {
				cut = (packageClause + helper)[f.Doc.Pos()-1 : f.End()-1]
			}
		}
		if cut == "" {
			return helper, nil
		}
		helper = strings.Replace(helper, cut+"\n", "", 1)
	}
}

// full reports whether the files have more than maxOutput.
func (w *writer) full() bool {
	return w.fields > maxOutput || w.types.Len()+w.tools.Len() > maxOutput
}

func (w *writer) note(format string, args ...any) {
	if len(w.notes) == maxNotes {
		w.more++
		return
	}
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// maxText is a bound of a description, in bytes.
const maxText = 2000

// bounded is a description of at most maxText bytes.
func (w *writer) bounded(of, text string) string {
	if len(text) > maxText {
		w.note("%s: its description is cut to %d bytes", extension.Visible(of), maxText)
		text = strings.ToValidUTF8(text[:maxText], "") + " …"
	}
	return text
}

// unique is a free name, and takes it.
func (w *writer) unique(name string, others ...string) string {
	if len(name) > 80 {
		name = name[:80]
	}
	all := func(name string) []string {
		names := []string{name}
		for _, other := range others {
			names = append(names, strings.ReplaceAll(other, "*", name))
		}
		return names
	}
	name = extension.Unique(name, func(name string) bool {
		return slices.ContainsFunc(all(name), func(name string) bool { return w.taken[name] })
	})
	for _, name := range all(name) {
		w.taken[name] = true
	}
	return name
}

// methods are those that a tool can call, in the order of the handlers.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// operations are the chosen operations with their names, by path and method.
func (w *writer) operations(only []string) ([]*operation, error) {
	used := make([]bool, len(only))
	var list []*operation
	folded := map[string]bool{}
	paths := w.doc.Paths.Map()
	for _, name := range sortedKeys(paths) {
		item := paths[name]
		if item == nil {
			continue
		}
		all := item.Operations()
		for _, method := range methods {
			op := all[method]
			if op == nil {
				continue
			}
			delete(all, method)
			id := op.OperationID
			if id == "" {
				id = strings.ToLower(method) + " " + name
			}
			chosen := len(only) == 0
			for i, pattern := range only {
				for _, text := range append([]string{op.OperationID, method + " " + name},
					op.Tags...) {
					ok, err := path.Match(pattern, text)
					if err != nil {
						return nil, fmt.Errorf("--only %s: %w", pattern, err)
					}
					if ok && text != "" {
						used[i], chosen = true, true
					}
				}
			}
			if !chosen {
				continue
			}
			if !plainPath.MatchString(name) || dots.MatchString(name) {
				w.note("%s %+q is left out: its path is no plain path", method, name)
				continue
			}
			// Names of tools are in lower case.
			goName := extension.Unique(extension.Identifier(id, "Call"), func(name string) bool {
				return folded[strings.ToLower(name)]
			})
			goName = w.unique(goName, "*Input", "*Description", "Tool*")
			folded[strings.ToLower(goName)] = true
			if list = append(list, w.read(goName, method, name, item, op)); len(list) >
				maxOperations {
				return nil, fmt.Errorf("more than %d operations: choose with --only",
					maxOperations)
			}
		}
		for _, method := range sortedKeys(all) {
			if len(only) == 0 {
				w.note("%+q %+q is left out: no tool calls this method", method, name)
			}
		}
	}
	for i, pattern := range only {
		if !used[i] {
			return nil, fmt.Errorf("--only %s: no operation has this operationId, tag, or "+
				"method and path", pattern)
		}
	}
	return list, nil
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

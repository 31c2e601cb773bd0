package sourcehash

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Hash returns a digest of the source that generated code depends on and the compiler does not
// check.
//
// For the package in dir the digest covers its doc comment, every //mcp: directive with its
// declaration, and the names of exported funcs that have the shape of a handler (without these
// names if //mcp:server has unannotated=ignore). For each declaration in decls, by directory
// relative to dir, with slashes, it covers the doc comment, the comments of fields, the text with
// parameter names, and the constants of the type. It does not cover layout, func bodies, other
// declarations, line ends, the order of declarations, tests and files that mcpgen writes. A
// declaration counts as another one in a file that is not part of every build.
//
// A name of decls that ends in a dot, as in "Base.", is a type whose methods a served type has by
// embedding it: the digest covers the names of its handlers, and what it embeds itself.
//
// Of files, relative to dir with slashes, the digest covers the whole content except line ends.
//
// Of a file with a syntax error, the digest covers the part that parses: the compiler reports the
// rest. A directory or a file that cannot be read is an error.
func Hash(dir string, decls map[string][]string, files ...string) (string, error) {
	listed := map[string][]string{".": nil}
	var dirs []string
	for rel, names := range decls {
		listed[rel] = names
	}
	for rel := range listed {
		dirs = append(dirs, rel)
	}
	slices.Sort(dirs)
	digest := sha256.New()
	for _, rel := range dirs {
		facts, err := readDirectory(filepath.Join(dir, filepath.FromSlash(rel)), listed[rel],
			rel == ".")
		if err != nil {
			return "", fmt.Errorf("reading the source of generated code: %w", err)
		}
		slices.Sort(facts)
		fmt.Fprintf(digest, "%q %q\n", rel, facts)
	}
	for _, rel := range files {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(rel)))
		if err != nil {
			return "", fmt.Errorf("reading the source of generated code: %w", err)
		}
		fmt.Fprintf(digest, "%q %q\n", rel, bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")))
	}
	return version + hex.EncodeToString(digest.Sum(nil)[:16]), nil
}

// Digest returns a digest of a generated file without its line ends and its byte order mark. The
// compiler does not detect an access rule that was edited by hand.
func Digest(content []byte) string {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	sum := sha256.Sum256(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")))
	return version + hex.EncodeToString(sum[:16])
}

// readDirectory collects the facts of one package. own is true for the package with the
// directives.
func readDirectory(dir string, names []string, own bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	listed, served := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		listed[name] = true
		if recv, _, method := strings.Cut(name, "."); method {
			served[recv] = true
		}
	}
	var (
		readers   []*sourceReader
		constants = map[string]string{}
		aliases   = map[string]string{}
	)
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !isSource(name) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
		files := token.NewFileSet()
		parsed, _ := parser.ParseFile(files, name, source,
			parser.ParseComments|parser.SkipObjectResolution)
		if parsed == nil {
			continue
		}
		r := &sourceReader{
			file: parsed, listed: listed, served: served, own: own, source: source, files: files,
			owners: map[*ast.CommentGroup]string{}, constrained: isConstrained(name, parsed),
			context: map[string]bool{}, constants: constants, aliases: aliases,
		}
		r.readAliases()
		readers = append(readers, r)
	}
	// The type of a constant may be that of a constant of another file.
	for known := -1; known < len(constants); {
		known = len(constants)
		for _, r := range readers {
			r.eachConst(func(spec *ast.ValueSpec, typ string) {
				for _, name := range spec.Names {
					if typ != "" {
						constants[name.Name] = typ
					}
				}
			})
		}
	}
	unannotated := slices.ContainsFunc(readers, (*sourceReader).ignoresUnannotated)
	var facts []string
	for _, r := range readers {
		r.unannotated = unannotated
		r.readFile()
		facts = append(facts, r.facts...)
	}
	return facts, nil
}

// ignoresUnannotated reports whether the package doc of the file has unannotated=ignore.
func (r *sourceReader) ignoresUnannotated() bool {
	return r.file.Doc != nil && slices.ContainsFunc(r.file.Doc.List, func(c *ast.Comment) bool {
		words := strings.Fields(c.Text)
		return words[0] == "//mcp:server" && slices.Contains(words, "unannotated=ignore")
	})
}

// isSource reports whether a file's declarations count.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
		name[0] != '.' && name[0] != '_' && name != Code && name != "aa_mcp_error.go"
}

// isConstrained reports whether a file is not part of every build: it has a //go:build line, or its
// name ends in a system.
func isConstrained(name string, file *ast.File) bool {
	const systems = " aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd" +
		" openbsd plan9 solaris wasip1 windows zos 386 amd64 amd64p32 arm armbe arm64 arm64be" +
		" loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv" +
		" riscv64 s390 s390x sparc sparc64 wasm "
	name, _, _ = strings.Cut(name, ".")
	i := strings.LastIndexByte(name, '_')
	if i >= 0 && strings.Contains(systems, " "+name[i+1:]+" ") {
		return true
	}
	for _, group := range file.Comments {
		for _, line := range group.List {
			if line.Pos() < file.Package && strings.HasPrefix(line.Text, "//go:build ") {
				return true
			}
		}
	}
	return false
}

// sourceReader collects the facts of one file.
type sourceReader struct {
	file    *ast.File
	listed  map[string]bool // declarations that count, as in "Status" and "Service.Get"
	served  map[string]bool // types with such methods
	own     bool
	source  []byte
	files   *token.FileSet
	context map[string]bool // the names by which the file imports package context
	owners  map[*ast.CommentGroup]string
	facts   []string
	// constrained is true for a file that is not part of every build.
	constrained bool
	// unannotated is true in a package whose handlers without a directive do not count.
	unannotated bool
	// constants are those of the package with a type, by name, with their types.
	constants map[string]string
	// aliases are those of the package for its own types, by name.
	aliases map[string]string
}

// contextAlias is what an alias of context.Context stands for. It is no identifier.
const contextAlias = "context.Context"

// readAliases notes the aliases that the file declares, and its names of package context.
func (r *sourceReader) readAliases() {
	for _, spec := range r.file.Imports {
		if spec.Path.Value == `"context"` {
			name := "context"
			if spec.Name != nil {
				name = spec.Name.Name
			}
			r.context[name] = true
		}
	}
	for _, decl := range r.file.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
			for _, spec := range decl.Specs {
				spec := spec.(*ast.TypeSpec)
				name := typeName(spec.Type)
				if of, ok := ast.Unparen(spec.Type).(*ast.SelectorExpr); ok && r.isContext(of) {
					name = contextAlias
				}
				if spec.Assign.IsValid() && name != "" {
					r.aliases[spec.Name.Name] = name
				}
			}
		}
	}
}

// target returns the name of the type that an alias stands for, and other names as they are.
func (r *sourceReader) target(name string) string {
	for range len(r.aliases) { // a cycle, which the compiler reports, ends as well
		of, ok := r.aliases[name]
		if !ok {
			break
		}
		name = of
	}
	return name
}

// typeName is the name of a type of the package, without parentheses, pointer and type arguments.
// It is empty for other types.
func typeName(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.Ident:
		return typ.Name
	case *ast.ParenExpr:
		return typeName(typ.X)
	case *ast.StarExpr:
		return typeName(typ.X)
	case *ast.IndexExpr:
		return typeName(typ.X)
	case *ast.IndexListExpr:
		return typeName(typ.X)
	}
	return ""
}

func (r *sourceReader) add(parts ...string) {
	if r.constrained {
		parts = append(parts, "constrained")
	}
	r.facts = append(r.facts, fmt.Sprintf("%q", parts))
}

func (r *sourceReader) readFile() {
	file := r.file
	r.owners[file.Doc] = "package"
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil {
				name = r.target(receiverName(decl.Recv)) + "." + name
			}
			r.owners[decl.Doc] = name
			r.readFunc(name, decl.Type, decl.Doc, nil)
		case *ast.GenDecl:
			r.readGeneral(decl)
		}
	}
	if !r.own {
		return
	}
	if file.Doc != nil {
		r.add("package", prose(file.Doc))
	}
	for _, group := range file.Comments {
		if lines := directives(group); len(lines) > 0 {
			r.add(append([]string{"directives", r.owners[group]}, lines...)...)
		}
	}
}

// directives returns the directives in a comment, one a line.
func directives(group *ast.CommentGroup) (lines []string) {
	if group == nil {
		return nil
	}
	for _, line := range group.List {
		if strings.HasPrefix(line.Text, "//mcp:") {
			lines = append(lines, strings.TrimRight(line.Text, " \t"))
		}
	}
	return lines
}

// readFunc reads a func, a method or a method of an interface.
func (r *sourceReader) readFunc(name string, typ *ast.FuncType, doc, line *ast.CommentGroup) {
	if r.listed[name] {
		parts := []string{"func", name, prose(doc), prose(line), r.words(typ.Params.Pos(),
			typ.End())}
		r.add(append(parts, fieldComments(typ)...)...)
	}
	recv, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		method = name
	}
	if r.own && !r.unannotated && ast.IsExported(method) && (!isMethod || r.served[recv]) &&
		r.isHandler(typ) {
		r.add("handler", name)
	}
}

// fieldComments are the comments of all fields in a type.
func fieldComments(typ ast.Node) (comments []string) {
	ast.Inspect(typ, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok {
			comments = append(comments, prose(field.Doc), prose(field.Comment))
			comments = append(comments, directives(field.Doc)...)
		}
		return true
	})
	return comments
}

// isHandler reports whether a func takes a context first and returns an error last.
func (r *sourceReader) isHandler(typ *ast.FuncType) bool {
	if len(typ.Params.List) == 0 || typ.Results == nil || len(typ.Results.List) == 0 {
		return false
	}
	last, _ := ast.Unparen(typ.Results.List[len(typ.Results.List)-1].Type).(*ast.Ident)
	if last == nil || r.target(last.Name) != "error" {
		return false
	}
	switch first := ast.Unparen(typ.Params.List[0].Type).(type) {
	case *ast.SelectorExpr:
		return r.isContext(first)
	case *ast.Ident:
		name := r.target(first.Name)
		return name == contextAlias || r.context["."] && name == "Context"
	}
	return false
}

// isContext reports whether a name of another package is context.Context.
func (r *sourceReader) isContext(name *ast.SelectorExpr) bool {
	from, _ := name.X.(*ast.Ident)
	return from != nil && r.context[from.Name] && name.Sel.Name == "Context"
}

func (r *sourceReader) readGeneral(decl *ast.GenDecl) {
	switch decl.Tok {
	case token.TYPE:
		for _, spec := range decl.Specs {
			spec := spec.(*ast.TypeSpec)
			doc := spec.Doc
			if doc == nil {
				doc = decl.Doc
			}
			r.owners[doc] = spec.Name.Name
			r.readType(spec, doc)
		}
	case token.CONST:
		r.readConsts(decl)
	}
}

func (r *sourceReader) readType(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	name := spec.Name.Name
	if r.listed[name] {
		parts := []string{"type", name, prose(doc), r.words(spec.Pos(), spec.End())}
		r.add(append(parts, fieldComments(spec.Type)...)...)
	}
	if r.own && r.served[name] {
		r.readEmbedded(name, spec.Type)
	}
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	for _, field := range iface.Methods.List {
		typ, ok := field.Type.(*ast.FuncType)
		if !ok {
			continue
		}
		for _, method := range field.Names {
			r.owners[field.Doc] = name + "." + method.Name
			r.readFunc(name+"."+method.Name, typ, field.Doc, field.Comment)
		}
	}
}

// readEmbedded reads which types of the package a served type embeds.
func (r *sourceReader) readEmbedded(name string, typ ast.Expr) {
	var fields *ast.FieldList
	switch typ := typ.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		// The type has the fields of the type that it is declared as.
		if of := typeName(typ); of != "" {
			r.add("embeds", name, r.target(of))
		}
		return
	}
	for _, field := range fields.List {
		if of := typeName(field.Type); of != "" && len(field.Names) == 0 {
			r.add("embeds", name, r.target(of))
		}
	}
}

// readConsts reads the constants of listed types.
func (r *sourceReader) readConsts(decl *ast.GenDecl) {
	of := map[string][]string{}
	r.consts(decl, func(spec *ast.ValueSpec, typ string) {
		if r.listed[typ] {
			of[typ] = append(of[typ], r.words(spec.Pos(), spec.End()))
		}
	})
	if len(decl.Specs) > 0 {
		r.owners[decl.Doc] = "const " + decl.Specs[0].(*ast.ValueSpec).Names[0].Name
	}
	for name, specs := range of {
		r.add(append([]string{"const", name}, specs...)...)
	}
}

// eachConst calls f for each specification of constants in the file, with the name of their type.
func (r *sourceReader) eachConst(f func(spec *ast.ValueSpec, typ string)) {
	for _, decl := range r.file.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.CONST {
			r.consts(decl, f)
		}
	}
}

// consts is eachConst for one declaration. A constant without type and value repeats those of the
// one before it.
func (r *sourceReader) consts(decl *ast.GenDecl, f func(spec *ast.ValueSpec, typ string)) {
	current := ""
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ValueSpec)
		if spec.Type != nil || len(spec.Values) > 0 {
			current = r.constType(spec)
		}
		f(spec, current)
	}
}

// constType names the type of a constant: the one written, that of a conversion, or that of a
// constant in its value.
func (r *sourceReader) constType(spec *ast.ValueSpec) string {
	typ := spec.Type
	if typ == nil && len(spec.Values) > 0 {
		if call, ok := ast.Unparen(spec.Values[0]).(*ast.CallExpr); ok {
			typ = call.Fun
		}
	}
	if name, ok := ast.Unparen(typ).(*ast.Ident); ok {
		return r.target(name.Name)
	}
	found := ""
	for _, value := range spec.Values {
		ast.Inspect(value, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && found == "" {
				found = r.constants[name.Name]
			}
			return found == ""
		})
	}
	return found
}

// receiverName is the type of a receiver, without pointer and type parameters.
func receiverName(recv *ast.FieldList) string {
	name := ""
	if len(recv.List) > 0 {
		ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
			if ident, ok := n.(*ast.Ident); ok && name == "" {
				name = ident.Name
			}
			return name == ""
		})
	}
	return name
}

// words returns the tokens of a piece of source in the form of gofmt: without comments, without a
// comma or semicolon that only a line end requires, numbers in lower case.
func (r *sourceReader) words(from, to token.Pos) string {
	start, end := r.files.Position(from).Offset, r.files.Position(to).Offset
	piece := r.source[start:max(start, end)]
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(piece)), piece, nil, 0)
	var words []string
	for {
		_, tok, text := s.Scan()
		switch tok {
		case token.INT, token.FLOAT, token.IMAG:
			text = strings.ToLower(text)
		case token.SEMICOLON, token.EOF:
			text = ";"
		case token.RPAREN, token.RBRACE:
			if last := len(words) - 1; last >= 0 && (words[last] == "," || words[last] == ";") {
				words = words[:last]
			}
		}
		if text == "" {
			text = tok.String()
		}
		if tok == token.EOF {
			return strings.TrimRight(strings.Join(words, " "), " ;")
		}
		words = append(words, text)
	}
}

// prose is the text of a comment as gofmt would write it, without directives.
func prose(group *ast.CommentGroup) string {
	var p comment.Parser
	var printer comment.Printer
	return string(printer.Comment(p.Parse(group.Text())))
}

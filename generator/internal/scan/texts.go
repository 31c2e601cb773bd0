package scan

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/doc"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// text returns the value of a key. A bare @Name is the value of a constant of the package.
func (s *scanner) text(d *directive.Directive, key string) string {
	arg, ok := d.Arg(key)
	if !ok {
		return ""
	}
	value := arg.Values[0]
	name, constantName := strings.CutPrefix(value.Text, "@")
	if value.Quoted || !constantName {
		return value.Text
	}
	return s.constant(arg, key, name)
}

// constant returns the value of the constant that a key names.
func (s *scanner) constant(arg directive.Arg, key, name string) string {
	bad := func(fix, format string) {
		s.report(diag.BadValue, arg.Span, fix, format, key, name)
	}
	c, _ := s.pkg.Types.Scope().Lookup(name).(*types.Const)
	if found := s.prog.ConditionalConst(s.pkg, name); len(found) > 0 {
		s.lacking(found, "a text")
		return ""
	}
	if c != nil && isUnknown(c) {
		if !s.incomplete() {
			bad(otherVersion, "%s=@%s has no known value: a package of another module does not compile")
		}
		return name // in place of the value
	}
	if c == nil || c.Val().Kind() != constant.String {
		bad("declare the constant in this package, or quote a text that begins with @",
			"%s=@%s is not a string constant of the package")
		return ""
	}
	text := strings.TrimSpace(constant.StringVal(c.Val()))
	if text == "" {
		bad("write a text", "%s=@%s is an empty constant")
	} else if at, hidden := model.Hidden(text); at >= 0 {
		s.report(diag.HiddenText, arg.Span, model.HiddenCure, "the constant %s has %s", name,
			hidden)
	}
	if !slices.Contains(s.texts, c) {
		s.texts = append(s.texts, c)
	}
	return text
}

// synopsis returns the first sentence of a package doc, without the words that begin it in Go.
func synopsis(group *ast.CommentGroup, pkg, command string) string {
	text := new(doc.Package).Synopsis(schema.Description(group.Text()))
	for _, name := range []string{"Package " + pkg, "Command " + command} {
		text = schema.WithoutName(text, name)
	}
	return text
}

// comments is the program as the source of comments for schemas. It reports hidden characters.
type comments struct {
	*load.Program
	scanner *scanner
}

var _ schema.Source = comments{}

func (c comments) TypeDoc(name *types.TypeName) string { return c.doc(name) }

func (c comments) FieldDoc(field *types.Var) string { return c.doc(field) }

// doc reports hidden characters of the author's own comments. Package schema leaves out comments of
// others that have them.
func (c comments) doc(of types.Object) string {
	group := c.Comment(of)
	if c.Local(of.Pkg()) {
		c.scanner.visible(group)
	}
	return group.Text()
}

// visible reports hidden characters of a comment, once a line.
func (s *scanner) visible(group *ast.CommentGroup) {
	if group == nil {
		return
	}
	for _, comment := range group.List {
		if at, name := model.Hidden(comment.Text); at >= 0 && !directive.Is(comment) {
			place := s.at(directive.Span{Pos: comment.Slash + token.Pos(at)})
			s.hidden(place, "the comment has %s", name)
		}
	}
}

// hidden reports a hidden character. Two tools may share a type or a file.
func (s *scanner) hidden(place model.Position, format, name string) {
	if !s.reported(diag.HiddenText, place) {
		s.Findings.Add(diag.HiddenText, place, model.HiddenCure, format, name)
	}
}

// hiddenInFile reports hidden characters in the strings of a schema by hand.
func (s *scanner) hiddenInFile(path string, text []byte) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return // the end, or what ReadWritten reports
		}
		value, _ := token.(string)
		if at, name := model.Hidden(value); at >= 0 {
			s.hidden(inText(path, text, int(d.InputOffset())-1), "the schema has %s", name)
		}
	}
}

package scan

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/schema"
)

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

// description is what a comment tells clients.
func (s *scanner) description(group *ast.CommentGroup) string {
	s.visible(group)
	return schema.Description(group.Text())
}

// visible reports hidden characters of a comment, once a line.
func (s *scanner) visible(group *ast.CommentGroup) {
	if group == nil {
		return
	}
	for _, comment := range group.List {
		if at, name := model.Hidden(comment.Text); at >= 0 && !directive.Is(comment) {
			place := s.at(comment.Slash+token.Pos(at), token.NoPos)
			s.hidden(place, "the comment has %s", name)
		}
	}
}

// hidden reports a hidden character. Two tools may share a type or a file.
func (s *scanner) hidden(place model.Position, format, name string) {
	for _, d := range *s.out {
		if d.Code == diag.HiddenText && d.Pos == place {
			return
		}
	}
	s.out.Add(diag.HiddenText, place, model.HiddenCure, format, name)
}

// enums reports hidden characters in the values of enums.
func (s *scanner) enums() {
	for _, c := range s.walker.Enums() {
		if at, name := model.Hidden(constant.StringVal(c.Val())); at >= 0 {
			s.hidden(s.at(c.Pos(), c.Pos()+token.Pos(len(c.Name()))), "the value of the enum has %s", name)
		}
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

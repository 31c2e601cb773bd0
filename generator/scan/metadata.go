package scan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"go/constant"
	"go/types"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
)

// metadata reads what clients and people see of a tool besides its schemas.
func (s *scanner) metadata(d *decl, written *directive.Directive, t *model.Tool) {
	t.AnnotationTitle = written.Text("annotationtitle")
	t.Elicits = written.Has("elicits")
	t.Lenient = written.Hint("lenient")
	if t.Lenient == nil && d.recv != nil {
		t.Lenient = s.lenient[d.recv.Name()]
	}
	t.Lenient = cmp.Or(t.Lenient, s.lenient[""])
	t.Aliases = slices.Sorted(slices.Values(written.List("alias")))
	for _, alias := range t.Aliases {
		if !toolName.MatchString(alias) {
			s.report(diag.BadToolName, written.Pos, written.End, "write the old name of the tool, "+
				"of ASCII letters, digits, underscore, hyphen and dot",
				"alias=%s is not an MCP tool name", alias)
		}
	}
	t.Icons = s.icons(d)
	t.Meta = s.meta(d)
}

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
	bad := func(fix, format string) {
		s.report(diag.BadValue, arg.Pos, arg.End, fix, format, key, name)
	}
	c, _ := s.pkg.Types.Scope().Lookup(name).(*types.Const)
	if c == nil || c.Val().Kind() != constant.String {
		bad("declare the constant in this package, or quote a text that begins with @",
			"%s=@%s is not a string constant of the package")
		return ""
	}
	text := strings.TrimSpace(constant.StringVal(c.Val()))
	if f := s.pkg.FileOf(s.prog.Fset, c.Pos()); f != nil && f.Constrained {
		bad("move the constant into a file that every build has",
			"%s=@%s is a constant in a file that is not part of every build")
	} else if text == "" {
		bad("write a text", "%s=@%s is an empty constant")
	} else if at, hidden := model.Hidden(text); at >= 0 {
		s.report(diag.HiddenText, arg.Pos, arg.End, model.HiddenCure, "the constant %s has %s",
			name,
			hidden)
	}
	if !slices.Contains(s.texts, c) {
		s.texts = append(s.texts, c)
	}
	return text
}

// icons reads the icons of a tool or of the server.
func (s *scanner) icons(d *decl) (icons []model.Icon) {
	for _, found := range d.directives {
		if found.Name != "icon" || found.Broken {
			continue
		}
		icon := model.Icon{Source: s.text(found, "src"), MIMEType: found.Text("mimetype"),
			Sizes: found.List("sizes"), Theme: found.Text("theme")}
		u, err := url.Parse(icon.Source)
		switch {
		case icon.Source == "": // reported
		case err != nil, u.Scheme != "data" && (u.Scheme != "https" || u.Host == ""):
			s.report(diag.BadValue, found.Pos, found.End,
				"write src=https://… or src=data:…; clients load no other icons",
				"//mcp:icon has a source that is neither an https nor a data URI")
		}
		icons = append(icons, icon)
	}
	return icons
}

// meta reads the _meta of a tool, as compact JSON with sorted keys; "" without one.
func (s *scanner) meta(d *decl) string {
	members := map[string]json.RawMessage{}
	for _, found := range d.directives {
		if found.Name != "meta" || found.Broken {
			continue
		}
		bad := func(fix, format string) {
			s.report(diag.BadValue, found.Pos, found.End, fix, format, found.Subject.Text)
		}
		name := found.Subject.Text
		text := []byte(s.text(found, "json"))
		switch prefix, _, prefixed := strings.Cut(name, "/"); {
		case found.Has("json") == found.Has("value"):
			bad("write value= for a text, or json= for any other value",
				"//mcp:meta %s needs one of value= and json=")
			continue
		case members[name] != nil:
			s.report(diag.Duplicate, found.Pos, found.End, "remove one of the two",
				"//mcp:meta %s is written twice", name)
			continue
		case prefixed && reservedPrefix(prefix):
			bad("use a prefix from your own domain, for example com.example/",
				"//mcp:meta %s has a reserved prefix")
			continue
		case found.Has("value"):
			text, _ = json.Marshal(s.text(found, "value"))
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil {
			bad("write one JSON value in backquotes", "the json= of //mcp:meta %s is not JSON")
			continue
		}
		members[name] = compact.Bytes()
	}
	if len(members) == 0 {
		return ""
	}
	text, _ := json.Marshal(members) // valid JSON by now
	return string(text)
}

// reservedPrefix reports a prefix that the protocol (specification 2025-11-25, basic, _meta) or
// mcpgen keeps for itself.
func reservedPrefix(prefix string) bool {
	labels := strings.Split(prefix, ".")
	return len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp") ||
		prefix == "io.github.mcpgen"
}

// website reads the URL of the server's website.
func (s *scanner) website(d *directive.Directive) string {
	text := d.Text("website")
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		arg, _ := d.Arg("website")
		s.report(diag.BadValue, arg.Pos, arg.End, "write website=https://…",
			"website=%s is not the URL of a website", text)
	}
	return text
}

// describe returns the description that a directive has, or else that of the doc comment.
func (s *scanner) describe(d *decl, written *directive.Directive) string {
	comment := s.description(d.doc)
	return cmp.Or(s.text(written, "description"), comment)
}

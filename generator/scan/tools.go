package scan

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/spell"
)

// defaultTimeout bounds calls of tools that write no //mcp:limit timeout=.
const defaultTimeout = 30 * time.Second

// tools reads every func, method and interface method of the package.
func (s *scanner) tools() {
	served := map[string]bool{}
	for _, d := range s.decls {
		if d.recv != nil && d.find("tool") != nil {
			served[d.recv.Name()] = true
		}
	}
	for _, d := range s.decls {
		if d.place != directive.Func && d.place != directive.InterfaceMethod || d.fn == nil {
			continue
		}
		tool, ignore := d.find("tool"), d.find("ignore")
		switch {
		case tool != nil:
			s.tool(d, tool)
		case ignore != nil:
			s.ignore(d, ignore)
		case !d.attempted && isHandler(d.fn.Signature()) && ast.IsExported(d.fn.Name()) &&
			(d.recv == nil || served[d.recv.Name()]):
			s.report(diag.MissingDirective, d.name.Pos(), d.name.End(),
				`serve it with //mcp:tool and an access rule, or take it out with //mcp:ignore reason="…"`,
				"handler %s has no //mcp:tool and no //mcp:ignore", handlerName(d))
		}
	}
	slices.SortFunc(s.service.Tools, func(a, b model.Tool) int {
		return strings.Compare(a.Name+"\x00"+a.Handler.String(), b.Name+"\x00"+b.Handler.String())
	})
	slices.SortFunc(s.service.Ignored, func(a, b model.Ignored) int { return strings.Compare(a.Handler, b.Handler) })
	s.toolConstants()
}

func handlerName(d *decl) string {
	h := model.Handler{Name: d.fn.Name()}
	if d.recv != nil {
		h.Recv = d.recv.Name()
	}
	return h.String()
}

func (s *scanner) ignore(d *decl, ignore *directive.Directive) {
	if !isHandler(d.fn.Signature()) {
		if !invalid(d.fn.Signature()) {
			s.report(diag.Misplaced, ignore.Pos, ignore.End, "remove it",
				"%s is no handler, so that there is nothing to ignore", handlerName(d))
		}
		return
	}
	if d.file.Constrained {
		return // what is not in every build is in no manifest
	}
	s.service.Ignored = append(s.service.Ignored, model.Ignored{
		Handler: handlerName(d), Reason: ignore.Text("reason"), Pos: s.at(ignore.Pos, ignore.End),
	})
}

func (s *scanner) tool(d *decl, written *directive.Directive) {
	t := model.Tool{
		Name: written.Text("name"), Title: written.Text("title"),
		Description: load.PlainText(d.doc),
		Denial:      written.Text("denial"),
		Hints: model.Hints{
			ReadOnly: written.Hint("readonly"), Destructive: written.Hint("destructive"),
			Idempotent: written.Hint("idempotent"), OpenWorld: written.Hint("openworld"),
		},
		Limits:  model.Limits{Timeout: defaultTimeout},
		Handler: model.Handler{Name: d.fn.Name(), Pos: s.at(d.name.Pos(), d.name.End())},
		Pos:     s.at(written.Pos, written.End),
	}
	if t.Name == "" {
		t.Name = snake(d.fn.Name())
	}
	t.Name = s.service.Server.Prefix + t.Name
	if !toolName.MatchString(t.Name) && d.fn.Name() != "_" {
		s.report(diag.BadToolName, written.Pos, written.End, "write another name=, of ASCII letters, digits, underscore, hyphen and dot",
			"%q is no MCP tool name", t.Name)
	}
	if limit := d.find("limit"); limit != nil {
		if timeout, ok := limit.Duration("timeout"); ok {
			t.Limits.Timeout = timeout
		}
	}
	t.Access = s.rule(written).over(s.inherited(d)).access(d.fn.Name(), s.service.Server.App)
	t.Access.Constrained = written.Has("constrained")
	if d.recv != nil {
		t.Handler.Recv = d.recv.Name()
		t.Handler.PointerRecv = isPointer(d.fn.Signature().Recv().Type())
	}
	t.Handler.Signature = spell.Type(unnamed(d.fn.Signature()), s.pkg.Types)
	s.hand = s.byHand(d)
	s.signature(d, &t)
	if written.Broken {
		return
	}
	s.handlers = append(s.handlers, d.fn)
	s.service.Tools = append(s.service.Tools, t)
}

// toolConstants names the constants of the tool names: ToolGet, and with the receiver type
// inserted where two handlers would share one, ToolSitesGet.
func (s *scanner) toolConstants() {
	tools := s.service.Tools
	count := map[string]int{}
	for _, t := range tools {
		count[upperFirst(t.Handler.Name)]++
	}
	owner := map[string]string{}
	for i := range tools {
		h := tools[i].Handler
		name := "Tool" + upperFirst(h.Name)
		if h.Recv != "" && count[upperFirst(h.Name)] > 1 {
			name = "Tool" + upperFirst(h.Recv) + upperFirst(h.Name)
		}
		tools[i].Const = name
		if other, taken := owner[name]; taken {
			s.out.Add(diag.NameTaken, tools[i].Handler.Pos, "rename one of the two", "%s and %s would both get the constant %s", other, h, name)
			continue
		}
		owner[name] = h.String()
	}
}

// params returns the //mcp:param directives of a handler by parameter name, and reports those
// that name none of the parameters.
func (s *scanner) params(d *decl, known []string) map[string]*directive.Directive {
	list := map[string]*directive.Directive{}
	for _, found := range d.directives {
		if found.Name != "param" || found.Subject.Text == "" {
			continue
		}
		name := found.Subject
		switch {
		case len(known) == 0:
			s.report(diag.UnknownParameter, name.Pos, name.End, "put a jsonschema tag on the field of the input type instead",
				"//mcp:param describes plain parameters, and %s has none", handlerName(d))
		case !slices.Contains(known, name.Text):
			s.report(diag.UnknownParameter, name.Pos, name.End, directive.Nearest("", name.Text, known),
				"%s has no parameter %s", handlerName(d), name.Text)
		case list[name.Text] != nil:
			s.report(diag.Duplicate, found.Pos, token.NoPos, "remove one of the two", "//mcp:param %s stands twice", name.Text)
		default:
			list[name.Text] = found
		}
	}
	return list
}

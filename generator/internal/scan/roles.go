package scan

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
)

// defaultRoles is the hierarchy of packages that declare none.
var defaultRoles = []string{"Viewer", "Member", "Manager", "Admin"}

// hierarchy reads //mcp:roles.
func (s *scanner) hierarchy() {
	roles := &s.Service.Roles
	roles.Names = slices.Clone(defaultRoles)
	d, stands := s.single("roles")
	if d == nil {
		return
	}
	roles.Own = true
	roles.Pos = s.at(d.Span)
	if d.Broken {
		roles.Names = nil // unknown: no role can be judged
		return
	}
	switch {
	case stands.Place == directive.PackageDoc && len(d.Chain) == 0:
		roles.Names = nil
		s.report(diag.BadHierarchy, d.Span, "write the roles lowest first, for example "+
			d.Spec.Example, "//mcp:roles has no role")
	case stands.Place == directive.PackageDoc:
		roles.Names = nil
		for _, v := range d.Chain {
			roles.Names = append(roles.Names, v.Text)
		}
	case len(d.Chain) > 0:
		roles.Names = nil
		s.report(diag.BadHierarchy, d.Span,
			"write //mcp:roles without names: the constants are the roles",
			"//mcp:roles on a const block has names of roles")
	default:
		s.constants(stands, d)
	}
}

// constants reads the hierarchy from a const block of one named integer type.
func (s *scanner) constants(block *annotated.Decl, d *directive.Directive) {
	s.Service.Roles.Names = nil
	bad := func(pos token.Pos, fix, format string, args ...any) {
		s.report(diag.BadHierarchy, directive.Span{Pos: pos}, fix, format, args...)
	}
	list, typ := s.integers(block.Block)
	for _, c := range list {
		if found := s.prog.ConditionalConst(s.pkg, c.Name()); len(found) > 0 {
			s.lacking(found, "the role "+c.Name())
			return
		}
	}
	if i := slices.IndexFunc(list, isUnknown); i >= 0 {
		if !s.incomplete() {
			bad(list[i].Pos(), otherVersion,
				"the value of role %s is not known: a package of another module does not compile",
				list[i].Name())
		}
		return
	}
	if typ == nil {
		bad(d.Pos, "give every constant of the block one named integer type of this package",
			"//mcp:roles is on constants without a common named integer type")
		return
	}
	if len(list) == 0 {
		bad(d.Pos, "declare the roles as constants", "//mcp:roles is on a block without constants")
		return
	}
	slices.SortStableFunc(list, byValue)
	for i, c := range list {
		if i > 0 && byValue(list[i-1], c) == 0 {
			bad(c.Pos(), "give every role a different value", "the roles %s and %s have the same value",
				list[i-1].Name(), c.Name())
			return
		}
		if c.Name() == model.Lowest || c.Name() == model.Highest {
			bad(c.Pos(), "rename the role", "the role name %s is reserved", c.Name())
			return
		}
	}
	for _, c := range list {
		s.Service.Roles.Names = append(s.Service.Roles.Names, c.Name())
	}
	s.roleType, s.roleVals = typ, list
}

// role reports a role that the hierarchy does not have.
func (s *scanner) role(d *directive.Directive, arg directive.Arg) {
	name := arg.Values[0].Text
	if name == model.Lowest || name == model.Highest {
		return
	}
	roles := &s.Service.Roles
	roles.Own = true
	if slices.Contains(roles.Names, name) || len(roles.Names) == 0 {
		return
	}
	d.Broken = true
	fix := directive.Nearest("", name, roles.Names)
	if name == directive.FillIn {
		fix = "replace minrole=" + name + " by a rule: public, authenticated, scopes=, action=, or " +
			"minrole= with a role"
	}
	s.report(diag.UnknownRole, arg.Values[0].Span, fix,
		"unknown role %s in %s", name, strings.Join(roles.Names, " < "))
}

// rank is the position of a role in the hierarchy, from 1, and 0 without a role.
func (s *scanner) rank(role string) int {
	names := s.Service.Roles.Names
	if i := slices.Index(names, role); i >= 0 {
		return i + 1
	}
	return map[string]int{model.Lowest: 1, model.Highest: len(names)}[role]
}

// integers returns the constants of a block when all of them, blank ones apart, have one named
// integer type of this package, and that type; nil otherwise.
func (s *scanner) integers(block *ast.GenDecl) ([]*types.Const, *types.TypeName) {
	var (
		list []*types.Const
		typ  *types.TypeName
	)
	for _, spec := range block.Specs {
		for _, id := range spec.(*ast.ValueSpec).Names {
			c, ok := s.pkg.Info.Defs[id].(*types.Const)
			if !ok {
				return nil, nil
			}
			named, ok := types.Unalias(c.Type()).(*types.Named)
			switch {
			case isUnknown(c):
			case !ok, named.Obj().Pkg() != s.pkg.Types, c.Val().Kind() != constant.Int,
				typ != nil && named.Obj() != typ:
				return nil, nil
			default:
				typ = named.Obj()
			}
			if id.Name != "_" {
				list = append(list, c)
			}
		}
	}
	return list, typ
}

// otherVersion is the cure for a constant whose value needs a package that does not compile.
const otherVersion = "use another version of the module that its value needs"

// incomplete reports whether the package, or one of this run's module that it imports, lacks a
// constant of the next generation or does not type-check, which is reported.
func (s *scanner) incomplete() bool {
	return s.pkg.Ungenerated || len(s.pkg.TypeErrors) > 0 ||
		slices.ContainsFunc(s.prog.Imports(s.pkg), func(p *load.Package) bool {
			return p.Local && (p.Ungenerated || len(p.TypeErrors) > 0)
		})
}

func isUnknown(c *types.Const) bool { return c.Val().Kind() == constant.Unknown }

func byValue(a, b *types.Const) int {
	return constant.Sign(constant.BinaryOp(a.Val(), token.SUB, b.Val()))
}

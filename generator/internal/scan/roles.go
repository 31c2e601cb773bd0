package scan

import (
	"cmp"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// defaultRoles is the hierarchy of packages that declare none.
var defaultRoles = []string{"Viewer", "Member", "Manager", "Admin"}

// chain is a line of roles, with the places of the line and of each role.
type chain struct {
	line  directive.Span
	roles []directive.Value
}

// hierarchy reads //mcp:roles: a const block, which is the main chain, and the lines of the package
// doc.
func (s *scanner) hierarchy() {
	roles := &s.Service.Roles
	roles.Chains = [][]string{defaultRoles}
	defer func() { s.order = roles.Order() }()
	chains, sound := s.chains()
	if !roles.Own {
		return
	}
	if roles.Chains = nil; !sound {
		return // unknown: no role can be judged
	}
	lists := make([][]string, len(chains))
	for i, c := range chains {
		for _, v := range c.roles {
			lists[i] = append(lists[i], v.Text)
		}
	}
	_, problems := roleorder.New(lists)
	for _, p := range problems {
		span := chains[p.Chain].line
		if p.At >= 0 {
			span = chains[p.Chain].roles[p.At].Span
		}
		s.report(diag.BadHierarchy, span, p.Cure, "%s", p.Text)
	}
	if len(problems) == 0 {
		roles.Chains = lists
	}
}

// chains returns the lines of //mcp:roles, the main chain first, and false after a finding.
func (s *scanner) chains() (chains []chain, sound bool) {
	var block, doc *directive.Directive
	roles := &s.Service.Roles
	sound = true
	bad := func(d *directive.Directive, fix, message string) {
		s.report(diag.BadHierarchy, d.Span, fix, "%s", message)
		sound = false
	}
	for _, decl := range s.decls {
		of := doc // the lines are in the doc of one file: the first one is the main chain
		for _, d := range decl.Directives {
			if d.Name != "roles" {
				continue
			}
			if !roles.Own {
				roles.Own, roles.Pos = true, s.at(d.Span)
			}
			switch onBlock := decl.Place == directive.ConstBlock; {
			case d.Broken:
				sound = false
			case onBlock && block != nil:
				s.report(diag.Duplicate, d.Span, "remove one of the two",
					"the package has another //mcp:roles at %s", s.short(block.Pos))
			case !onBlock && of != nil:
				s.report(diag.Duplicate, d.Span, "write all lines in the package doc of one file: the "+
					"first is the main chain", "the package doc of another file has //mcp:roles at %s",
					s.short(of.Pos))
			case onBlock && len(d.Chain) > 0:
				bad(d, "write //mcp:roles without names: the constants are the main chain, and further "+
					"lines are in the package doc", "//mcp:roles on a const block has names of roles")
			case onBlock:
				block = d
				constants := s.constants(decl, d)
				sound = sound && constants != nil
				chains = slices.Insert(chains, 0, chain{d.Span, constants})
			case len(d.Chain) == 0:
				bad(d, "write the roles lowest first, for example "+d.Spec.Example,
					"//mcp:roles has no role")
			default:
				doc = cmp.Or(doc, d)
				chains = append(chains, chain{d.Span, d.Chain})
			}
		}
	}
	return chains, sound
}

// constants reads the main chain from a const block of one named integer type, or reports why it
// cannot.
func (s *scanner) constants(block *annotated.Decl, d *directive.Directive) []directive.Value {
	bad := func(pos token.Pos, fix, format string, args ...any) []directive.Value {
		s.report(diag.BadHierarchy, directive.Span{Pos: pos}, fix, format, args...)
		return nil
	}
	list, typ := s.integers(block.Block)
	for _, c := range list {
		if found := s.prog.ConditionalConst(s.pkg, c.Name()); len(found) > 0 {
			s.lacking(found, "the role "+c.Name())
			return nil
		}
	}
	if i := slices.IndexFunc(list, isUnknown); i >= 0 {
		if !s.incomplete() {
			bad(list[i].Pos(), otherVersion,
				"the value of role %s is not known: a package of another module does not compile",
				list[i].Name())
		}
		return nil
	}
	if typ == nil {
		return bad(d.Pos, "give every constant of the block one named integer type of this package",
			"//mcp:roles is on constants without a common named integer type")
	}
	if len(list) == 0 {
		return bad(d.Pos, "declare the roles as constants",
			"//mcp:roles is on a block without constants")
	}
	slices.SortStableFunc(list, byValue)
	var roles []directive.Value
	for i, c := range list {
		if i > 0 && byValue(list[i-1], c) == 0 {
			return bad(c.Pos(), "give every role a different value",
				"the roles %s and %s have the same value", list[i-1].Name(), c.Name())
		}
		if c.Name() == model.Lowest || c.Name() == model.Highest {
			return bad(c.Pos(), "rename the role", "the role name %s is reserved", c.Name())
		}
		roles = append(roles, directive.Value{Text: c.Name(), Span: directive.Span{Pos: c.Pos()}})
	}
	s.roleType, s.roleVals = typ, list
	return roles
}

// role reports roles of minrole= that the hierarchy does not have, and those that another one of
// them holds as well.
func (s *scanner) role(d *directive.Directive, arg directive.Arg) {
	roles := &s.Service.Roles
	for _, v := range arg.Values {
		if v.Text == model.Lowest || v.Text == model.Highest {
			continue
		}
		roles.Own = true
		names := s.order.Names()
		if slices.Contains(names, v.Text) || len(names) == 0 {
			continue
		}
		d.Broken = true
		fix := directive.Nearest("", v.Text, names)
		if v.Text == directive.FillIn {
			fix = "replace minrole=" + v.Text + " by a rule: public, authenticated, scopes=, action=, " +
				"or minrole= with a role"
		}
		s.report(diag.UnknownRole, v.Span, fix,
			"unknown role %s in %s", v.Text, roleorder.Text(roles.Chains))
	}
	for i, v := range arg.Values {
		others := slices.Delete(slices.Clone(arg.Values), i, i+1)
		at := slices.IndexFunc(others, func(o directive.Value) bool {
			return s.implies([]string{v.Text}, []string{o.Text})
		})
		if at >= 0 {
			d.Broken = true
			s.report(diag.Contradiction, v.Span, "remove one of the two: a caller needs one role of the "+
				"list", "%s has the rights of %s, which is in the list of minrole= too", v.Text,
				others[at].Text)
			return
		}
	}
}

// implies reports whether a caller with one of some roles has the rights of one of others. Nobody
// is known to have any by no role.
func (s *scanner) implies(some, others []string) bool {
	return len(some) > 0 && s.order.Implies(s.order.Resolve(some), s.order.Resolve(others))
}

// inclusions reads //mcp:scopes, of the package docs of all files.
func (s *scanner) inclusions() {
	scopes := &s.Service.Scopes
	var lines []*directive.Directive
	var texts [][]string
	sound := true
	for _, decl := range s.decls {
		for _, d := range decl.Directives {
			if d.Name != "scopes" || decl.Place != directive.PackageDoc {
				continue
			}
			if lines == nil {
				scopes.Pos = s.at(d.Span)
			}
			var line []string
			for _, v := range d.Chain {
				line = append(line, v.Text)
			}
			lines, texts, sound = append(lines, d), append(texts, line), sound && !d.Broken
		}
	}
	if !sound {
		return
	}
	order, problems := scopeorder.New(texts)
	for _, p := range problems {
		span := lines[p.Line].Span
		if p.At >= 0 {
			span = lines[p.Line].Chain[p.At].Span
		}
		s.report(diag.BadHierarchy, span, p.Cure, "%s", p.Text)
	}
	if len(problems) == 0 {
		scopes.Lines, s.scopes = texts, order
	}
}

// alternatives compiles scopes= and anyscope= of a directive, and reports scopes without an effect.
func (s *scanner) alternatives(d *directive.Directive) [][]string {
	all, one := d.List("scopes"), d.List("anyscope")
	alternatives, few := s.scopes.Alternatives(all, one)
	if !few {
		s.tooMany(d)
		return [][]string{slices.Concat(all, one)}
	}
	bad := func(span directive.Span, cure, format string, args ...any) {
		d.Broken = true
		s.report(diag.Contradiction, span, cure, format, args...)
	}
	without := func(list []string, i int) []string {
		return slices.Delete(slices.Clone(list), i, i+1)
	}
	if arg, ok := d.Arg("anyscope"); ok && len(all) > 0 {
		needed, few := s.scopes.Alternatives(all, nil)
		if few && scopeorder.Implies(needed, alternatives) {
			bad(arg.Span, "remove anyscope=", "anyscope= needs nothing beyond scopes=")
			return alternatives
		}
	}
	for _, key := range []string{"scopes", "anyscope"} {
		arg, _ := d.Arg(key)
		for i, v := range arg.Values {
			if key == "scopes" {
				rest, few := s.scopes.Alternatives(without(all, i), one)
				if few && len(rest) > 0 && scopeorder.Implies(rest, alternatives) {
					bad(v.Span, "remove it", "each token with the other scopes of the rule has %s too",
						v.Text)
					return alternatives
				}
			} else if len(one) > 1 {
				rest, few := s.scopes.Alternatives(all, without(one, i))
				if few && scopeorder.Implies(alternatives, rest) {
					bad(v.Span, "remove it", "%s in anyscope= admits no further token", v.Text)
					return alternatives
				}
			}
		}
	}
	return alternatives
}

// tooMany reports a rule with more alternatives than a table may have.
func (s *scanner) tooMany(d *directive.Directive) {
	d.Broken = true
	s.report(diag.OutOfRange, d.Span,
		"shorten anyscope=, or the lines of //mcp:scopes about its scopes",
		"the rule has more than %d alternatives of scopes", scopeorder.Most)
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

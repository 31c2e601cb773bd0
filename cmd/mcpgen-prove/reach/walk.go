package reach

import (
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	cpb "github.com/google/capslock/proto"
	"golang.org/x/tools/go/ssa"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// walk searches from one handler, breadth first: so it finds the shortest way to a capability
// first.
type walk struct {
	*graph
	tool  extension.Tool
	from  map[*ssa.Function]call
	queue []*ssa.Function
	found map[string]extension.Reach
	given map[any]bool // values whose methods are followed
}

// call is how a func was reached.
type call struct {
	by *ssa.Function // nil for a handler
	at token.Pos
}

// walked are the capabilities of a tool's handler, in the order of extension.Summary's words.
func (g *graph) walked(tool extension.Tool, handlers []*ssa.Function) extension.Proven {
	w := &walk{graph: g, tool: tool, from: map[*ssa.Function]call{},
		found: map[string]extension.Reach{}, given: map[any]bool{}}
	for _, h := range handlers {
		w.reach(h, call{})
	}
	for len(w.queue) > 0 && len(w.found) < 5 { // 5 are all
		f := w.queue[0]
		w.queue = w.queue[1:]
		w.visit(f)
	}
	if len(handlers) == 0 {
		w.found[extension.Unknown] = extension.Reach{
			Capability: extension.Unknown,
			Why:        "a method of an interface that no visible type implements",
			Path:       []extension.Step{{Func: tool.Handler.String()}},
		}
	}
	proven := extension.Proven{Tool: tool.Name, Handler: tool.Handler.String()}
	for _, c := range []string{extension.Exec, extension.Files, extension.Network,
		extension.Unknown, extension.Writes} {
		if r, found := w.found[c]; found {
			proven.Reaches = append(proven.Reaches, r)
		}
	}
	return proven
}

func (w *walk) reach(f *ssa.Function, from call) {
	if _, known := w.from[f]; !known {
		w.from[f] = from
		w.queue = append(w.queue, f)
	}
}

// note keeps the first way to a capability. f is the last func on it, called from there.
func (w *walk) note(capability, why, last string, from call) {
	if _, known := w.found[capability]; known || capability == "" {
		return
	}
	r := extension.Reach{Capability: capability, Why: why}
	if last != "" {
		r.Path = []extension.Step{{Func: last, At: w.position(from.at)}}
	}
	for f := from.by; f != nil; {
		from := w.from[f]
		r.Path = append(r.Path, extension.Step{Func: f.String(), At: w.position(from.at)})
		f = from.by
	}
	slices.Reverse(r.Path)
	w.found[capability] = r
}

// visit follows what a func calls. Within the standard library it follows calls by name alone: the
// rest is of values that were handed to it, and is looked for where they are.
func (w *walk) visit(f *ssa.Function) {
	standard := w.standard(f)
	if !standard {
		if f.Blocks == nil && f.Synthetic == "" {
			w.note(extension.Unknown, "a func without a body in Go", "", call{by: f})
		}
	}
	for _, block := range f.Blocks {
		for _, instr := range block.Instrs {
			if site, ok := instr.(ssa.CallInstruction); ok {
				w.call(f, site, standard)
			}
			if !standard {
				w.unsafe(f, instr)
				w.handed(f, instr)
			} else if !slices.Contains(callers, packagePath(f)) {
				w.named(f, instr)
			}
		}
	}
}

// call follows one call.
func (w *walk) call(f *ssa.Function, site ssa.CallInstruction, standard bool) {
	common := site.Common()
	if callee := common.StaticCallee(); callee != nil {
		w.step(callee, common, call{f, site.Pos()}, standard)
		return
	}
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return
	}
	callees := w.callees[site]
	if standard {
		if !slices.Contains(callers, packagePath(f)) {
			for _, callee := range callees {
				if !w.trusted(callee) {
					w.step(callee, common, call{f, site.Pos()}, false)
				}
			}
		}
		return
	}
	held := w.held[w.node(common.Value)]
	open := held.Has(outside) && len(callees) == 0 || held.Has(lost)
	if !common.IsInvoke() {
		if open {
			w.note(extension.Unknown, "a func value that no visible code sets",
				common.Signature().String(), call{f, site.Pos()})
		}
		for _, callee := range callees {
			w.step(callee, common, call{f, site.Pos()}, false)
		}
		return
	}
	declared := ""
	if p := common.Method.Pkg(); p != nil {
		declared = p.Path()
	}
	if capability := interfaces[declared]; capability != "" {
		w.note(capability, "", common.Method.FullName(), call{f, site.Pos()})
	}
	if iface, ok := common.Value.Type().Underlying().(*types.Interface); ok &&
		len(callees) == 0 && open {
		callees = w.implementers(iface, common.Method.Name())
		open = len(callees) == 0 || held.Has(lost)
	}
	// error is of no package
	ofStandard := declared == "" || w.std[declared]
	if open && !ofStandard && w.classes.FunctionCategory(declared, common.Method.FullName()) == 0 {
		w.note(extension.Unknown, "an interface that no visible type implements",
			common.Method.FullName(), call{f, site.Pos()})
	}
	for _, callee := range callees {
		// What the standard library's types work on was opened by name, and counted there.
		if !w.standard(callee) {
			w.step(callee, common, call{f, site.Pos()}, false)
		}
	}
	n := w.node(common.Value)
	if w.given[n] {
		return
	}
	w.given[n] = true
	for _, of := range w.typesIn(common.Value) {
		w.keep(of, call{f, site.Pos()})
	}
	for _, of := range w.behind(common.Value) {
		w.step(of, common, call{f, site.Pos()}, false)
	}
}

// step continues in a called func, unless its name decides.
func (w *walk) step(callee *ssa.Function, common *ssa.CallCommon, from call, standard bool) {
	class := w.class(callee)
	if class == cpb.Capability_CAPABILITY_UNSPECIFIED {
		w.reach(callee, from)
		return
	}
	capability := capabilities[class]
	if capability.name == extension.Unknown && standard {
		// the standard library has ways of its own, and those to files, network and programs are known by
		// name
		return
	}
	if capability.name == "" {
		return
	}
	name := nameOf(callee)
	if capability.name == extension.Files && ofProcess(common) {
		return
	}
	w.note(capability.name, capability.why, name, from)
	if packagePath(callee) == "database/sql" {
		drivers := w.drivers()
		if len(drivers) == 0 {
			w.note(extension.Unknown, "a driver of database/sql that no visible package has", name, from)
		}
		for _, f := range drivers {
			w.reach(f, from)
		}
	}
	if capability.name == extension.Files && w.writing(name, common) {
		w.note(extension.Writes, "", name, from)
	}
}

func nameOf(f *ssa.Function) string {
	if o, ok := f.Object().(*types.Func); ok && f.Synthetic != "" {
		return o.FullName()
	}
	return f.String()
}

// ofProcess reports whether a method of *os.File is called on the process's own standard streams.
func ofProcess(common *ssa.CallCommon) bool {
	if len(common.Args) == 0 {
		return false
	}
	load, ok := common.Args[0].(*ssa.UnOp)
	if !ok {
		return false
	}
	global, ok := load.X.(*ssa.Global)
	return ok && slices.Contains([]string{"os.Stdin", "os.Stdout", "os.Stderr"}, global.String())
}

// writing reports whether a call with the files capability may write. An unclear call may.
func (w *walk) writing(name string, common *ssa.CallCommon) bool {
	switch name {
	case "os.OpenFile", "(*os.Root).OpenFile":
		const flags = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREATE | os.O_TRUNC
		at := 1
		if name != "os.OpenFile" {
			at = 2
		}
		if at >= len(common.Args) {
			return true // by a value: its arguments are those of another call
		}
		flag, ok := common.Args[at].(*ssa.Const)
		if !ok || flag.Value == nil || flag.Value.Kind() != constant.Int {
			return true
		}
		return flag.Int64()&int64(flags) != 0
	case grantPath + ".File", grantPath + ".Dir", grantPath + ".TruePath":
		var argument *string
		if len(common.Args) == 2 {
			if c, ok := common.Args[1].(*ssa.Const); ok && c.Value != nil &&
				c.Value.Kind() == constant.String {
				text := constant.StringVal(c.Value)
				argument = &text
			}
		}
		for _, a := range w.tool.Allows {
			writes := slices.ContainsFunc(a.Kinds, func(kind string) bool {
				return strings.HasPrefix(kind, "file.") && kind != "file.read"
			})
			if writes && (argument == nil || a.Argument == *argument) {
				return true
			}
		}
		return false
	}
	return writers[name]
}

// handed follows what a func may have others call: funcs that it makes or names as values, and
// methods of its values that the standard library is handed.
func (w *walk) handed(f *ssa.Function, instr ssa.Instruction) {
	if _, debug := instr.(*ssa.DebugRef); debug {
		return
	}
	w.named(f, instr)
	switch i := instr.(type) {
	case *ssa.MakeInterface:
		w.calledOn(i.Type(), i.X.Type(), call{f, i.Pos()})
	case *ssa.ChangeInterface:
		w.give(i.X, i.Type(), call{f, i.Pos()})
	case ssa.CallInstruction:
		common := i.Common()
		if callee := common.StaticCallee(); callee != nil && w.trusted(callee) {
			for _, arg := range common.Args {
				w.give(arg, arg.Type(), call{f, i.Pos()})
			}
		}
	}
}

// named follows the funcs that an instruction makes or names as values, or passes to a call.
func (w *walk) named(f *ssa.Function, instr ssa.Instruction) {
	var callee *ssa.Value
	if site, ok := instr.(ssa.CallInstruction); ok && !site.Common().IsInvoke() {
		callee = &site.Common().Value
		for _, arg := range site.Common().Args {
			if _, ok := arg.Type().Underlying().(*types.Signature); !ok {
				continue
			}
			for _, atom := range w.held[w.node(arg)].AppendTo(nil) {
				if value, ok := w.atoms[atom].(*ssa.Function); ok {
					w.step(value, &ssa.CallCommon{}, call{f, instr.Pos()}, w.standard(f))
				}
			}
		}
	}
	for _, operand := range instr.Operands(nil) {
		if operand == nil || operand == callee {
			continue
		}
		if value, ok := (*operand).(*ssa.Function); ok {
			w.step(value, &ssa.CallCommon{}, call{f, instr.Pos()}, w.standard(f))
		}
	}
}

// give follows the funcs that a library may call by a value that it is handed.
func (w *walk) give(v ssa.Value, as types.Type, from call) {
	n := w.node(v)
	if w.given[[2]any{n, as}] {
		return
	}
	w.given[[2]any{n, as}] = true
	if i, ok := as.Underlying().(*types.Interface); ok {
		for _, of := range w.typesIn(v) {
			w.calledOn(as, of, from)
			w.keep(of, from)
		}
		if i.NumMethods() > 0 {
			for _, of := range w.behind(v) {
				w.step(of, &ssa.CallCommon{}, from, false)
			}
		}
	}
	w.keep(as, from)
}

// typesIn are the concrete types that an interface value may have.
func (g *graph) typesIn(v ssa.Value) []types.Type {
	var list []types.Type
	for _, atom := range g.held[g.node(v)].AppendTo(nil) {
		if t, ok := g.atoms[atom].(types.Type); ok {
			list = append(list, t)
		}
	}
	return list
}

// behind are the funcs that an interface value may be, by a func type with methods.
func (g *graph) behind(v ssa.Value) []*ssa.Function {
	var list []*ssa.Function
	for _, t := range g.typesIn(v) {
		s, ok := t.Underlying().(*types.Signature)
		if !ok {
			continue
		}
		for _, atom := range g.held[g.node(v)].AppendTo(nil) {
			f, ok := g.atoms[atom].(*ssa.Function)
			if ok && types.Identical(withoutReceiver(s), withoutReceiver(f.Signature)) {
				list = append(list, f)
			}
		}
	}
	return list
}

// keep follows the funcs that a value of a type of the standard library holds.
func (w *walk) keep(of types.Type, from call) {
	if w.given[of] {
		return
	}
	w.given[of] = true
	for _, callee := range w.kept(of) {
		w.step(callee, &ssa.CallCommon{}, from, false)
	}
}

// calledOn follows the methods that a library may call on a value of a type that is an interface.
func (w *walk) calledOn(as, of types.Type, from call) {
	if named, ok := types.Unalias(as).(*types.Named); ok {
		if p := named.Obj().Pkg(); p != nil && !w.std[p.Path()] && !computes(p.Path()) {
			return // who calls it is found by the graph
		}
	}
	if w.given[[2]any{as, of}] {
		return
	}
	w.given[[2]any{as, of}] = true
	for _, callee := range w.called(as, of) {
		w.step(callee, &ssa.CallCommon{}, from, false)
	}
}

// called are the methods, outside of the standard library, that it may call on values of a type
// that become an interface.
func (g *graph) called(as, of types.Type) []*ssa.Function {
	list, known := g.calls[[2]types.Type{as, of}]
	if known {
		return list
	}
	iface := as.Underlying().(*types.Interface)
	names := slices.Clone(calledBack)
	for method := range iface.Methods() {
		names = append(names, method.Name())
	}
	add := func(of types.Type, names []string) {
		for selection := range g.prog.MethodSets.MethodSet(of).Methods() {
			if !slices.Contains(names, selection.Obj().Name()) {
				continue
			}
			if f := g.prog.MethodValue(selection); f != nil && !g.trusted(f) {
				list = append(list, f)
			}
		}
	}
	add(of, names)
	if iface.NumMethods() == 0 {
		g.parts(of, map[types.Type]bool{},
			func(f *types.Var) bool { return f.Exported() || f.Embedded() },
			func(int) {}, func(t types.Type) bool {
				if !types.IsInterface(t) {
					add(types.NewPointer(t), encoders)
				}
				return true
			})
	}
	g.calls[[2]types.Type{as, of}] = list
	return list
}

// kept are the funcs and methods that a func of the standard library may call if it is handed a
// value of a type, func values included: those that values of its types hold.
func (g *graph) kept(t types.Type) []*ssa.Function {
	if list, known := g.keeps[t]; known {
		return list
	}
	var list []*ssa.Function
	seen, has := map[types.Type]bool{}, map[*ssa.Function]bool{}
	add := func(f *ssa.Function) {
		if !has[f] && !g.trusted(f) {
			has[f] = true
			list = append(list, f)
		}
	}
	var visit func(t types.Type)
	look := func(n int) {
		i, isInterface := g.typeOf[n].Underlying().(*types.Interface)
		if isInterface && i.NumMethods() == 0 {
			return
		}
		for _, atom := range g.held[n].AppendTo(nil) {
			switch of := g.atoms[atom].(type) {
			case *ssa.Function:
				if !isInterface {
					add(of)
				}
			case types.Type:
				for _, f := range g.called(g.typeOf[n], of) {
					add(f)
				}
				// What readers, writers and errors of the standard library hold is not followed.
				if !ofPackage(g.typeOf[n], "io") && !ofPackage(g.typeOf[n], "") {
					visit(of)
				}
			}
		}
	}
	visit = func(t types.Type) {
		// Other packages have fields for their own work, such as the context of a request.
		through := func(f *types.Var) bool {
			return f.Exported() || slices.Contains(callers, f.Pkg().Path())
		}
		g.parts(t, seen, through, look, func(t types.Type) bool {
			named, ok := types.Unalias(t).(*types.Named)
			return !ok || named.Obj().Pkg() != nil && g.std[named.Obj().Pkg().Path()] &&
				!ofPackage(named, "os/exec") // built where it is used
		})
	}
	if _, ok := types.Unalias(t).(*types.Named); ok || pointee(t) != nil {
		visit(t)
	}
	g.keeps[t] = list
	return list
}

// implementers are the methods of that name of the author's own types with the interface.
func (g *graph) implementers(iface *types.Interface, name string) []*ssa.Function {
	var list []*ssa.Function
	for _, pkg := range g.own {
		for _, declared := range pkg.Scope().Names() {
			t, ok := pkg.Scope().Lookup(declared).(*types.TypeName)
			if !ok || t.IsAlias() || types.IsInterface(t.Type()) {
				continue
			}
			if named, ok := t.Type().(*types.Named); !ok || named.TypeParams().Len() > 0 {
				continue
			}
			pointer := types.NewPointer(t.Type())
			if !types.Implements(pointer, iface) {
				continue
			}
			if f := g.method(pointer, pkg, name); f != nil {
				list = append(list, f)
			}
		}
	}
	return list
}

func (g *graph) method(of types.Type, pkg *types.Package, name string) *ssa.Function {
	selection := g.prog.MethodSets.MethodSet(of).Lookup(pkg, name)
	if selection == nil {
		return nil
	}
	if f := g.prog.FuncValue(selection.Obj().(*types.Func)); f != nil {
		return f // the method itself, without the wrapper that leads to it from a pointer
	}
	return g.prog.MethodValue(selection)
}

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
}

// call is how a func was reached.
type call struct {
	by *ssa.Function // nil for a handler
	at token.Pos
}

// walked are the capabilities of a tool's handler, in the order of extension.Summary's words.
func (g *graph) walked(tool extension.Tool, handlers []*ssa.Function) extension.Proven {
	w := &walk{graph: g, tool: tool, from: map[*ssa.Function]call{},
		found: map[string]extension.Reach{}}
	for _, h := range handlers {
		w.reach(h, call{})
	}
	for len(w.queue) > 0 {
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
		if class, found := w.graph.found[f]; found {
			w.note(capabilities[class].name, capabilities[class].why, "", call{by: f})
		}
	}
	for _, block := range f.Blocks {
		for _, instr := range block.Instrs {
			if site, ok := instr.(ssa.CallInstruction); ok {
				w.call(f, site, standard)
			}
			if !standard {
				w.handed(f, instr)
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
	if _, builtin := common.Value.(*ssa.Builtin); builtin || standard {
		return
	}
	var callees []*ssa.Function
	node := w.nodes[f]
	if !common.IsInvoke() {
		node = w.node(f)
	}
	if node != nil {
		for _, edge := range node.Out {
			if edge.Site == site && w.classes.theirs.IncludeCall(edge) {
				callees = append(callees, edge.Callee.Func)
			}
		}
	}
	if !common.IsInvoke() {
		if len(callees) == 0 {
			w.note(extension.Unknown, "a func value that no visible code sets",
				common.Signature().String(),
				call{f, site.Pos()})
		}
		for _, callee := range ordered(callees) {
			w.step(callee, common, call{f, site.Pos()}, false)
		}
		return
	}
	declared := ""
	if p := common.Method.Pkg(); p != nil {
		declared = p.Path()
	}
	ofStandard := declared == "" || w.std[declared] // error is of no package
	if capability := interfaces[declared]; capability != "" {
		w.note(capability, "", common.Method.FullName(), call{f, site.Pos()})
	}
	if len(callees) == 0 {
		if iface, ok := common.Value.Type().Underlying().(*types.Interface); ok {
			callees = w.implementers(iface, common.Method.Name())
		}
	}
	if len(callees) == 0 && !ofStandard &&
		w.classes.FunctionCategory(declared, common.Method.FullName()) == 0 {
		w.note(extension.Unknown, "an interface that no visible type implements",
			common.Method.FullName(),
			call{f, site.Pos()})
	}
	for _, callee := range ordered(callees) {
		// What the standard library's types work on was opened by name, and counted there.
		if !w.standard(callee) {
			w.step(callee, common, call{f, site.Pos()}, false)
		}
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
	name := nameOf(callee)
	if capability.name == extension.Files && ofProcess(common) {
		return
	}
	w.note(capability.name, capability.why, name, from)
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
	var callee *ssa.Value
	if site, ok := instr.(ssa.CallInstruction); ok && !site.Common().IsInvoke() {
		callee = &site.Common().Value
	}
	for _, operand := range instr.Operands(nil) {
		if operand == nil || operand == callee {
			continue
		}
		if value, ok := (*operand).(*ssa.Function); ok {
			w.step(value, &ssa.CallCommon{}, call{f, instr.Pos()}, false)
		}
	}
	made, ok := instr.(*ssa.MakeInterface)
	if !ok {
		return
	}
	names := slices.Clone(calledBack)
	if named, ok := types.Unalias(made.Type()).(*types.Named); ok {
		if p := named.Obj().Pkg(); p != nil && !w.std[p.Path()] {
			return // who calls it is found by the graph
		}
	}
	iface := made.Type().Underlying().(*types.Interface)
	for method := range iface.Methods() {
		names = append(names, method.Name())
	}
	methods := w.prog.MethodSets.MethodSet(made.X.Type())
	for i := range methods.Len() {
		selection := methods.At(i)
		if !slices.Contains(names, selection.Obj().Name()) {
			continue
		}
		if callee := w.prog.MethodValue(selection); callee != nil && !w.standard(callee) {
			w.reach(callee, call{f, instr.Pos()})
		}
	}
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

// ordered puts funcs in the order of their names.
func ordered(list []*ssa.Function) []*ssa.Function {
	slices.SortStableFunc(list, func(a, b *ssa.Function) int {
		return strings.Compare(a.String(), b.String())
	})
	return slices.Compact(list)
}

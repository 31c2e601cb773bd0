package reach

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/container/intsets"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"
)

// flow finds the funcs and the concrete types that a value may hold, for all code that the program
// may run: rapid type analysis, which narrows each call by the values that flow to it.
//
// A node is a place for values of interface or func type: a register, a variable, or memory by its
// type, such as a field of a struct type or the elements of slices of a type. An atom is a func, or
// a concrete type that becomes an interface value. Atoms flow along edges between nodes, and a node
// accepts the atoms of its type.
type flow struct {
	prog    *ssa.Program
	foreign func(*ssa.Function) bool // code whose use of reflection counts

	nodes   map[any]int
	succ    [][]int
	held    []*intsets.Sparse
	news    []*intsets.Sparse // atoms of held that are not propagated
	accepts []*filter
	typeOf  []types.Type
	sites   [][]ssa.CallInstruction // calls of the node's value

	atoms   []any // *ssa.Function or types.Type
	atomOf  map[any]int
	filters map[int]*filter

	canon typeutil.Map // from types to numbers
	quick map[types.Type]int

	reached map[*ssa.Function]bool
	funcs   []*ssa.Function
	changed []int
	callees map[ssa.CallInstruction][]*ssa.Function
	linked  map[link]bool

	all, panics int
	hubs        map[int]*hub
}

type link struct {
	site   ssa.CallInstruction
	callee *ssa.Function
}

// A filter is the atoms that a type accepts, of those that it has looked at.
type filter struct {
	typ           types.Type
	atoms, looked intsets.Sparse
}

// Atoms of values from code that is not analysed: that of importers of the author's packages, which
// may set nothing, and code that sets variables of others.
const (
	outside = iota
	lost
	known // the first atom that is a func or a type
)

// Kinds of memory.
type memory struct{ kind, typ, index int }

const (
	fieldOf = iota
	elementOf
	keyOf
	valueOf
	sentOn
	targetOf
	resultOf
)

type part struct {
	of    any // a tuple, or a func with results
	index int
}

func newFlow(prog *ssa.Program, foreign func(*ssa.Function) bool) *flow {
	x := &flow{
		prog: prog, foreign: foreign, nodes: map[any]int{}, atomOf: map[any]int{},
		filters: map[int]*filter{}, quick: map[types.Type]int{},
		reached: map[*ssa.Function]bool{}, callees: map[ssa.CallInstruction][]*ssa.Function{},
		linked: map[link]bool{}, hubs: map[int]*hub{}, atoms: make([]any, known),
	}
	empty := types.NewInterfaceType(nil, nil)
	x.make(nil, nil) // no node is 0
	x.all, x.panics = x.make("all", empty), x.make("panics", empty)
	return x
}

func (x *flow) make(key any, t types.Type) int {
	n := len(x.succ)
	x.nodes[key] = n
	x.succ, x.sites = append(x.succ, nil), append(x.sites, nil)
	x.held, x.news = append(x.held, &intsets.Sparse{}), append(x.news, &intsets.Sparse{})
	x.accepts, x.typeOf = append(x.accepts, x.filter(t)), append(x.typeOf, t)
	return n
}

// number is equal for identical types.
func (x *flow) number(t types.Type) int {
	if n, ok := x.quick[t]; ok {
		return n
	}
	n, ok := x.canon.At(t).(int)
	if !ok {
		n = x.canon.Len()
		x.canon.Set(t, n)
	}
	x.quick[t] = n
	return n
}

// filter is nil for a type that accepts every atom.
func (x *flow) filter(t types.Type) *filter {
	if t == nil {
		return nil
	}
	t = t.Underlying()
	if i, ok := t.(*types.Interface); ok && i.NumMethods() == 0 {
		return nil
	}
	n := x.number(t)
	if x.filters[n] == nil {
		x.filters[n] = &filter{typ: t}
	}
	return x.filters[n]
}

func (x *flow) accept(f *filter, atoms *intsets.Sparse) {
	var fresh intsets.Sparse
	fresh.Difference(atoms, &f.looked)
	f.looked.UnionWith(&fresh)
	for _, n := range fresh.AppendTo(nil) {
		ok := n < known
		switch atom := x.atoms[n].(type) {
		case *ssa.Function:
			s, isFunc := f.typ.(*types.Signature)
			ok = !isFunc || types.Identical(withoutReceiver(s), withoutReceiver(atom.Signature))
		case types.Type:
			i, isInterface := f.typ.(*types.Interface)
			ok = isInterface && types.Implements(atom, i)
		}
		if ok {
			f.atoms.Insert(n)
		}
	}
	atoms.IntersectionWith(&f.atoms)
}

func withoutReceiver(s *types.Signature) *types.Signature {
	if s.Recv() == nil {
		return s
	}
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}

func (x *flow) atom(of any) int {
	key := of
	if t, ok := of.(types.Type); ok {
		key = x.number(t)
	}
	n, ok := x.atomOf[key]
	if !ok {
		n = len(x.atoms)
		x.atoms = append(x.atoms, of)
		x.atomOf[key] = n
	}
	return n
}

func (x *flow) put(n, atom int) {
	var s intsets.Sparse
	s.Insert(atom)
	x.add(n, &s)
}

// add adds atoms to a node, as far as it accepts them.
func (x *flow) add(n int, s *intsets.Sparse) {
	if n == 0 || s.IsEmpty() {
		return
	}
	var fresh intsets.Sparse
	fresh.Difference(s, x.held[n])
	if f := x.accepts[n]; f != nil && !fresh.IsEmpty() {
		x.accept(f, &fresh)
	}
	if x.hubs[n] != nil {
		fresh.Remove(outside)
	}
	if fresh.IsEmpty() {
		return
	}
	x.held[n].UnionWith(&fresh)
	if x.news[n].IsEmpty() {
		x.changed = append(x.changed, n)
	}
	x.news[n].UnionWith(&fresh)
}

func (x *flow) edge(from, to int) {
	if from == 0 || to == 0 || from == to {
		return
	}
	x.succ[from] = append(x.succ[from], to)
	x.add(to, x.held[from])
}

func (x *flow) both(a, b int) {
	x.edge(a, b)
	x.edge(b, a)
}

// carried is the type of the values that a node is for: that of an interface or a func, or that to
// which pointers lead. depth is the number of pointers.
func carried(t types.Type) (of types.Type, depth int) {
	for {
		switch u := t.Underlying().(type) {
		case *types.Interface, *types.Signature:
			return t, depth
		case *types.Pointer:
			t, depth = u.Elem(), depth+1
		default:
			return nil, 0
		}
	}
}

// node is the node of a value, or of the variable that a pointer leads to; 0 for others.
func (x *flow) node(v ssa.Value) int {
	switch v := v.(type) {
	case *ssa.Const, *ssa.Builtin:
		return 0
	case *ssa.Function:
		n, ok := x.nodes[v]
		if !ok {
			n = x.make(v, v.Signature)
			x.name(v, n)
		}
		return n
	}
	return x.place(v, v.Type())
}

// name puts a func into a node.
func (x *flow) name(f *ssa.Function, n int) {
	x.put(n, x.atom(f))
	x.put(x.all, x.atom(f))
}

func (x *flow) place(key any, t types.Type) int {
	of, depth := carried(t)
	if of == nil {
		return 0
	}
	if depth > 1 {
		key = memory{targetOf, x.number(of.Underlying()), 0}
	}
	n, ok := x.nodes[key]
	if !ok {
		n = x.make(key, of)
		if depth == 1 {
			if _, isMemory := key.(memory); isMemory {
				x.both(n, x.place(memory{targetOf, x.number(of.Underlying()), 0}, of))
			}
		}
	}
	return n
}

func (x *flow) in(kind int, t types.Type) int {
	return x.place(memory{kind, x.number(t.Underlying()), 0}, t)
}

// field is the node of a field. Types that can be converted share it.
func (x *flow) field(of types.Type, i int) int {
	s := of.Underlying().(*types.Struct)
	return x.place(memory{fieldOf, x.number(s), i}, s.Field(i).Type())
}

func (x *flow) part(of any, i int, t types.Type) int { return x.place(part{of, i}, t) }

// assign makes values flow, and pointers lead to the same variable.
func (x *flow) assign(to, from int, t types.Type) {
	x.edge(from, to)
	if _, depth := carried(t); depth > 0 {
		x.edge(to, from)
	}
}

func (x *flow) reach(f *ssa.Function) {
	if f != nil && !x.reached[f] {
		x.reached[f] = true
		x.funcs = append(x.funcs, f)
	}
}

// run finds all that the reached funcs lead to.
func (x *flow) run() {
	for len(x.funcs)+len(x.changed) > 0 {
		if last := len(x.funcs) - 1; last >= 0 {
			f := x.funcs[last]
			x.funcs = x.funcs[:last]
			x.body(f)
			continue
		}
		n := x.changed[0]
		x.changed = x.changed[1:]
		var fresh intsets.Sparse
		fresh.Copy(x.news[n])
		x.news[n].Clear()
		for _, to := range x.succ[n] {
			x.add(to, &fresh)
		}
		if len(x.sites[n]) > 0 || x.hubs[n] != nil {
			for _, atom := range fresh.AppendTo(nil) {
				for _, site := range x.sites[n] {
					x.call(site, atom)
				}
				if x.hubs[n] != nil && atom >= known {
					x.reflected(n, x.atoms[atom])
				}
			}
		}
	}
}

func (x *flow) body(f *ssa.Function) {
	if f.Blocks == nil {
		results := f.Signature.Results()
		for i := range results.Len() {
			x.edge(x.all, x.part(f, i, results.At(i).Type()))
		}
	}
	for _, b := range f.Blocks {
		for _, instr := range b.Instrs {
			x.instruction(f, instr)
		}
	}
}

func (x *flow) instruction(f *ssa.Function, instr ssa.Instruction) {
	switch i := instr.(type) {
	case *ssa.Store:
		x.assign(x.node(i.Addr), x.node(i.Val), i.Val.Type())
	case *ssa.MakeInterface:
		x.box(i)
		x.shares(f, i.X.Type(), "")
	case *ssa.MakeClosure:
		of := i.Fn.(*ssa.Function)
		x.name(of, x.node(i))
		for k, v := range of.FreeVars {
			x.assign(x.node(v), x.node(i.Bindings[k]), v.Type())
		}
		x.reach(of)
	case *ssa.UnOp:
		switch i.Op {
		case token.MUL:
			x.assign(x.node(i), x.node(i.X), i.Type())
		case token.ARROW:
			t := i.X.Type().Underlying().(*types.Chan).Elem()
			to := x.node(i)
			if i.CommaOk {
				to = x.part(i, 0, t)
			}
			x.assign(to, x.in(sentOn, t), t)
		}
	case *ssa.Phi:
		for _, e := range i.Edges {
			x.assign(x.node(i), x.node(e), i.Type())
		}
	case *ssa.ChangeInterface:
		x.edge(x.node(i.X), x.node(i))
	case *ssa.ChangeType:
		x.assign(x.node(i), x.node(i.X), i.Type())
		x.convert(i.X.Type(), i.Type())
	case *ssa.MultiConvert:
		x.assign(x.node(i), x.node(i.X), i.Type())
		x.convert(i.X.Type(), i.Type())
	case *ssa.Convert:
		if isUnsafe(i.Type()) {
			x.edge(x.all, x.node(i.X))
		} else if isUnsafe(i.X.Type()) {
			x.edge(x.all, x.node(i))
		}
	case *ssa.TypeAssert:
		to := x.node(i)
		if i.CommaOk {
			to = x.part(i, 0, i.AssertedType)
		}
		x.unbox(to, x.node(i.X), i.AssertedType)
	case *ssa.Extract:
		x.assign(x.node(i), x.part(i.Tuple, i.Index, i.Type()), i.Type())
	case *ssa.Field:
		x.assign(x.node(i), x.field(i.X.Type(), i.Field), i.Type())
	case *ssa.FieldAddr:
		of := pointee(i.X.Type())
		x.both(x.node(i), x.field(of, i.Field))
		if v := of.Underlying().(*types.Struct).Field(i.Field); v.Pkg() != nil {
			x.shares(f, v.Type(), v.Pkg().Path())
		}
	case *ssa.Index:
		if elem := element(i.X.Type()); elem != nil {
			x.assign(x.node(i), x.in(elementOf, elem), i.Type())
		}
	case *ssa.IndexAddr:
		x.both(x.node(i), x.in(elementOf, element(i.X.Type())))
	case *ssa.Lookup:
		if m, ok := i.X.Type().Underlying().(*types.Map); ok {
			to := x.node(i)
			if i.CommaOk {
				to = x.part(i, 0, m.Elem())
			}
			x.assign(to, x.in(valueOf, m.Elem()), m.Elem())
		}
	case *ssa.MapUpdate:
		m := i.Map.Type().Underlying().(*types.Map)
		x.assign(x.in(keyOf, m.Key()), x.node(i.Key), m.Key())
		x.assign(x.in(valueOf, m.Elem()), x.node(i.Value), m.Elem())
	case *ssa.Next:
		if m, ok := i.Iter.(*ssa.Range).X.Type().Underlying().(*types.Map); ok {
			x.assign(x.part(i, 1, m.Key()), x.in(keyOf, m.Key()), m.Key())
			x.assign(x.part(i, 2, m.Elem()), x.in(valueOf, m.Elem()), m.Elem())
		}
	case *ssa.Send:
		x.assign(x.in(sentOn, i.X.Type()), x.node(i.X), i.X.Type())
		t := i.Chan.Type().Underlying().(*types.Chan).Elem()
		x.assign(x.in(sentOn, t), x.node(i.X), t)
	case *ssa.Select:
		received := 2
		for _, s := range i.States {
			t := s.Chan.Type().Underlying().(*types.Chan).Elem()
			if s.Dir == types.SendOnly {
				x.assign(x.in(sentOn, t), x.node(s.Send), t)
				continue
			}
			x.assign(x.part(i, received, t), x.in(sentOn, t), t)
			received++
		}
	case *ssa.Panic:
		x.edge(x.node(i.X), x.panics)
	case *ssa.Return:
		for k, r := range i.Results {
			x.assign(x.part(f, k, r.Type()), x.node(r), r.Type())
		}
	case ssa.CallInstruction:
		x.site(f, i)
	}
}

// box makes an interface value.
func (x *flow) box(i *ssa.MakeInterface) {
	t := i.X.Type()
	of, depth := carried(t)
	if depth > 0 {
		// The standard library may set the variable, as errors.As does.
		x.edge(x.all, x.node(i.X))
		x.both(x.node(i.X), x.place(memory{targetOf, x.number(of.Underlying()), 0}, of))
	} else if of != nil {
		x.edge(x.node(i.X), x.node(i))
	}
	if holds(t) == code || x.prog.MethodSets.MethodSet(t).Len() > 0 {
		x.put(x.node(i), x.atom(t))
		x.put(x.all, x.atom(t))
	}
}

func (x *flow) unbox(to, from int, t types.Type) {
	if of, depth := carried(t); depth > 0 {
		x.both(to, x.place(memory{targetOf, x.number(of.Underlying()), 0}, of))
	} else {
		x.edge(from, to)
	}
}

// convert joins the fields of struct types that differ in their tags.
func (x *flow) convert(from, to types.Type) {
	if p := pointee(from); p != nil && pointee(to) != nil {
		from, to = p, pointee(to)
	}
	a, ok := from.Underlying().(*types.Struct)
	b, converted := to.Underlying().(*types.Struct)
	if ok && converted && x.number(a) != x.number(b) {
		for i := range a.NumFields() {
			x.both(x.field(a, i), x.field(b, i))
		}
	}
}

// element is the type of the elements of a slice, an array or a pointer to one.
func element(t types.Type) types.Type {
	if p := pointee(t); p != nil {
		t = p
	}
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return t.Elem()
	case *types.Array:
		return t.Elem()
	}
	return nil
}

func (x *flow) site(f *ssa.Function, site ssa.CallInstruction) {
	common := site.Common()
	if b, ok := common.Value.(*ssa.Builtin); ok {
		if v := site.Value(); b.Name() == "recover" && v != nil {
			x.edge(x.panics, x.node(v))
		}
		return
	}
	if callee := common.StaticCallee(); callee != nil {
		if !x.reflects(f, site, callee) {
			x.link(site, callee)
		}
		return
	}
	n := x.node(common.Value)
	if n == 0 {
		return // a nil func
	}
	x.sites[n] = append(x.sites[n], site)
	for _, atom := range x.held[n].AppendTo(nil) {
		x.call(site, atom)
	}
}

// call links a call with an atom of the called value.
func (x *flow) call(site ssa.CallInstruction, atom int) {
	common := site.Common()
	switch of := x.atoms[atom].(type) {
	case *ssa.Function:
		if !common.IsInvoke() {
			x.link(site, of)
		}
	case types.Type:
		if common.IsInvoke() {
			x.link(site, x.prog.LookupMethod(of, common.Method.Pkg(), common.Method.Name()))
		}
	}
}

func (x *flow) link(site ssa.CallInstruction, callee *ssa.Function) {
	if callee == nil || x.linked[link{site, callee}] {
		return
	}
	x.linked[link{site, callee}] = true
	x.callees[site] = append(x.callees[site], callee)
	x.reach(callee)
	if packagePath(callee) != "reflect" && x.foreign(callee) {
		x.shares(site.Parent(), callee.Signature, packagePath(callee))
	}
	common, params := site.Common(), callee.Params
	if common.IsInvoke() && len(params) > 0 {
		if _, ok := params[0].Type().Underlying().(*types.Signature); ok {
			x.edge(x.node(common.Value), x.node(params[0]))
		}
		params = params[1:]
	}
	for i, arg := range common.Args {
		if i < len(params) {
			x.assign(x.node(params[i]), x.node(arg), params[i].Type())
		}
	}
	value := site.Value()
	if value == nil {
		return
	}
	results := callee.Signature.Results()
	for i := range results.Len() {
		t := results.At(i).Type()
		to := x.node(value)
		if results.Len() > 1 {
			to = x.part(value, i, t)
		}
		x.assign(to, x.part(callee, i, t), t)
	}
}

package schema

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"golang.org/x/tools/go/types/typeutil"
)

// Walker makes the schemas of one package's tools. It keeps the named types and enums of its walks,
// and is not safe for concurrent use.
type Walker struct {
	in  string // path of the package that the tools belong to
	src Source
	// NullOptional makes optional arguments accept null, except those whose names are in NotNull.
	NullOptional bool
	NotNull      map[string]bool
	// RequiredByTags makes fields of arguments required only if their tags have required.
	RequiredByTags bool
	// Guard returns the name of the rule of a struct field, "" for a field without one. in is the
	// struct that has the field.
	Guard    func(field *types.Var, in types.Type) string
	seen     typeIndex
	named    map[string]*types.TypeName // by path and name
	enums    map[*types.TypeName][]*types.Const
	met      map[*types.TypeName]bool // see Met
	held     map[string][]types.Type  // by the key of the type; see holds
	declared map[string][]Tag         // by path and name; see Declare
	integers map[*types.TypeName]bool // integer types that are enums; see enumerate
	open     map[*types.TypeName]bool // string types that are no enums; see Declare
	guarding map[string]bool          // by the key of the type; see Guards
	edits    map[*types.Var]Edit      // see Edit
	variant  string                   // of the edits
	variants []map[*types.Var]Edit    // all edits so far
	// methods keeps method sets, which take half the time of a walk to compute.
	methods typeutil.MethodSetCache
}

// New returns a walker for the tools of package in. Without a source there are no
// descriptions from comments and no enums.
func New(in *types.Package, src Source) *Walker {
	return &Walker{
		in: in.Path(), src: src,
		named: map[string]*types.TypeName{},
		enums: map[*types.TypeName][]*types.Const{}, met: map[*types.TypeName]bool{},
		held: map[string][]types.Type{}, declared: map[string][]Tag{},
		integers: map[*types.TypeName]bool{}, open: map[*types.TypeName]bool{},
		guarding: map[string]bool{},
	}
}

// Property is one plain parameter of a handler.
type Property struct {
	Name string // as in JSON
	Type types.Type
	// Required holds unless a tag gives a default.
	Required bool
	Doc      string
	Tags     []Tag // the keys of //mcp:param, by the grammar of the jsonschema tag
}

// Tag is one key of the jsonschema grammar. A flag has an empty Value.
type Tag struct{ Key, Value string }

// Input is the schema of a tool's arguments: an object root, fit for clients. A type that is
// no object, or has a part that no schema describes, is a problem; the schema is then nil.
func (w *Walker) Input(t types.Type) (*jsonschema.Schema, []Problem) {
	s, p := w.root(t, decoding)
	if len(p.problems) == 0 && !p.isObject(s) {
		if isAnything(s) {
			s = &jsonschema.Schema{Type: "object", Description: s.Description, Extras: s.Extras}
		} else {
			message := fmt.Sprintf("the arguments of a tool are an object, and %s is not",
				Describe(p.resolve(s)))
			p.problem(UnsupportedType, rootPlace(t), message,
				"use a struct, or _ struct{} for a tool without arguments")
		}
	}
	p.ends(s)
	p.headers(s)
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return p.finish(s), nil
}

// Output is the schema of a tool's result, and whether the result is an object, or an object or
// null. It describes shape only: limits of inputs do not bind results.
func (w *Walker) Output(t types.Type) (s *jsonschema.Schema, object bool, problems []Problem) {
	s, p := w.root(t, encoding)
	if len(p.problems) > 0 {
		return nil, false, p.problems
	}
	object = p.isObject(s)
	s = p.finish(p.open(s))
	if p.pointee(t) != nil {
		defs := s.Definitions
		s.Definitions = nil
		s = p.orNull(s)
		s.Definitions = defs
	}
	return s, object, nil
}

// Object is the input schema of a handler with plain parameters, one property each in the
// given order.
func (w *Walker) Object(props []Property) (*jsonschema.Schema, []Problem) {
	var s *jsonschema.Schema
	p := w.attempt(decoding, func(q *pass) {
		s = q.object()
		met := map[string]bool{}
		for _, prop := range props {
			at := place{path: prop.Name}
			if met[prop.Name] {
				q.problem(UnsupportedType, at, fmt.Sprintf("two parameters have the property name %q",
					prop.Name), "rename one of them")
				continue
			}
			met[prop.Name] = true
			q.parameter(s, prop, at)
		}
	})
	p.ends(s)
	p.headers(s)
	if len(p.problems) > 0 {
		return nil, p.problems
	}
	return p.finish(s), nil
}

// root walks one root type, references at the root resolved.
func (w *Walker) root(t types.Type, d direction) (*jsonschema.Schema, *pass) {
	ptr, addressable := types.Unalias(t).(*types.Pointer)
	if addressable {
		t = ptr.Elem()
	}
	at := rootPlace(t)
	at.addressable = addressable
	var s *jsonschema.Schema
	omits := d == encoding && w.Omits(t)
	p := w.attempt(d, func(q *pass) {
		q.omits = omits
		s = q.build(t, at)
	})
	return s, p
}

// attempt walks with everything acyclic inlined, and again with definitions if that exceeds the
// limit.
func (w *Walker) attempt(d direction, walk func(*pass)) *pass {
	p := w.pass(d)
	walk(p)
	if p.size > inlineLimit {
		p = w.pass(d)
		p.inline = false
		walk(p)
	}
	return p
}

// Named is every named type of the walks that JSON can see, each once, sorted by package path and
// name. Types whose JSON form is fixed by the standard library (time.Time, json.RawMessage) are not
// among them: their schema does not depend on their declaration.
func (w *Walker) Named() []*types.TypeName {
	return slices.SortedFunc(maps.Values(w.named), byName)
}

// Enums is the constants of every enum of the walks: by package path and type name, within a type
// in the order of the source.
func (w *Walker) Enums() []*types.Const {
	var list []*types.Const
	for _, name := range slices.SortedFunc(maps.Keys(w.enums), byName) {
		list = append(list, w.enums[name]...)
	}
	return list
}

func byName(a, b *types.TypeName) int {
	return cmp.Or(strings.Compare(a.Pkg().Path(), b.Pkg().Path()),
		strings.Compare(a.Name(), b.Name()))
}

// meet records a named type that JSON can see.
func (w *Walker) meet(n *types.Named) {
	name := n.Obj()
	if name.Pkg() == nil {
		return // error and comparable belong to no package
	}
	w.named[name.Pkg().Path()+"."+name.Name()] = name
}

// enum is the constants of a string type that is not declared open, or of an integer type that is
// declared an enum, or nil.
func (w *Walker) enum(t types.Type) []*types.Const {
	n, ok := t.(*types.Named)
	if !ok || w.src == nil || n.Obj().Pkg() == nil {
		return nil
	}
	basic, ok := n.Underlying().(*types.Basic)
	if !ok || basic.Kind() != types.String && !w.integers[n.Obj()] || w.open[n.Obj()] {
		return nil
	}
	if list, ok := w.enums[n.Obj()]; ok {
		return list
	}
	list := w.src.Enum(n.Obj())
	if len(list) > 0 {
		w.enums[n.Obj()] = list
	}
	return list
}

// meetText notes a named string type for Met.
func (w *Walker) meetText(n *types.Named) {
	basic, ok := n.Underlying().(*types.Basic)
	if ok && basic.Info()&types.IsString != 0 && n.Obj().Pkg() != nil {
		w.met[n.Obj()] = true
	}
}

// Met returns the named string types of the walks since the last call of Met, by package path and
// name.
func (w *Walker) Met() []*types.TypeName {
	met := w.met
	w.met = map[*types.TypeName]bool{}
	return slices.SortedFunc(maps.Keys(met), byName)
}

// Describe names the JSON type of a schema for a message.
func Describe(s *jsonschema.Schema) string {
	switch t := strings.TrimSpace(s.Type); t {
	case "":
		return "a choice of types"
	case "array", "integer":
		return "an " + t
	default:
		return "a " + t
	}
}

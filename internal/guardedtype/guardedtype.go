// Package guardedtype finds guarded fields that a value reaches where no schema describes them:
// below an interface. It compares the types of values, as package reflect has them, with the names
// of rules of fields.
package guardedtype

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Types has the guarded fields of a program, by type. It is safe for concurrent use. A nil Types
// has none.
type Types struct {
	fields map[typeName][]string // the names of rules
	known  sync.Map              // of reflect.Type to *reach
}

// Supported returns an error if a func in place of json.Marshal reads struct tags as package
// encoding/json/v2 does: results would have members that schemas do not have.
func Supported(marshal func(any) ([]byte, error)) error {
	typ := reflect.StructOf([]reflect.StructField{{Name: "A", Type: reflect.TypeFor[struct{ B int }](),
		Tag: `json:",inline"`}})
	text, err := marshal(reflect.Zero(typ).Interface())
	if err == nil && string(text) == `{"A":{"B":0}}` {
		return nil
	}
	return errors.New("rules of fields are for the struct tags of encoding/json, and this program " +
		"reads those of encoding/json/v2: build it without GOEXPERIMENT=jsonv2")
}

// typeName is a defined type without its type arguments.
type typeName struct{ path, name string }

// reach is what the values of a type lead to without an interface.
type reach struct {
	guarded []string      // the rules of guarded fields, sorted
	open    bool          // an interface
	fields  []structField // of a struct, those that are open
}

// structField is a field of a struct as encoding/json has it, fields of embedded structs included.
type structField struct {
	member string // its name in JSON
	name   string
	of     typeName
	index  []int
	typ    reflect.Type
}

// New returns the types of the guarded fields with these names of rules, such as
// "example.com/directory.Person.Salary". It returns nil for none.
func New(rules []string) *Types {
	if len(rules) == 0 {
		return nil
	}
	main := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "command-line-arguments" {
		main = info.Path
	}
	return newTypes(rules, main)
}

// newTypes is New for a program of a path, which may be unknown.
func newTypes(rules []string, main string) *Types {
	t := &Types{fields: map[typeName][]string{}}
	for _, rule := range rules {
		rest, _ := cutLast(rule, ".")
		path, name := cutLast(rest, ".")
		names := []typeName{{path, name}}
		if path == main || main == "" { // reflect calls the package of the program main
			names = append(names, typeName{"main", name})
		}
		for _, n := range names {
			t.fields[n] = append(t.fields[n], rule)
		}
	}
	return t
}

func cutLast(text, sep string) (before, after string) {
	i := strings.LastIndex(text, sep)
	return text[:max(i, 0)], text[i+1:]
}

// Unguarded is the error for a guarded field in a place whose schema does not guard it.
type Unguarded struct {
	typ   reflect.Type
	field string // the name of its rule
	at    string
	text  string // of an error of another process
}

const unguarded = "the result has a value of type "

// Error implements error.
func (e *Unguarded) Error() string {
	at := "at " + e.at
	switch {
	case e.text != "":
		return e.text
	case e.at == "":
		at = "as a whole"
	}
	return fmt.Sprintf(unguarded+"%s %s, where no schema guards %s: declare %[1]s as the type of "+
		"this place, or leave the value out", e.typ, at, e.field)
}

// Parse returns the error that has the text of an [Unguarded] of another process, or nil.
func Parse(text string) error {
	if !strings.HasPrefix(text, unguarded) {
		return nil
	}
	return &Unguarded{text: text}
}

// maxDepth is the number of levels of a value that are read: as many as encoding/json reads.
const maxDepth = 10_000

// Check returns an error if a value has a guarded field that its schema does not guard. described
// has the guarded fields that the schema has; no schema has those below an interface. A type that
// leads to no interface is analysed once, and its values are not read.
func (t *Types) Check(value any, described []string) error {
	if t == nil || value == nil {
		return nil
	}
	v := reflect.ValueOf(value)
	if isNil(v) {
		return nil
	}
	of := t.of(v.Type())
	for _, rule := range of.guarded {
		if !slices.Contains(described, rule) {
			return &Unguarded{typ: v.Type(), field: rule}
		}
	}
	if !of.open {
		return nil
	}
	w := walk{Types: t, seen: map[place]bool{}}
	return w.value(v, 0)
}

// CheckMember is [Types.Check] for a struct, or a pointer to one. One member, an interface, has the
// schema.
func (t *Types) CheckMember(value any, member string, described []string) error {
	if t == nil || value == nil {
		return nil
	}
	w := walk{Types: t, seen: map[place]bool{}, member: member, described: described}
	return w.value(reflect.ValueOf(value), 0)
}

// walk reads what a value has in interfaces.
type walk struct {
	*Types
	seen      map[place]bool // what pointers and maps lead to
	member    string         // of the value, with the schema that described is of
	described []string
}

type place struct {
	at  unsafe.Pointer
	typ reflect.Type
}

func (t *walk) value(v reflect.Value, depth int) error {
	of := t.of(v.Type())
	if !of.open {
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("a result with more than %d levels", maxDepth)
	}
	if k := v.Kind(); k == reflect.Pointer || k == reflect.Map { // a JSON method may end a cycle
		at := place{v.UnsafePointer(), v.Type()}
		if v.IsNil() || t.seen[at] {
			return nil
		}
		t.seen[at] = true
	}
	inside := func(v reflect.Value, step string) error {
		var err error
		if depth <= 1 && step == "/"+t.member && v.Kind() == reflect.Interface {
			err = t.held(v, t.described, depth+1)
		} else {
			err = t.value(v, depth+1)
		}
		if e, ok := err.(*Unguarded); ok {
			e.at = step + e.at
		}
		return err
	}
	switch v.Kind() {
	case reflect.Interface:
		return t.held(v, nil, depth)
	case reflect.Pointer:
		return t.value(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := inside(v.Index(i), "/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if err := inside(i.Value(), "/*"); err != nil { // keys may be values of others
				return err
			}
		}
	case reflect.Struct:
		for _, f := range of.fields {
			field, err := v.FieldByIndexErr(f.index)
			if err != nil { // of a nil pointer to an embedded struct
				continue
			}
			if err := inside(field, "/"+f.member); err != nil {
				return err
			}
		}
	}
	return nil
}

// held is value for what an interface holds.
func (t *walk) held(v reflect.Value, described []string, depth int) error {
	if v = v.Elem(); !v.IsValid() || isNil(v) {
		return nil
	}
	for _, rule := range t.of(v.Type()).guarded {
		if !slices.Contains(described, rule) {
			return &Unguarded{typ: v.Type(), field: rule}
		}
	}
	return t.value(v, depth+1)
}

// isNil reports whether a value has nothing, also through pointers.
func isNil(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return false
}

// of analyses a type, once.
func (t *Types) of(typ reflect.Type) *reach {
	if known, ok := t.known.Load(typ); ok {
		return known.(*reach)
	}
	r, rules := &reach{}, map[string]bool{}
	t.follow(typ, r, rules, map[read]bool{}, false)
	r.guarded = slices.Sorted(maps.Keys(rules))
	if typ.Kind() == reflect.Struct {
		for _, f := range fieldsOf(typ) {
			below := &reach{}
			if t.follow(f.typ, below, map[string]bool{}, map[read]bool{}, false); below.open {
				r.fields = append(r.fields, f)
			}
		}
	}
	t.known.Store(typ, r)
	return r
}

// read is a type, and whether a JSON or text method reads its values.
type read struct {
	typ      reflect.Type
	byMethod bool
}

// follow adds what a type leads to. A JSON or text method may read all fields within its value,
// also those that encoding/json does not have.
func (t *Types) follow(typ reflect.Type, r *reach, rules map[string]bool, seen map[read]bool,
	byMethod bool) {
	byMethod = byMethod || encodesItself(typ)
	if seen[read{typ, byMethod}] {
		return
	}
	seen[read{typ, byMethod}] = true
	switch typ.Kind() {
	case reflect.Interface:
		r.open = true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
		t.follow(typ.Elem(), r, rules, seen, byMethod)
		if typ.Kind() == reflect.Map && (byMethod || typ.Key().Implements(textMarshaler)) {
			t.follow(typ.Key(), r, rules, seen, byMethod)
		}
	case reflect.Struct:
		if byMethod {
			for i := range typ.NumField() {
				t.follow(typ.Field(i).Type, r, rules, seen, true)
			}
		}
		for _, f := range fieldsOf(typ) {
			for _, rule := range t.fields[f.of] {
				if _, name := cutLast(rule, "."); name == f.name {
					rules[rule] = true
				}
			}
			t.follow(f.typ, r, rules, seen, byMethod)
		}
	}
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// encodesItself reports whether a type has a JSON or text method. Interfaces are of other types.
func encodesItself(typ reflect.Type) bool {
	if typ.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(typ)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

// fieldsOf returns the fields of a struct that encoding/json encodes. A field hides those of
// embedded structs with the name of its member. Of several in one depth, all count.
func fieldsOf(typ reflect.Type) (all []structField) {
	type embedded struct {
		typ   reflect.Type
		index []int
	}
	names, seen := map[string]bool{}, map[reflect.Type]bool{}
	for level := []embedded{{typ: typ}}; len(level) > 0; {
		var next []embedded
		first := len(all)
		for _, e := range level {
			if seen[e.typ] {
				continue
			}
			seen[e.typ] = true
			for i := range e.typ.NumField() {
				f := e.typ.Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				inner := f.Type
				if inner.Kind() == reflect.Pointer && inner.Name() == "" {
					inner = inner.Elem()
				}
				embeds := f.Anonymous && inner.Kind() == reflect.Struct
				if f.Tag.Get("json") == "-" || !f.IsExported() && !embeds {
					continue
				}
				index := append(slices.Clip(e.index), i)
				if embeds && name == "" {
					next = append(next, embedded{inner, index})
					continue
				}
				if name == "" {
					name = f.Name
				}
				if !names[name] {
					all = append(all, structField{name, f.Name, nameOf(e.typ), index, f.Type})
				}
			}
		}
		for _, f := range all[first:] {
			names[f.member] = true
		}
		level = next
	}
	return all
}

func nameOf(typ reflect.Type) typeName {
	name, _, _ := strings.Cut(typ.Name(), "[")
	return typeName{typ.PkgPath(), name}
}

// Child is what one isolated call may return: the fields with rules, and those of them that the
// schema of its result guards.
type Child struct {
	Rules     []string `json:"rules,omitempty"`
	Described []string `json:"described,omitempty"`
}

// child is that of the process of an isolated call. A process has one call.
var child atomic.Pointer[Child]

// Inherit sets what the isolated call of this process may return.
func Inherit(c Child) { child.Store(&c) }

// CheckChild is [Types.Check] for the result of an isolated call. It returns nil in a process
// without one.
func CheckChild(value any) error {
	c := child.Load()
	if c == nil {
		return nil
	}
	return New(c.Rules).Check(value, c.Described)
}

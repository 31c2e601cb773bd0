package decode

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/decimal"
)

// Any reads a value as encoding/json does: into a map[string]any, []any, string, float64, bool or
// nil. The value must have one of the types, named as in JSON Schema. No types allow all.
func (r *Reader) Any(v *any, types ...string) {
	if k, ok := r.beginOf(types); ok {
		r.any(k, v)
	}
}

// beginOf steps to the next value and reports whether it has one of the types. A value of another
// type is a problem and is skipped.
func (r *Reader) beginOf(types []string) (kind, bool) {
	if r.fault != nil {
		return 0, false
	}
	k, f := r.kind()
	if f != nil {
		r.fail(f)
		return 0, false
	}
	if !r.isOf(k, types) {
		r.mismatch(k, types...)
		return 0, false
	}
	r.orNull = false
	return k, true
}

// isOf reports whether the next value, of kind k, has one of the types.
func (r *Reader) isOf(k kind, types []string) bool {
	if len(types) == 0 || slices.Contains(types, Value(r.doc[r.pos:]).Type()) {
		return true
	}
	if k != numberKind || !slices.Contains(types, "integer") {
		return false
	}
	ahead := r.lexer
	number, f := ahead.number()
	// the reader of the number reports the fault
	return f != nil || decimal.Parse(number).IsInteger()
}

func (r *Reader) any(k kind, v *any) {
	switch k {
	case stringKind:
		raw, escaped, f := r.lexer.text()
		if f != nil {
			r.fail(f)
			return
		}
		if escaped {
			raw = unescape(raw)
		}
		*v = string(raw)
	case numberKind:
		number, f := r.lexer.number()
		if f != nil {
			r.fail(f)
			return
		}
		n, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			r.report(number, FloatRangeMessage(64))
		}
		*v = n
	case arrayKind:
		r.anyList(v)
	case objectKind:
		r.anyObject(v)
	default:
		start := r.pos
		if f := r.lexer.word(); f != nil {
			r.fail(f)
			return
		}
		if c := r.doc[start]; c != 'n' {
			*v = c == 't'
		}
	}
}

func (r *Reader) anyList(v *any) {
	if f := r.open(); f != nil {
		r.fail(f)
		return
	}
	list := []any{}
	r.at = append(r.at, step{})
	for items := (elements{r: r}); items.next(); {
		list = append(list, nil)
		r.Any(&list[len(list)-1])
	}
	*v = list
}

func (r *Reader) anyObject(v *any) {
	if f := r.open(); f != nil {
		r.fail(f)
		return
	}
	object := map[string]any{}
	var names nameSet
	depth := len(r.at)
	for first := true; ; first = false {
		r.at = r.at[:depth]
		name, more := r.member(first, &names)
		if !more {
			break
		}
		var value any
		r.Any(&value)
		object[string(name)] = value
	}
	*v = object
}

// Raw copies the JSON text of a value. types are as for Any.
func (r *Reader) Raw(v *json.RawMessage, types ...string) {
	k, ok := r.beginOf(types)
	if !ok {
		return
	}
	start := r.pos
	if f := skipKind(&r.lexer, k); f != nil {
		r.fail(f)
		return
	}
	*v = append(json.RawMessage(nil), r.doc[start:r.pos]...)
}

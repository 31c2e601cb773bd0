package decode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/decimal"
)

// Arguments reads one JSON object into a T with a generated func, which checks each part with the
// functions of this package. Empty or nil arguments are the empty object; null is not.
//
// An error of Scan is the only one, because nothing after it can be read. Other problems are
// reported together. The error is an *Error, with the zero T. The value shares no memory with the
// text. Arguments is safe for concurrent use.
func Arguments[T any](arguments []byte, read func(*Reader, *T)) (T, error) {
	return ArgumentsOf(arguments, nil, read)
}

// ArgumentsOf is [Arguments] with choices, which may be nil.
func ArgumentsOf[T any](arguments []byte, choices *Choices, read func(*Reader, *T)) (T, error) {
	var value, zero T
	r := Begin(arguments).Choose(choices)
	read(r, &value)
	if err := r.Finish(); err != nil {
		return zero, err
	}
	return value, nil
}

// Begin returns a Reader at the start of arguments. A generated func reads them, and then calls
// Finish: these are the parts of Arguments that are the same for every type. It reads nothing if
// the arguments are too long.
func Begin(arguments []byte) *Reader {
	r := readers.Get().(*Reader)
	r.start(arguments)
	return r
}

// Nothing is Arguments for a tool without arguments: it accepts an object without properties.
func Nothing(arguments []byte) error { return Begin(arguments).Nothing() }

// Nothing reads the arguments of a tool without arguments, and ends the Reader as Finish does.
func (r *Reader) Nothing() error {
	for o := r.Object(0); o.Next(); {
	}
	return r.Finish()
}

// Reader reads one document in the order of its text. Generated decoders call it for each value.
// It collects the problem of a value with its place, and continues.
//
// After a fault, which is text that is not valid JSON or exceeds a limit, it reads nothing more.
// A Reader is for one goroutine.
type Reader struct {
	lexer
	at       []step // the place of the current value
	fault    *fault
	problems []Problem
	orNull   bool // the next value may also be null; messages mention it
	choices  *Choices

	// The last value, for the limits that are checked afterwards.
	literal []byte // a string's or number's JSON text
	str     string
	list    []byte // an array's JSON text
	items   int
}

// step is a property's name, or an index if the name is nil.
type step struct {
	name     []byte
	index    int
	optional bool // the property may be absent
}

var readers = sync.Pool{New: func() any { return &Reader{at: make([]step, 0, 16)} }}

// emptyObject is the default of absent arguments.
var emptyObject = []byte("{}")

var defaultLimits = Limits{}.orDefaults()

// start resets the Reader for a document.
func (r *Reader) start(doc []byte) {
	if len(doc) == 0 {
		doc = emptyObject
	}
	r.lexer = lexer{doc: doc, limits: defaultLimits}
	r.fault = tooLong(doc, defaultLimits)
}

// Finish returns the problems of the arguments, as Arguments does, and releases the Reader. Do
// not use it afterwards.
func (r *Reader) Finish() error {
	if r.fault == nil {
		if f := r.end(); f != nil {
			r.fail(f)
		}
	}
	problems := r.problems
	if r.fault != nil {
		problems = []Problem{r.fault.problem()}
	}
	clear(r.at[:cap(r.at)])
	*r = Reader{at: r.at[:0]}
	readers.Put(r)
	return NewError(problems)
}

// fail records the fault that stops the reading, and its place.
func (r *Reader) fail(f *fault) {
	if r.fault != nil {
		return
	}
	for i := len(r.at) - 1; i >= 0; i-- {
		f = f.within(r.at[i].String())
	}
	r.fault = f
}

func (s step) String() string {
	if s.name == nil {
		return strconv.Itoa(s.index)
	}
	return string(s.name)
}

// enough limits the problems that are collected before NewError selects from them: every pointer
// takes memory, and a hostile document has as many problems as values.
const enough = 20 * MaxProblems

// report adds a problem with the value at the current place. literal is its JSON text.
func (r *Reader) report(literal []byte, message string) {
	if r.fault == nil && len(r.problems) <= enough {
		r.problems = append(r.problems, NewProblem(r.pointer(), uniform(literal), message))
	}
}

// reportMember adds a problem with a property of the value at the current place.
func (r *Reader) reportMember(name []byte, message string) {
	if r.fault == nil && len(r.problems) <= enough {
		at := Pointer(r.pointer(), string(name))
		r.problems = append(r.problems, Problem{Pointer: at, Message: message})
	}
}

func (r *Reader) pointer() string {
	pointer := ""
	for _, s := range r.at {
		pointer = Pointer(pointer, s.String())
	}
	return pointer
}

// uniform returns a string's JSON text with this module's escapes.
func uniform(literal []byte) string {
	if len(literal) == 0 || literal[0] != '"' {
		return string(literal)
	}
	return quote(string(unescape(literal[1 : len(literal)-1])))
}

// quote writes a string as JSON, without the escapes that HTML would need.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // never fails
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// begin steps to the next value and reports whether it is of the wanted kind. A value of
// another kind is a problem and is skipped.
func (r *Reader) begin(want kind, expected string) bool {
	if r.fault != nil {
		return false
	}
	k, f := r.kind()
	if f != nil {
		r.fail(f)
		return false
	}
	if k == want {
		r.orNull = false
		return true
	}
	r.mismatch(k, expected)
	return false
}

// mismatch reports and skips a value of the wrong type.
func (r *Reader) mismatch(k kind, expected ...string) {
	if r.orNull {
		expected = append(expected, "null")
		r.orNull = false
	}
	start, is := r.pos, Value(r.doc[r.pos:]).Type()
	if f := skipKind(&r.lexer, k); f != nil {
		r.fail(f)
		return
	}
	literal := r.doc[start:r.pos]
	if k == arrayKind || k == objectKind || is == "null" {
		literal = nil // messages do not repeat these
	}
	message := TypeMessage(is, expected...)
	if n := len(r.at); is == "null" && n > 0 && r.at[n-1].optional {
		message += OmitMessage
	}
	r.report(literal, message)
}

// Null reads null if the value is null, and reports whether it did.
func (r *Reader) Null() bool {
	if r.fault != nil {
		return true
	}
	r.space()
	if r.pos == len(r.doc) || r.doc[r.pos] != 'n' {
		r.orNull = true
		return false
	}
	_, f := r.kind()
	if f == nil {
		f = r.word()
	}
	if f != nil {
		r.fail(f)
	}
	return true
}

// New sets a pointer to a new value and returns the pointer.
func New[T any](v **T) *T {
	*v = new(T)
	return *v
}

// Default sets an absent property to a default for which Go has no literal. read reads text, the
// default in JSON. A default that the Go type cannot hold is a problem of the property in every
// document.
func Default[T any](r *Reader, name, text string, v *T, read func(*Reader, *T)) {
	if r.fault != nil {
		return
	}
	own := Begin([]byte(text))
	read(own, v)
	if err := own.Finish(); err != nil {
		r.reportMember([]byte(name), "has a default that its type does not accept")
	}
}

// Within returns the struct of an embedded pointer, and allocates it at the first of its
// properties.
func Within[T any](v **T) *T {
	if *v == nil {
		*v = new(T)
	}
	return *v
}

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

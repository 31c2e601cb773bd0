package codecapabilities

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"plugin"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
	_ "unsafe" // for go:linkname

	"github.com/mcpgen/mcpgen/cmd/mcpgen-prove/reach/testdata/codecapabilities/other"
)

// Each way has types of its own: what values flow to is found by type.
type (
	inMap     func(int8) error
	inField   func(int16) error
	inInit    func(int32) error
	inChannel func(int64) error
	inPointer func(uint8) error
	inStruct  func(uint16) error
	inPanic   func(uint32) error
	inResult  func(uint64) error
	inAtomic  func(float32) error
	byLink    func(float64) error
	inGeneric func(uintptr) error
	inSlice   func([1]int) error
	inAny     func([2]int) error
)

func open() error { _, err := os.Open("x"); return err }

var byName = map[string]inMap{"open": func(int8) error { return open() }}

// want files
func InMap(name string) { byName[name](1) }

type holder struct {
	f inField
	s other.Storer
}

func newHolder() *holder {
	return &holder{func(int16) error { return open() }, other.NewStorer()}
}

var held = newHolder()

// want files
func InField() { held.f(1) }

// want files writes
func ConstructedElsewhere() { held.s.Store("x") }

var set inInit

func init() { set = func(int32) error { return open() } }

// want files
func InInit() { set(1) }

var funcs = make(chan inChannel, 1)

func init() { funcs <- func(int64) error { return open() } }

// want files
func InChannel() {
	select {
	case f := <-funcs:
		f(1)
	default:
	}
}

var pointed = func() *inPointer {
	var f inPointer
	p := &f
	*p = func(uint8) error { return open() }
	return &f
}()

// want files
func InPointer() { (**(&pointed))(1) }

type tagged struct {
	F inStruct `json:"f"`
}

type plain struct{ F inStruct }

var converted = tagged{func(uint16) error { return open() }}

// want files
func InConvertedStruct() { plain(converted).F(1) }

func throws() { panic(inPanic(func(uint32) error { return open() })) }

// want files
func InPanic() {
	defer func() { recover().(inPanic)(1) }()
	throws()
}

func results() (int, inResult) { return 1, func(uint64) error { return open() } }

// want files
func InResult() { _, f := results(); f(1) }

type reached struct{ value T[inGeneric] }

// T is generic.
type T[F any] struct{ f F }

func (t T[F]) get() F { return t.f }

var generic1 = reached{T[inGeneric]{func(uintptr) error { return open() }}}

// want files
func InGeneric() { generic1.value.get()(1) }

var list = append([]inSlice(nil), func([1]int) error { return open() })

// want files
func InSlice() {
	for _, f := range list {
		f([1]int{})
	}
}

var stored sync.Map

func init() { stored.Store("f", inAny(func([2]int) error { return open() })) }

// want files
func InSyncMap() { f, _ := stored.Load("f"); f.(inAny)([2]int{}) }

var value atomic.Value

func init() { value.Store(inAtomic(func(float32) error { return open() })) }

// want files
func InAtomicValue() { value.Load().(inAtomic)(1) }

var pool = sync.Pool{New: func() any { open(); return new(int) }}

// want files
func FromPool() { pool.Get() }

var load = sync.OnceValue(func() error { return open() })

// want files
func OnceValue() { load() }

func all() iter.Seq[holder] {
	return func(yield func(holder) bool) { open(); yield(holder{}) }
}

// want files
func Iterates() {
	for range all() {
	}
}

// want none
func Yields() {
	for range sequence() {
	}
}

func sequence() iter.Seq[shelf] { return func(yield func(shelf) bool) { yield(shelf{}) } }

// want files
func As() {
	var looks interface{ Look() }
	if errors.As(other.Broken(), &looks) {
		looks.Look()
	}
}

// want files
func WritesToKept() { fmt.Fprint(other.Sink, "x") }

// want files
func WritesByMethod() { other.Sink.Write(nil) }

// want exec network
func KeptTransport() { other.Client.Get("x") }

// want exec network
func KeptHandler(w http.ResponseWriter, r *http.Request) { other.Handler.ServeHTTP(w, r) }

// want exec
func ByLibrary() { other.Start() }

type decoded struct{}

func (*decoded) UnmarshalJSON([]byte) error { return open() }

// want files
func Decodes(text []byte) { json.Unmarshal(text, &struct{ D *decoded }{}) }

// want files
func DecodesReader(r io.Reader) { var list []decoded; json.NewDecoder(r).Decode(&list) }

type named struct{ name string }

func (named) MarshalText() ([]byte, error) { return nil, open() }

// want files
func Encodes() { xml.NewEncoder(io.Discard).Encode(map[string][]named{}) }

// want unknown
func Executes(t *template.Template, data any) { t.Execute(io.Discard, data) }

// want unknown
func ByMethodName(v any) { reflect.ValueOf(v).MethodByName("Reach").Call(nil) }

// want unknown
func MakesFunc(t reflect.Type) { reflect.MakeFunc(t, nil) }

// want files
func SetByReflection() { other.Moved() }

// want none
func ReadsByReflection(v struct{ N int }) int { return int(reflect.ValueOf(v).Field(0).Int()) }

// want none
func HeaderOfText(b []byte) string { return strings.ToUpper(text(b)) }

func assembly()

// want unknown
func Assembly() { assembly() }

//go:linkname elsewhere github.com/nobody/nothing.elsewhere
func elsewhere()

// want unknown
func LinkedFunc() { elsewhere() }

//go:linkname linked github.com/nobody/nothing.linked
var linked byLink = func(float64) error { return nil }

// want unknown
func LinkedVariable() { linked(1) }

// want exec unknown
func Plugs() {
	if p, err := plugin.Open("x"); err == nil {
		p.Lookup("F")
	}
}

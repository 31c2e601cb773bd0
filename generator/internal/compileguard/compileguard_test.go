package compileguard

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// world type-checks packages in the order given, each from one source. The standard library comes
// from source.
type world struct {
	t        *testing.T
	packages map[string]*types.Package
}

// The standard library is read once for all tests.
var (
	files    = token.NewFileSet()
	standard = importer.ForCompiler(files, "source", nil)
)

func newWorld(t *testing.T) *world {
	return &world{t, map[string]*types.Package{}}
}

func (w *world) Import(path string) (*types.Package, error) {
	if p := w.packages[path]; p != nil {
		return p, nil
	}
	return standard.Import(path)
}

func (w *world) add(path, source string) *types.Package {
	w.t.Helper()
	file, err := parser.ParseFile(files, path+".go", source, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	config := types.Config{Importer: w}
	p, err := config.Check(path, files, []*ast.File{file}, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.packages[path] = p
	return p
}

// facts lists objects by "path.Name"; a handler may be "path.Recv.Name".
func (w *world) facts(pkg *types.Package, handlers, named, consts string) Facts {
	w.t.Helper()
	f := Facts{Package: pkg, Local: func(p *types.Package) bool { return strings.HasPrefix(p.Path(), "m") }}
	object := func(name string) types.Object {
		i := strings.LastIndex(name, ".")
		p, err := w.Import(name[:i])
		if err != nil {
			w.t.Fatal(err)
		}
		return p.Scope().Lookup(name[i+1:])
	}
	for _, name := range strings.Fields(handlers) {
		if recv, method, ok := strings.Cut(name, ":"); ok {
			m, _, _ := types.LookupFieldOrMethod(object(recv).Type(), true, pkg, method)
			f.Handlers = append(f.Handlers, m.(*types.Func))
			continue
		}
		f.Handlers = append(f.Handlers, object(name).(*types.Func))
	}
	for _, name := range strings.Fields(named) {
		obj := object(name)
		if obj == nil {
			w.t.Fatalf("no type %s", name)
		}
		f.Types = append(f.Types, obj.(*types.TypeName))
	}
	for _, name := range strings.Fields(consts) {
		f.Consts = append(f.Consts, object(name).(*types.Const))
	}
	return f
}

// show writes guards one a line, struct fields parted by semicolons.
func show(guards []model.CompileGuard) string {
	var b strings.Builder
	for _, g := range guards {
		kind := map[model.CompileGuardKind]string{
			model.StructGuard: "struct", model.TypeGuard: "type", model.CodecGuard: "codec",
			model.SignatureGuard: "signature", model.ConstGuard: "const",
		}[g.Kind]
		want := strings.ReplaceAll(strings.ReplaceAll(g.Want.String(), "{\n", "{"), "\n}", "}")
		line := fmt.Sprintf("%s %s = %s", kind, g.Subject, strings.ReplaceAll(want, "\n", "; "))
		line = strings.TrimSuffix(line, " = ")
		if g.InTest {
			line += " (test)"
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func expect(t *testing.T, guards []model.CompileGuard, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimLeft(want, "\n"), "'", "`")
	if got := show(guards); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestEachFactHasItsGuard(t *testing.T) {
	w := newWorld(t)
	p := w.add("m/p", "package p\n"+`
import ("context"; "time")
type S struct{}
func (*S) Get(ctx context.Context, in In) (out Out, err error) { return }
func (S) List(ctx context.Context, names ...string) error { return nil }
func Count(ctx context.Context, in *In) (int, error) { return 0, nil }
type I interface { Do(context.Context) error }
type In struct {
	ID ID `+"`json:\"id\"`"+`
	Raw string "a`+"`"+`b"
	At time.Time
	Embedded
	hidden map[string][]*[2]struct{ X int `+"`x:\"y\"`"+` }
	Any any
	Call func(chan int)
}
type Embedded struct{}
type Out struct{ Next *Out }
type ID string
type List []struct{ A int `+"`json:\"a\"`"+` }
type Grid [2][2]int
type Set map[string]bool
type Ref *Out
type Face interface{ M() }
type Fn func(int) string
type Color string
const Red, Blue Color = "red", "b\"lue"
type Level int
const Low, High Level = -1, 2
const Odd = 1.5
`)
	expect(t, For(w.facts(p, "m/p.S:Get m/p.S:List m/p.Count m/p.I:Do",
		"m/p.Set m/p.In m/p.Embedded m/p.Out m/p.ID m/p.List m/p.Grid m/p.Ref m/p.Face m/p.Fn m/p.Color time.Time",
		"m/p.Red m/p.Blue m/p.Low m/p.High m/p.Odd")), `
signature (*S).Get = func(*S, context.Context, In) (Out, error)
signature S.List = func(S, context.Context, ...string) error
signature Count = func(context.Context, *In) (int, error)
signature I.Do = func(I, context.Context) error
type Color = string
codec Color
struct Embedded = struct{}
codec Embedded
type Face = interface{M()}
type Fn = func(int) string
codec Fn
struct Grid = [2][2]int
codec Grid
type ID = string
codec ID
struct In = struct {ID ID 'json:"id"'; Raw string "a`+"`"+`b"; At time.Time; Embedded; hidden map[string][]*[2]struct {X int 'x:"y"'}; Any any; Call func(chan int)}
codec In
struct List = []struct {A int 'json:"a"'}
codec List
struct Out = struct {Next *Out}
codec Out
type Ref = *Out
struct Set = map[string]bool
codec Set
const Red = "red"
const Blue = "b\"lue"
const Low = -1
const High = 2
`)
}

func TestTypesThatWriteTheirOwnJSONAreGuardedByTheirMethods(t *testing.T) {
	w := newWorld(t)
	p := w.add("m/p", `package p
import "time"
type Text struct{ n int }
func (Text) MarshalText() ([]byte, error) { return nil, nil }
func (*Text) UnmarshalText([]byte) error { return nil }
type Reads struct{ N int }
func (*Reads) UnmarshalJSON([]byte) error { return nil }
type Stamp struct { time.Time; N int }
`)
	expect(t, For(w.facts(p, "", "m/p.Text m/p.Reads m/p.Stamp", "")), `
signature (*Reads).UnmarshalJSON = func(*Reads, []byte) error
struct Reads = struct {N int}
codec Reads = MarshalJSON MarshalText UnmarshalText
signature Stamp.MarshalJSON = func(Stamp) ([]byte, error)
signature (*Stamp).UnmarshalJSON = func(*Stamp, []byte) error
signature Stamp.MarshalText = func(Stamp) ([]byte, error)
signature (*Stamp).UnmarshalText = func(*Stamp, []byte) error
signature Text.MarshalText = func(Text) ([]byte, error)
signature (*Text).UnmarshalText = func(*Text, []byte) error
codec Text = MarshalJSON UnmarshalJSON
`)
}

func TestEachInstanceOfAGenericTypeIsGuarded(t *testing.T) {
	w := newWorld(t)
	p := w.add("m/p", `package p
import "context"
type Page[T any] struct { Items []T; Next *Page[T] }
type Pair[A comparable, B any] map[A]B
type In struct { A Page[int]; B *[]Page[string]; C Pair[string, Page[In]] }
func Get(ctx context.Context, in In) (Page[In], error) { panic(0) }
`)
	expect(t, For(w.facts(p, "m/p.Get", "m/p.In m/p.Page m/p.Pair", "")), `
signature Get = func(context.Context, In) (Page[In], error)
struct In = struct {A Page[int]; B *[]Page[string]; C Pair[string, Page[In]]}
codec In
struct Page[In] = struct {Items []In; Next *Page[In]}
codec Page[In]
struct Page[int] = struct {Items []int; Next *Page[int]}
codec Page[int]
struct Page[string] = struct {Items []string; Next *Page[string]}
codec Page[string]
struct Pair[string, Page[In]] = map[string]Page[In]
codec Pair[string, Page[In]]
`)
}

func TestTypesOfOtherPackagesAreGuardedIfTheyCanBeWritten(t *testing.T) {
	w := newWorld(t)
	w.add("m/q", `package q
type Open struct{ A int }
type Closed struct{ a int }
type Shut struct{ A secret }
type secret struct{ N int }
type Few struct{ A interface{ m() } }
const Red, hidden = "red", "h"
type Alias = secret
type Kind string
`)
	w.add("other.org/x/internal/y", "package y\ntype Y struct{}\n")
	w.add("other.org/x", `package x
import "other.org/x/internal/y"
type X struct{ A int }
type Z struct{ B y.Y }
type N int
type M map[string]y.Y
func (N) MarshalText() ([]byte, error) { return nil, nil }
type Alias = X
`)
	p := w.add("m/p", `package p
import ("m/q"; "other.org/x"; "net/url"; "encoding/json"; "time")
type In struct { A q.Open; B q.Closed; C x.X; D q.Alias; E x.Alias; F url.URL; G json.Number; H time.Time }
type Mine = q.Open
type Chain = Mine
type Both struct { M Chain; N map[Mine]q.Kind }
`)
	expect(t, For(w.facts(p, "", "m/p.In m/p.Both m/q.Open m/q.Closed m/q.Shut m/q.Few m/q.secret m/q.Kind other.org/x.X other.org/x.Z other.org/x.N other.org/x.M net/url.Error encoding/json.Number time.Time",
		"m/q.Red m/q.hidden")), `
struct Both = struct {M Chain; N map[Mine]q.Kind}
codec Both
signature func(Mine) {} = func(Chain)
struct In = struct {A q.Open; B q.Closed; C x.X; D q.Alias; E x.Alias; F url.URL; G json.Number; H time.Time}
codec In
signature func(q.Open) {} = func(Mine)
codec q.Closed
codec q.Few
type q.Kind = string
codec q.Kind
struct q.Open = struct {A int}
codec q.Open
codec q.Shut
struct url.Error = struct {Op string; URL string; Err error} (test)
codec url.Error (test)
codec x.M (test)
signature x.N.MarshalText = func(x.N) ([]byte, error) (test)
codec x.N = MarshalJSON UnmarshalJSON UnmarshalText (test)
struct x.X = struct {A int} (test)
codec x.X (test)
codec x.Z (test)
const q.Red = "red"
`)
}

// TestATypeOfTwoLoadsIsOneType gives facts that come from another load of the same package.
func TestATypeOfTwoLoadsIsOneType(t *testing.T) {
	const q = "package q\ntype Page[T any] struct{ Items []T }\ntype Open struct{ A Page[int] }\n"
	first, second := newWorld(t), newWorld(t)
	first.add("m/q", q)
	p := first.add("m/p", "package p\nimport \"m/q\"\ntype In struct{ A q.Open }\n")
	second.add("m/q", q)
	f := first.facts(p, "", "m/p.In", "")
	f.Types = append(f.Types, second.facts(p, "", "m/q.Open m/q.Page", "").Types...)
	expect(t, For(f), `
struct In = struct {A q.Open}
codec In
struct q.Open = struct {A q.Page[int]}
codec q.Open
struct q.Page[int] = struct {Items []int}
codec q.Page[int]
`)
}

package gotype

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// load type-checks packages in order: path, source, path, source.
func load(t *testing.T, sources ...string) map[string]*types.Package {
	t.Helper()
	files := token.NewFileSet()
	loaded := packages{}
	for i := 0; i < len(sources); i += 2 {
		file, err := parser.ParseFile(files, "x.go", sources[i+1], 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := (&types.Config{Importer: loaded}).Check(sources[i], files, []*ast.File{file}, nil)
		if err != nil {
			t.Fatal(err)
		}
		loaded[sources[i]] = p
	}
	return loaded
}

type packages map[string]*types.Package

func (p packages) Import(path string) (*types.Package, error) {
	if loaded := p[path]; loaded != nil {
		return loaded, nil
	}
	return importer.Default().Import(path)
}

const vault = `package vault
type Open struct{ A int }
type Box[T any] struct{ In T }
type hidden struct{}
type Alias = hidden
type Key interface{ turn() }
var Turn interface{ turn() }
var Inside struct{ a int }
var List []hidden
`

func TestTypeAndCan(t *testing.T) {
	loaded := load(t, "m/vault", vault, "m/vault/internal/deep", "package deep\ntype D struct{}\n",
		"m/a", `package a
import (
	v "m/vault"
	"m/vault/internal/deep"
)
type own struct{ n int }
type ownGeneric[T any] struct{}
type (
	basic int
	named v.Open
)
var (
	Plain       map[string][]*[3]own
	Foreign     func(chan<- v.Open, ...*v.Box[own]) (n int, err error)
	Nested      v.Box[map[string]v.Box[v.Open]]
	Interface   interface{ M(v.Open) error; v.Key }
	Any         any
	Empty       struct{}
	Struct      struct {
		A, B int `+"`json:\"a\"`"+`
		*own
		v.Open "with a `+"`"+`"
		Deeper struct{ C v.Open }
	}
	Alias       v.Alias
	Turn        = v.Turn
	Inside      = v.Inside
	List        = v.List
	Deep        deep.D
	Chan        chan deep.D
	Method      interface{ M(deep.D) }
	Result      func() deep.D
	Argument    v.Box[deep.D]
	Array       [2]deep.D
	Pointer     *deep.D
	Map         map[string]deep.D
	Key         map[deep.D]string
	Embeds      interface{ interface{ M(deep.D) } }
	Field       struct{ D deep.D }
)
func F[T any](in T, n ownGeneric[T]) {}
`)
	const struct_ = "struct {\nA int `json:\"a\"`\nB int `json:\"a\"`\n*own\nvault.Open \"with a `\"\nDeeper struct {\nC vault.Open\n}\n}"
	for _, tc := range []struct {
		name, text string
		// from package m/a, which may not import m/vault/internal/deep when it stands elsewhere
		can          bool
		canElsewhere bool
	}{
		{"Plain", "map[string][]*[3]own", true, false},
		{"Foreign", "func(chan<- vault.Open, ...*vault.Box[own]) (n int, err error)", true, false},
		{"Nested", "vault.Box[map[string]vault.Box[vault.Open]]", true, true},
		{"Interface", "interface{M(vault.Open) error; vault.Key}", true, true},
		{"Any", "any", true, true},
		{"Empty", "struct{}", true, true},
		{"Struct", struct_, true, false},
		{"Alias", "vault.Alias", true, true},
		{"Turn", "interface{turn()}", false, false},
		{"Inside", "struct {\na int\n}", false, false},
		{"List", "[]vault.hidden", false, false},
		{"Deep", "deep.D", false, false},
		{"Chan", "chan deep.D", false, false},
		{"Method", "interface{M(deep.D)}", false, false},
		{"Result", "func() deep.D", false, false},
		{"Argument", "vault.Box[deep.D]", false, false},
		{"Array", "[2]deep.D", false, false},
		{"Pointer", "*deep.D", false, false},
		{"Map", "map[string]deep.D", false, false},
		{"Key", "map[deep.D]string", false, false},
		{"Embeds", "interface{interface{M(deep.D)}}", false, false},
		{"Field", "struct {\nD deep.D\n}", false, false},
	} {
		typ := loaded["m/a"].Scope().Lookup(tc.name).Type()
		if got := Expr(typ, loaded["m/a"]).String(); got != tc.text {
			t.Errorf("%s is written %q, want %q", tc.name, got, tc.text)
		}
		if got := CanWrite(typ, loaded["m/a"]); got != tc.can {
			t.Errorf("%s can be written: %v", tc.name, got)
		}
		elsewhere := types.NewPackage("m/elsewhere", "elsewhere")
		if got := CanWrite(typ, elsewhere); got != tc.canElsewhere {
			t.Errorf("%s can be written elsewhere: %v", tc.name, got)
		}
	}
	generic := loaded["m/a"].Scope().Lookup("F").Type().(*types.Signature)
	if CanWrite(generic.Params().At(0).Type(), loaded["m/a"]) {
		t.Error("a type parameter can be written outside its func")
	}
	if CanWrite(generic.Params().At(1).Type(), loaded["m/a"]) {
		t.Error("an instance over a type parameter can be written outside its func")
	}
	if CanWrite(types.Typ[types.Invalid], loaded["m/a"]) {
		t.Error("what did not type-check can be written")
	}
}

func TestWhatLivesInAFuncHasNoName(t *testing.T) {
	p := load(t, "m/a", "package a\nvar V = func() any { type local struct{}; return local{} }\nfunc F() { type local struct{}; _ = local{} }\n")["m/a"]
	inner := p.Scope().Lookup("F").(*types.Func).Scope().Lookup("local")
	if CanWrite(inner.Type(), p) {
		t.Error("a type that a func declares can be written outside it")
	}
}

func TestInternalPackagesAreImportedFromTheirParentOnly(t *testing.T) {
	for _, tc := range []struct {
		path, from string
		can        bool
	}{
		{"m/x", "m/y", true},
		{"m/internal", "m", true},
		{"m/internal/x", "m/y", true},
		{"m/internal/x", "n/y", false},
		{"m/internal/x", "mm", false},
		{"m/a/internal/b/internal/c", "m/a/x", false},
		{"m/a/internal/b/internal/c", "m/a/internal/b/x", true},
		{"m/internals/x", "n", true},
		{"internal/abi", "m", false},
		{"vendor/golang.org/x/net/idna", "m", false},
	} {
		if got := importable(tc.path, tc.from); got != tc.can {
			t.Errorf("%s from %s: %v", tc.path, tc.from, got)
		}
	}
	main := types.NewPackage("m/cmd", "main")
	if CanName(types.NewTypeName(0, main, "T", nil), types.NewPackage("m", "m")) {
		t.Error("a name of a program can be imported")
	}
}

func TestTokensOfOtherPackagesStandApart(t *testing.T) {
	loaded := load(t, "m/go-vault", vault, "m/a", "package a\nimport \"m/go-vault\"\nvar V map[string]vault.Open\n")
	e := Expr(loaded["m/a"].Scope().Lookup("V").Type(), loaded["m/a"])
	if len(e) != 2 || e[0].Text != "map[string]" || e[1].Text != "Open" || e[1].Path != "m/go-vault" || e[1].Package != "vault" {
		t.Errorf("%+v", e)
	}
}

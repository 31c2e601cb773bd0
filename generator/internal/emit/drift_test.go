package emit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// program type-checks packages of the scratch module again and again, with changed sources, as the
// compiler would; what they import is loaded once.
type program struct {
	t        *testing.T
	files    *token.FileSet
	imported map[string]*types.Package
	dir      string
}

func newProgram(t *testing.T, dir string) *program {
	t.Helper()
	files := token.NewFileSet()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps,
		Dir:  dir, Fset: files, Tests: true,
		Env: append(os.Environ(), "GOWORK=off"),
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]*types.Package{}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if !strings.HasPrefix(p.PkgPath, "example.com") {
			imported[p.PkgPath] = p.Types
		}
	})
	return &program{t, files, imported, dir}
}

// build type-checks a package and, before it, the ones below it, each with all its files. edits
// replace text in files by path.
func (p *program) build(path string, edits map[string][2]string) []string {
	p.t.Helper()
	var problems []string
	own := maps.Clone(p.imported)
	check := types.Config{
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if found := own[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("no package %s", path)
		}),
		Error: func(err error) { problems = append(problems, err.Error()) },
	}
	root := filepath.Join(p.dir, filepath.FromSlash(strings.TrimPrefix(path, "example.com/")))
	dirs, err := filepath.Glob(filepath.Join(root, "*", ""))
	if err != nil {
		p.t.Fatal(err)
	}
	edited := 0
	for _, dir := range append(dirs, root) {
		sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			p.t.Fatal(err)
		}
		var files []*ast.File
		for _, source := range sources {
			content, err := os.ReadFile(source)
			if err != nil {
				p.t.Fatal(err)
			}
			text := string(content)
			if edit, ok := edits[filepath.Base(source)]; ok {
				if strings.Count(text, edit[0]) != 1 {
					p.t.Fatalf("%q stands %d times in %s", edit[0], strings.Count(text, edit[0]), source)
				}
				text = strings.Replace(text, edit[0], edit[1], 1)
				edited++
			}
			file, err := parser.ParseFile(p.files, filepath.Base(source), text, 0)
			if err != nil {
				p.t.Fatal(err)
			}
			if strings.HasSuffix(file.Name.Name, "_test") {
				continue // the external test package
			}
			files = append(files, file)
		}
		if len(files) == 0 {
			continue
		}
		path := path
		if dir != root {
			path += "/" + filepath.Base(dir)
		}
		own[path], _ = check.Check(path, p.files, files, nil)
	}
	if edited != len(edits) {
		p.t.Fatal("an edit found no file")
	}
	return problems
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// TestDriftDoesNotCompile changes the author's source after generation: what JSON and the runtime
// rely on must stop the compiler, in a generated file, with the remedy in its message where the
// compiler has a choice of words.
func TestDriftDoesNotCompile(t *testing.T) {
	scratch := newScratch(t)
	for _, tc := range testCases() {
		copyAll(t, filepath.Join("testdata", tc.name), filepath.Join(scratch, tc.name))
	}
	p := newProgram(t, scratch)
	const remedy = "unGoGenerate" // with a small or a capital letter
	for _, tc := range []struct {
		name, path, file, old, new string
		message                    string // empty: it compiles
	}{
		{"renamed field", "freight", "freight.go", "Next *Parcel", "Then *Parcel", remedy},
		{"type of a field", "freight", "freight.go", "Weight unit.Mass", "Weight int", remedy},
		{"tag", "freight", "freight.go", "weight,omitempty", "weight", remedy},
		{"tag of a nested field", "freight", "freight.go", "who is called", "who calls", remedy},
		{"added field", "freight", "freight.go", "\tseen bool", "\tseen bool\n\tNew int", remedy},
		{"removed field", "freight", "freight.go", "\tseen bool\n", "", remedy},
		{"reordered fields", "freight", "freight.go", "\tStamps\n", "", remedy},
		{"embedded field", "freight", "freight.go", "BookedAt time.Time `json:\"booked_at\"`", "BookedAt time.Time", remedy},
		{"named string", "freight", "freight.go", "type ID string", "type ID int", remedy},
		{"named slice", "freight", "freight.go", "type Labels []string", "type Labels []int", remedy},
		{"alias", "freight", "freight.go", "type Note = unit.Remark", "type Note = unit.Mass", remedy},
		{"generic type", "freight", "freight.go", "Items []T", "Items []*T", remedy},
		{"a JSON method", "freight", "freight.go", "type ID string", "type ID string\nfunc (ID) MarshalJSON() ([]byte, error) { return nil, nil }", remedy},
		{"a JSON method on the pointer", "freight", "freight.go", "type ID string", "type ID string\nfunc (*ID) UnmarshalJSON([]byte) error { return nil }", remedy},
		{"a text method", "freight", "freight.go", "type ID string", "type ID string\nfunc (ID) MarshalText() ([]byte, error) { return nil, nil }", remedy},
		{"a text method on the pointer", "freight", "freight.go", "type ID string", "type ID string\nfunc (*ID) UnmarshalText([]byte) error { return nil }", remedy},
		{"an embedded JSON method", "freight", "freight.go", "type Stamps struct {", "func (Stamps) MarshalJSON() ([]byte, error) { return nil, nil }\ntype Stamps struct {", remedy},
		{"signature of a func", "freight", "freight.go", "(int, error) { return 0, nil }", "(int64, error) { return 0, nil }", remedy},
		{"signature of a method", "freight", "freight.go", "in *BookInput) (Parcel, error)", "in *BookInput) (*Parcel, error)", remedy},
		{"added parameter", "freight", "freight.go", "limit int, since", "limit, page int, since", remedy},
		{"pointer instead of a value", "freight", "freight.go", "in BookInput) (*mcp.CallToolResult", "in *BookInput) (*mcp.CallToolResult", remedy},
		{"enum value of the same length", "freight", "freight.go", `Status = "sent"`, `Status = "gone"`, remedy},
		{"longer enum value", "freight", "freight.go", `Status = "sent"`, `Status = "sent "`, remedy},
		{"shorter enum value", "freight", "freight.go", `Status = "sent"`, `Status = "sen"`, remedy},
		{"removed enum value", "freight", "freight.go", `Sent    Status = "sent"`, "", "undefined: Sent"},
		{"removed handler", "freight", "freight.go", "func Count(", "func count(", "undefined: Count"},
		{"removed type", "freight", "freight.go", "type Labels []string", "type labels []string", "undefined: Labels"},
		{"field of another package", "freight", "unit.go", `json:"text"`, `json:"words"`, remedy},
		{"type of another package", "freight", "unit.go", "type Mass int", "type Mass int8", remedy},
		{"a JSON method of another package", "freight", "unit.go", "type Mass int", "type Mass int\nfunc (Mass) MarshalJSON() ([]byte, error) { return nil, nil }", remedy},
		{"a text method that goes", "freight", "unit.go", "MarshalText() ([]byte, error)", "Text() ([]byte, error)", "has no field or method MarshalText"},
		{"a text method that moves to the pointer", "freight", "unit.go", "func (a Author) Marshal", "func (a *Author) Marshal", "MarshalText"},
		{"value of a role", "receivers", "receivers.go", "iota * 10", "iota * 11", remedy},
		{"an interface method", "receivers", "receivers.go", "Close(ctx context.Context) error", "Close(ctx context.Context, hard bool) error", remedy},
		{"a field in a package with name collisions", "namecollisions", "time.go", "Hour int8", "Hour int16", remedy},

		{"nothing", "freight", "freight.go", "return in.Parcel, nil\n", "return in.Parcel, nil\n", ""},
		{"a body", "freight", "freight.go", "return in.Parcel, nil\n", "return Parcel{}, nil\n", ""},
		{"a parameter's name", "freight", "freight.go", "limit int, since", "most int, since", ""},
		{"a comment", "freight", "freight.go", "Labels are free words", "Labels are words", ""},
		{"private fields of what writes its own JSON", "freight", "unit.go", "\tname string\n", "\tname string\n\tborn int\n", ""},
		{"another method", "freight", "freight.go", "type ID string", "type ID string\nfunc (ID) String() string { return \"\" }", ""},
		{"a further enum value", "freight", "freight.go", `Sent    Status = "sent"`, "Sent Status = \"sent\"\n\tLost Status = \"lost\"", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p.t = t
			edits := map[string][2]string{tc.file: {tc.old, tc.new}}
			if tc.name == "reordered fields" {
				edits[tc.file] = [2]string{"\tStamps\n\tLabels  Labels `json:\"labels\"`\n", "\tLabels  Labels `json:\"labels\"`\n\tStamps\n"}
			}
			problems := p.build("example.com/"+tc.path, edits)
			if tc.message == "" {
				if len(problems) != 0 {
					t.Errorf("it does not compile: %q", problems)
				}
				return
			}
			for _, problem := range problems {
				if strings.HasPrefix(problem, Code+":") && strings.Contains(problem, tc.message) {
					return
				}
			}
			t.Errorf("the compiler says %q", problems)
		})
	}
}

// TestGoBuildNamesTheRemedy shows one message of the command that people run.
func TestGoBuildNamesTheRemedy(t *testing.T) {
	scratch := newScratch(t)
	copyAll(t, filepath.Join("testdata", "relativeroles"), filepath.Join(scratch, "relativeroles"))
	source := filepath.Join(scratch, "relativeroles", "relativeroles.go")
	content, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	write(t, source, []byte(strings.Replace(string(content), "\tText string", "\tMood int\n\tText string", 1)))
	out, err := goCommand(t, scratch, "build", "./relativeroles")
	const want = "value in argument to toolset.RunGoGenerate["
	if err == nil || !strings.Contains(out, "cannot use Words{} ") || !strings.Contains(out, want) {
		t.Errorf("go build: %v\n%s", err, out)
	}
}

// TestAnEditedDirectiveFailsGoTest shows the other half: what the compiler cannot see.
func TestAnEditedDirectiveFailsGoTest(t *testing.T) {
	scratch := newScratch(t)
	copyAll(t, filepath.Join("testdata", "relativeroles"), filepath.Join(scratch, "relativeroles"))
	source := filepath.Join(scratch, "relativeroles", "relativeroles.go")
	content, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	write(t, source, []byte(strings.Replace(string(content), "minrole=highest", "minrole=lowest", 1)))
	if out, err := goCommand(t, scratch, "build", "./relativeroles"); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out, err := goCommand(t, scratch, "test", "./relativeroles")
	if err == nil || !strings.Contains(out, "the source of mcp_gen.go has changed") ||
		!strings.Contains(out, "run go generate") {
		t.Errorf("go test: %v\n%s", err, out)
	}
}

// TestAConstGuardHoldsForItsValueAlone compares guard and value over strings and integers that lie
// close together.
func TestAConstGuardHoldsForItsValueAlone(t *testing.T) {
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "\x00", "é", "\xff", "\"", "\\", "\n"}), 0, 4).Draw(t, "text"), "")
	})
	numbers := rapid.SampledFrom([]string{"-9223372036854775808", "-2", "-1", "0", "1", "2", "2147483647", "2147483648", "9223372036854775807", "18446744073709551615"})
	rapid.Check(t, func(t *rapid.T) {
		var is, want, typ string
		if rapid.Bool().Draw(t, "string") {
			is, want = strconv.Quote(texts.Draw(t, "is")), strconv.Quote(texts.Draw(t, "want"))
			typ = "string"
		} else {
			is, want = numbers.Draw(t, "is"), numbers.Draw(t, "want")
			typ = "int64"
			if len(is) == 20 && is[0] != '-' {
				typ = "uint64"
			}
			if typ == "uint64" && want[0] == '-' || typ == "int64" && len(want) == 20 && want[0] != '-' {
				want = is // no source can compare these
			}
		}
		source := guardSource(t, typ, is, want)
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, "p.go", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&types.Config{}).Check("p", files, []*ast.File{file}, nil)
		if (err == nil) != (is == want) {
			t.Fatalf("a constant %s with the guard of %s: %v\n%s", is, want, err, source)
		}
	})
}

// guardSource is a package that declares a constant and its guard.
func guardSource(t *rapid.T, typ, is, want string) string {
	p := &plan{stale: "runGoGenerate"}
	f := newFile("p", newNames(nil))
	f.Type().Id("T").Id(typ)
	f.Const().Id("C").Id("T").Op("=").Op(is)
	p.writeCompileGuards(f, []model.CompileGuard{
		{Kind: model.ConstGuard, Subject: here("C"), Want: here(want)},
	})
	source, err := f.source()
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

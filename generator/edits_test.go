package generator_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/sourcehash"
)

// further begins a file beside the first one of the package.
const further = `package moved

import (
	"context"

	"example.com/scratch/kinds"
)

`

// TestMovedDeclarationsChangeNothingThatIsGenerated puts the declarations of a package into other
// orders and files. mcpgen check reports a difference of the generated files, and the generated
// test does not: the source hash does not depend on the order.
func TestMovedDeclarationsChangeNothingThatIsGenerated(t *testing.T) {
	source, others, _ := fixture(t)
	head, decls := cut(t, source)
	want := generated(t, others, head+strings.Join(decls, "\n\n"))
	random := rand.New(rand.NewPCG(16, 7))
	for n := range 8 {
		order := slices.Clone(decls)
		files := make([]string, 1)
		switch n {
		case 0:
			slices.Reverse(order)
		case 1: // a file each, in the reverse order of their names
			slices.Reverse(order)
			files = make([]string, len(order))
		default:
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			files = make([]string, 1+random.IntN(4))
		}
		for i, decl := range order {
			files[i%len(files)] += decl + "\n\n"
		}
		files[random.IntN(len(files))] += "// The end.\n"
		files[0] = head + files[0]
		got := generated(t, others, files...)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Errorf("order %d: %s differs", n, name)
			}
		}
	}
}

// cut returns the package clause with the imports, and the declarations with their comments.
func cut(t *testing.T, source string) (head string, decls []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "moved.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	offset := func(pos token.Pos) int { return files.Position(pos).Offset }
	head = source[:offset(file.Decls[0].End())] + "\n\n"
	for _, decl := range file.Decls[1:] {
		from := decl.Pos()
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		}
		decls = append(decls, source[offset(from):offset(decl.End())])
	}
	return head, decls
}

// generated are the files that a run makes of a package, by name. The first source has its package
// clause and imports; the others get both.
func generated(t *testing.T, files []txtar.File, sources ...string) map[string]string {
	t.Helper()
	files = slices.Clone(files)
	for i, source := range sources {
		if i > 0 {
			source = further + source
		}
		files = append(files, txtar.File{Name: fmt.Sprintf("file%02d.go", i), Data: []byte(source)})
	}
	dir := loadtest.Write(t, files...)
	result, err := generator.Run(loadtest.Context(t), generator.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Diagnostics) > 0 {
		t.Fatal(result.Diagnostics)
	}
	content := map[string]string{}
	for _, f := range result.Files {
		content[filepath.Base(f.Path)] = string(f.Content)
	}
	return content
}

// TestEditsFailTheCommandsThatAreStated makes each edit of testdata/edits.txtar after generation.
// go build and go test fail only if mcpgen check fails. mcpgen check alone fails for documents
// only.
func TestEditsFailTheCommandsThatAreStated(t *testing.T) {
	source, others, edits := fixture(t)
	dir := loadtest.Write(t, append(others, txtar.File{Name: "moved.go", Data: []byte(source)})...)
	options := generator.Options{Dir: dir}
	result, err := generator.Run(loadtest.Context(t), options)
	if err != nil || len(result.Diagnostics) > 0 {
		t.Fatal(err, result.Diagnostics)
	}
	if _, err := result.Write(); err != nil {
		t.Fatal(err)
	}
	compile := compiler(t, dir)
	inputs := result.Services[0].HashInputs
	sums := func() string { // as the generated test compares them
		hash, err := sourcehash.Hash(dir, inputs.Decls, inputs.Files...)
		code, _ := os.ReadFile(filepath.Join(dir, "mcp_gen.go"))
		return fmt.Sprint(hash, err, sourcehash.Digest(code))
	}
	unedited := sums()
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			e.apply(t, dir)
			var failed []string
			if err := compile(); err != nil {
				t.Logf("go build: %v", err)
				failed = append(failed, "go build")
			} else if sums() != unedited {
				failed = append(failed, "go test")
			}
			result, err := generator.Run(loadtest.Context(t), options)
			if err != nil {
				t.Fatal(err)
			}
			differences, err := result.Stale()
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Diagnostics)+len(differences) > 0 {
				failed = append(failed, "check")
			}
			got := cmp.Or(strings.Join(failed, ", "), "nothing")
			if got != e.outcome {
				t.Errorf("fails: %s, want %s", got, e.outcome)
			}
		})
	}
}

// edit is one edit of the fixture.
type edit struct {
	name, outcome string
	hunks         []hunk
}

type hunk struct {
	file     string
	old, new []string // lines
}

// fixture reads testdata/edits.txtar: the source of the package, the other files and the edits.
func fixture(t *testing.T) (source string, others []txtar.File, edits []edit) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/edits.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		switch f.Name {
		case "moved.go":
			source = string(f.Data)
		case "edits":
			for text := range strings.SplitSeq(string(f.Data), "\n\n") {
				edits = append(edits, parseEdit(t, text))
			}
		default:
			others = append(others, f)
		}
	}
	return source, others, edits
}

func parseEdit(t *testing.T, text string) (e edit) {
	t.Helper()
	first, rest, _ := strings.Cut(strings.Trim(text, "\n"), "\n")
	var ok bool
	if e.name, e.outcome, ok = strings.Cut(first, ": "); !ok {
		t.Fatalf("%q has no outcome", first)
	}
	for line := range strings.SplitSeq(rest, "\n") {
		last := len(e.hunks) - 1
		switch {
		case strings.HasPrefix(line, "@ "):
			e.hunks = append(e.hunks, hunk{file: line[2:]})
		case strings.HasPrefix(line, "-"):
			e.hunks[last].old = append(e.hunks[last].old, line[1:])
		case strings.HasPrefix(line, "+"):
			e.hunks[last].new = append(e.hunks[last].new, line[1:])
		case line != "":
			t.Fatalf("%s: what is %q?", e.name, line)
		}
	}
	return e
}

// apply edits the files until the test ends.
func (e edit) apply(t *testing.T, dir string) {
	t.Helper()
	for _, h := range e.hunks {
		path := filepath.Join(dir, filepath.FromSlash(h.file))
		before, err := os.ReadFile(path)
		if err != nil && (!errors.Is(err, fs.ErrNotExist) || len(h.old) > 0) {
			t.Fatal(err)
		}
		created := err != nil
		t.Cleanup(func() {
			if created {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, before, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		old, with := strings.Join(h.old, "\n"), strings.Join(h.new, "\n")
		text := string(before) + "\n" + with + "\n"
		switch {
		case created:
			text = with + "\n"
		case old != "" && !strings.Contains(string(before), old):
			t.Fatalf("%q does not occur in %s", old, h.file)
		case old != "":
			text = strings.Replace(string(before), old, with, 1)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// compiler returns a func that checks the packages of the module as go build does. What they import
// is loaded once.
func compiler(t *testing.T, dir string) func() error {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps,
		Dir:  dir,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	imported := importer{}
	packages.Visit(loaded, nil, func(p *packages.Package) { imported[p.PkgPath] = p.Types })
	return func() error {
		for _, name := range []string{"kinds", ""} {
			files := token.NewFileSet()
			paths, err := filepath.Glob(filepath.Join(dir, name, "*.go"))
			if err != nil {
				return err
			}
			var parsed []*ast.File
			for _, path := range paths {
				match, err := build.Default.MatchFile(filepath.Split(path))
				if err != nil || !match || strings.HasSuffix(path, "_test.go") {
					continue
				}
				file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				parsed = append(parsed, file)
			}
			config := types.Config{Importer: imported}
			path := strings.TrimSuffix(loadtest.Module+"/"+name, "/")
			if imported[path], err = config.Check(path, files, parsed, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// importer are the packages by path.
type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if i[path] == nil {
		return nil, fmt.Errorf("no package %s", path)
	}
	return i[path], nil
}

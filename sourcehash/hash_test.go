package sourcehash

import (
	"errors"
	"go/ast"
	"go/build"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// desk is a package as an author may have written it, gofmt not always.
const desk = `// Package desk books parcels.
//
//mcp:server name=desk
//mcp:roles Guest < Clerk
package desk

import (
	"context"
	other "strings"
)

// Service answers.
//
//mcp:default authenticated
type Service struct {
	name string
	base
}

// Get returns a parcel.
//
//   - one
//   - two
//
//mcp:tool minrole=Guest
//mcp:limit timeout=5s
func (s *Service) Get(ctx context.Context, from, to string) (Parcel, error) {
	return Parcel{}, nil
}

// List is not served.
//
//mcp:ignore reason="later"
func (s *Service) List(ctx context.Context) error { return nil }

// Count counts.
//
//mcp:tool public
func Count(ctx context.Context, in struct{ Max int }) (n int, err error) { return other.Count("", ""), nil }

// Till is served as it is.
type Till interface {
	// Pay takes money.
	//
	//mcp:tool minrole=Clerk
	Pay(ctx context.Context, cents int) error // in coin
	// Shut is not served.
	//mcp:ignore reason="at night"
	Shut(ctx context.Context) error
}

type (
	// Parcel is one thing to send.
	Parcel struct {
		// ID names it.
		//mcp:field authenticated
		ID     string   ` + "`json:\"id\"`" + `
		Status Status // where it is
		Box    struct {
			Edge int /* in cm */
		}
	}

	// Unread is of no use to mcpgen.
	Unread struct{ A int }
)

// Status is where a parcel is.
type Status string

// The states.
const (
	Booked        Status = "booked"
	Sent                 = Status("sent")
	Unrelated            = "u"
)

// Role says what somebody may do.
type Role int

// The roles.
//
//mcp:roles
const (
	Guest Role = iota
	Clerk
)

type base struct{ *deep }

func (base) Count(n int) {}

type deep struct{}

// Lone is handled by nobody.
func (l Lone) Lone(ctx context.Context) error { return nil }

// Lone has no tool.
type Lone struct{}

func helper(n int) int { return n + 0XFF }
`

// kinds is a package whose types desk uses.
const kinds = `// Package kinds is shared.
package kinds

// Mass is a weight.
type Mass struct {
	//mcp:field authenticated
	Grams int // whole ones
}

// Get is shaped like a handler of another package.
func Get() {}
`

var deskDecls = map[string][]string{
	".":     {"Service.Get", "Count", "Till.Pay", "Parcel", "Status", "Role", "base.", "deep."},
	"kinds": {"Mass"},
}

// lay writes a package into a new directory.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func hash(t *testing.T, files map[string]string) string {
	t.Helper()
	h, err := Hash(lay(t, files), deskDecls)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// replace changes one place of a source.
func replace(t *testing.T, source, old, new string) string {
	t.Helper()
	if strings.Count(source, old) != 1 {
		t.Fatalf("%q stands %d times in the source", old, strings.Count(source, old))
	}
	return strings.Replace(source, old, new, 1)
}

func TestWhatMcpgenReadsCounts(t *testing.T) {
	want := hash(t, map[string]string{"desk.go": desk, "kinds/kinds.go": kinds})
	for _, tc := range []struct{ name, old, new string }{
		{"package doc", "books parcels", "books letters"},
		{"server directive", "name=desk", "name=counter"},
		{"chain of roles", "Guest < Clerk", "Clerk < Guest"},
		{"deleted directive", "//mcp:limit timeout=5s\n", ""},
		{"near miss", "//mcp:tool public", "// mcp:tool public"},
		{"access rule", "//mcp:tool minrole=Guest", "//mcp:tool minrole=Clerk"},
		{"default of a type", "//mcp:default authenticated", "//mcp:default public"},
		{"reason", `reason="later"`, `reason="never"`},
		{"moved directive", "type Service struct", "type Service2 struct"},
		{"description of a tool", "returns a parcel", "returns parcels"},
		{"list in a description", "//   - two", "//   - three"},
		{"renamed parameter", "from, to string", "start, to string"},
		{"swapped parameters", "from, to string", "to, from string"},
		{"type of a parameter", "from, to string", "from, to int"},
		{"anonymous struct", "struct{ Max int }", "struct{ Min int }"},
		{"description of an interface method", "Pay takes money", "Pay takes gold"},
		{"line comment of an interface method", "// in coin", "// in notes"},
		{"parameter of an interface method", "cents int", "euros int"},
		{"directive of an interface method", "//mcp:tool minrole=Clerk",
			"//mcp:tool minrole=Guest"},
		{"description of a type", "is one thing to send", "is a box"},
		{"description of a field", "ID names it", "ID numbers it"},
		{"line comment of a field", "// where it is", "// where it was"},
		{"comment of a nested field", "/* in cm */", "/* in mm */"},
		{"rule of a field", "//mcp:field authenticated", "//mcp:field minrole=Clerk"},
		{"rule of another field", "\t\t//mcp:field authenticated\n\t\tID     string   `json:\"id\"`\n",
			"\t\tID     string   `json:\"id\"`\n\t\t//mcp:field authenticated\n"},
		{"field tag", `json:\"id\"`, ""},
		{"type of a field", "Edge int", "Edge int64"},
		{"description of an enum", "Status is where a parcel is", "Status is a state"},
		{"added value", "\tUnrelated ", "\tLost Status = \"lost\"\n\tUnrelated "},
		{"changed value", `"booked"`, `"ordered"`},
		{"converted value", `Status("sent")`, `Status("gone")`},
		{"computed value", "\tUnrelated ", "\tLost = Booked + \"!\"\n\tUnrelated "},
		{"added role", "\tClerk\n", "\tClerk\n\tBoss\n"},
		{"new handler", "func helper",
			"// New is a handler.\nfunc New(ctx context.Context) error { return nil }\n\nfunc " +
				"helper"},
		{"new method of a served type", "func helper",
			"func (s Service) New(_ context.Context) error { return nil }\n\nfunc helper"},
		{
			"new promoted method", "func helper",
			"func (*base) New(_ context.Context) error { return nil }\n\nfunc helper",
		},
		{
			"new method promoted twice", "func helper",
			"func (deep) New(_ context.Context) error { return nil }\n\nfunc helper",
		},
		{"type embedded by a served one", "\tbase\n", "\tbase\n\tLone\n"},
		{"pointer embedded by a served one", "\tbase\n", "\tbase\n\t*Lone\n"},
		{"type embedded by an embedded one", "*deep }", "*deep; Lone }"},
		{
			"interface embedded by a served one", "type Till interface {\n",
			"type Till interface {\n\tOther\n",
		},
		{"new interface method", "\tShut(ctx", "\tOpen(ctx context.Context) error\n\tShut(ctx"},
		{"removed declaration", "func Count(", "func count("},
		{"detached directive", "func helper", "//mcp:tool public\n\nfunc helper"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, new := tc.old, tc.new
			if tc.name == "field tag" {
				old = `json:"id"`
			}
			if hash(t, map[string]string{"desk.go": replace(t, desk, old, new),
				"kinds/kinds.go": kinds}) == want {
				t.Error("the change does not show")
			}
		})
	}
	for name, file := range map[string][2]string{
		"build constraint":   {"desk.go", "//go:build linux\n\n" + desk},
		"system in the name": {"desk_windows.go", desk},
	} {
		t.Run(name, func(t *testing.T) {
			if hash(t, map[string]string{file[0]: file[1], "kinds/kinds.go": kinds}) == want {
				t.Error("the change does not show")
			}
		})
	}
	for _, change := range [][2]string{{"whole ones", "rounded"}, {"authenticated", "scopes=weigh"}} {
		t.Run("field of another package", func(t *testing.T) {
			if hash(t, map[string]string{"desk.go": desk, "kinds/kinds.go": replace(t, kinds,
				change[0], change[1])}) == want {
				t.Error("the change does not show")
			}
		})
	}
}

func TestWhatMcpgenDoesNotReadDoesNotCount(t *testing.T) {
	want := hash(t, map[string]string{"desk.go": desk, "kinds/kinds.go": kinds})
	formatted, err := format.Source([]byte(desk))
	if err != nil {
		t.Fatal(err)
	}
	if string(formatted) == desk {
		t.Error("the source is formatted already and shows nothing")
	}
	first, rest, _ := strings.Cut(desk, "// Status is where")
	split := map[string]string{"a.go": "package desk\n\n// Status is where" + rest, "z.go": first}
	for _, tc := range []struct {
		name  string
		files map[string]string
	}{
		{"gofmt", map[string]string{"desk.go": string(formatted)}},
		{"line ends", map[string]string{"desk.go": "\ufeff" + strings.ReplaceAll(desk, "\n", "\r\n")}},
		{"file name", map[string]string{"counter.go": desk}},
		{"file name with a word", map[string]string{"desk_counter.go": desk}},
		{"field of a served type", map[string]string{
			"desk.go": replace(t, desk, "\tbase\n", "\tbase\n\tlock other.Builder\n"),
		}},
		{"embedded type of another package", map[string]string{
			"desk.go": replace(t, desk, "\tbase\n", "\tbase\n\tother.Builder\n"),
		}},
		{"declarations in two files", map[string]string{"a.go": strings.Replace(split["a.go"],
			"package desk", "package desk\n\nimport \"context\"", 1), "z.go": split["z.go"]}},
		{"func body", map[string]string{"desk.go": replace(t, desk, "return Parcel{}, nil",
			"panic(1) // soon")}},
		{"receiver's name", map[string]string{"desk.go": replace(t, desk, "(s *Service) Get",
			"(service *Service) Get")}},
		{"unrelated declaration", map[string]string{"desk.go": replace(t, desk, "struct{ A int }",
			"struct{ B string }")}},
		{"unrelated constant", map[string]string{"desk.go": replace(t, desk, `= "u"`, `= "v"`)}},
		{"unrelated comment", map[string]string{"desk.go": replace(t, desk,
			"is of no use to mcpgen", "is of use")}},
		{"unexported func", map[string]string{"desk.go": replace(t, desk, "func helper",
			"func hidden(ctx context.Context) error { return nil }\n\nfunc helper")}},
		{"other shapes", map[string]string{"desk.go": replace(t, desk, "func helper",
			"func A() error { return nil }\nfunc B(ctx context.Context) {}\nfunc C(n int) error "+
				"{ return nil }\nfunc D(ctx context.Context) int { return 0 }\nfunc E(ctx []int) "+
				"error { return nil }\n\nfunc helper")}},
		{"method of another type",
			map[string]string{"desk.go": replace(t, desk, "func (l Lone) Lone",
				"func (l Lone) Two(ctx context.Context) error { return nil }\n\nfunc (l Lone) Lone")}},
		{"trailing blanks of a directive",
			map[string]string{"desk.go": replace(t, desk, "//mcp:tool public",
				"//mcp:tool public \t")}},
		{"layout of parameters", map[string]string{"desk.go": replace(t, desk, "from, to string)",
			"from,\n\tto string,\n)")}},
		{"tests", map[string]string{"desk.go": desk,
			"desk_test.go": "package desk\n\n//mcp:tool public\nfunc X() {}\n"}},
		{"generated files", map[string]string{"desk.go": desk,
			"mcp_gen.go":      "package desk\n\n//mcp:tool\n",
			"aa_mcp_error.go": "package desk\n\n//mcp:tool\n"}},
		{"what the go command leaves out", map[string]string{"desk.go": desk,
			"_x.go": "package desk\n\n//mcp:tool\n", ".x.go": "package desk\n\n//mcp:tool\n",
			"x.txt": "//mcp:tool", "sub.go/x.go": "package desk\n\n//mcp:tool\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.files["kinds/kinds.go"] = kinds
			if hash(t, tc.files) != want {
				t.Error("the change shows")
			}
		})
	}
}

// TestConstrainedFilesAreThoseOfTheGoCommand compares file names with package build.
func TestConstrainedFilesAreThoseOfTheGoCommand(t *testing.T) {
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	systems := strings.FieldsFunc(string(out), func(r rune) bool {
		return unicode.IsSpace(r) || r == '/'
	})
	systems = append(systems, "hurd", "nacl", "zos", "amd64p32", "armbe", "arm64be", "mips64p32",
		"mips64p32le", "ppc", "riscv", "s390", "sparc", "sparc64", "unix", "cgo", "test1", "amd")
	names := []string{
		"linux.go", "a.go", "a_b.go", "a_b_c.go", "windows_a.go", "a_linux.x.go", "_linux.go",
		"a_.go",
	}
	for _, system := range systems {
		names = append(names, "a_"+system+".go", "a_"+system+"_b.go", "a_b_"+system+".go",
			"a_linux_"+system+".go", system+".go")
	}
	nowhere := build.Context{GOOS: "nowhere", GOARCH: "nothing", Compiler: "gc"}
	nowhere.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}
	for _, name := range names {
		match, err := nowhere.MatchFile(".", name)
		if err != nil {
			t.Fatal(err)
		}
		if isSource(name) && isConstrained(name, &ast.File{}) == match {
			t.Errorf("%s: package build matches it on every system: %v", name, match)
		}
	}
}

func TestAnImportedNameOfContextIsKnown(t *testing.T) {
	source := "package p\n\nimport c \"context\"\n\nfunc A(ctx c.Context) error { return nil }\n"
	dotted := "package p\n\nimport . \"context\"\n\nfunc A(ctx Context) error { return nil }\n"
	none := "package p\n\nimport c \"context\"\n\nfunc a(ctx c.Context) error { return nil }\n"
	hashes := map[string]int{}
	for _, s := range []string{source, dotted, none} {
		h, err := Hash(lay(t, map[string]string{"p.go": s}), nil)
		if err != nil {
			t.Fatal(err)
		}
		hashes[h]++
	}
	if len(hashes) != 2 {
		t.Errorf(
			"an aliased and a dotted import of context should count alike, and differ from no "+
				"handler: %v", hashes)
	}
}

func TestADirectoryThatCannotBeReadIsAnError(t *testing.T) {
	dir := lay(t, map[string]string{"desk.go": desk})
	if _, err := Hash(dir, deskDecls); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "reading the source of generated code") {
		t.Errorf("without the directory of a declaration: %v", err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "broken.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := Hash(dir, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with a file that cannot be read: %v", err)
	}
}

// FuzzHash hashes whatever stands in a file: what does not parse must not stop the test that hashes
// it.
func FuzzHash(f *testing.F) {
	f.Add(desk)
	f.Add(kinds)
	for _, broken := range []string{"", "package", "package p\nfunc", "package p\nconst (",
		"package p\nfunc (", "package p\ntype T struct{ A int `", "package p\nfunc Count(",
		"package p\nconst Status", "package p\ntype Status = interface{ A("} {
		f.Add(broken)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "x.go")
	f.Fuzz(func(t *testing.T, source string) {
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		decls := map[string][]string{".": {"Service.Get", "Count", "Till.Pay", "Parcel", "Status",
			"Role"}}
		first, err := Hash(dir, decls)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := Hash(dir, decls); err != nil || first != second {
			t.Errorf("two hashes: %s and %s, %v", first, second, err)
		}
	})
}

// TestHandlersDoNotCountInAPackageThatIgnoresThem adds a handler without a directive.
func TestHandlersDoNotCountInAPackageThatIgnoresThem(t *testing.T) {
	source := replace(t, desk, "//mcp:server name=desk",
		"//mcp:server name=desk unannotated=ignore")
	more := replace(t, source, "func helper",
		"func New(ctx context.Context) error { return nil }\n\nfunc helper")
	served := replace(t, source, "func helper",
		"//mcp:tool public\nfunc New(ctx context.Context) error { return nil }\n\nfunc helper")
	want := hash(t, map[string]string{"desk.go": source, "kinds/kinds.go": kinds})
	if hash(t, map[string]string{"desk.go": more, "kinds/kinds.go": kinds}) != want {
		t.Error("a handler without a directive changes the hash")
	}
	if hash(t, map[string]string{"desk.go": served, "kinds/kinds.go": kinds}) == want {
		t.Error("a new tool does not change the hash")
	}
	if hash(t, map[string]string{"desk.go": desk, "kinds/kinds.go": kinds}) == want {
		t.Error("unannotated=ignore does not change the hash")
	}
}

package schema

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// structs are random struct types that embed each other, each with a value in which no embedded
// pointer is nil.
type structs struct {
	*rand.Rand
	source strings.Builder
	names  []string
	values map[string]string // literals, by the name of the type
}

func (s *structs) declare(i int) {
	name := []string{"base%d", "Base%d"}[s.IntN(2)]
	name = fmt.Sprintf(name, i)
	var fields, values []string
	field := func(declared, key, value, tag string) {
		if tag != "" {
			declared += " `json:\"" + tag + "\"`"
		}
		fields, values = append(fields, declared), append(values, key+": "+value)
	}
	// A few fields have the same name in several types, and hide each other.
	for _, key := range []string{fmt.Sprint("F", i), "Shared"} {
		if s.IntN(2) == 0 {
			field(key+" int", key, "7", []string{"", "", "renamed,omitempty", "-"}[s.IntN(4)])
		}
	}
	used := map[string]bool{}
	for range s.IntN(4) {
		if len(s.names) == 0 {
			break
		}
		of := s.names[s.IntN(len(s.names))]
		if used[of] {
			continue
		}
		used[of] = true
		tag := []string{"", "", "", "x%d", "x%d,omitempty", "-"}[s.IntN(6)]
		if strings.Contains(tag, "%d") {
			tag = fmt.Sprintf(tag, s.IntN(3))
		}
		switch key := fmt.Sprintf("N%d%s", i, of); s.IntN(6) {
		case 0, 1:
			field("*"+of, of, "&"+s.values[of], tag)
		case 2, 3:
			field(of, of, s.values[of], tag)
		case 4:
			field(key+" []*"+of, key, "[]*"+of+"{&"+s.values[of]+"}", "")
		case 5:
			field(key+" map[string]"+of, key, "map[string]"+of+"{\"k\": "+s.values[of]+"}", "")
		}
	}
	fmt.Fprintf(&s.source, "type %s struct {\n\t%s\n}\n\n", name, strings.Join(fields, "\n\t"))
	s.names = append(s.names, name)
	s.values[name] = name + "{" + strings.Join(values, ", ") + "}"
}

// unread embeds types whose methods encoding/json does not call.
const unread = `
type jsonA struct{ A int }

func (jsonA) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }
func (*jsonA) UnmarshalJSON([]byte) error  { return nil }

type jsonB jsonA

func (jsonB) MarshalJSON() ([]byte, error) { return []byte("{}"), nil }
func (*jsonB) UnmarshalJSON([]byte) error  { return nil }

type textA struct{ A int }

func (textA) MarshalText() ([]byte, error) { return nil, nil }
func (*textA) UnmarshalText([]byte) error  { return nil }

type textB textA

func (textB) MarshalText() ([]byte, error) { return nil, nil }
func (*textB) UnmarshalText([]byte) error  { return nil }

type WithJSON struct {
	jsonA ` + "`json:\"a\"`" + `
	jsonB ` + "`json:\"-\"`" + `
}

type WithText struct {
	textA ` + "`json:\"-\"`" + `
	textB ` + "`json:\"b\"`" + `
}

type WithNames struct {
	A jsonA
	B textB
}

type WithoutProperties struct {
	jsonA ` + "`json:\"-\"`" + `
	jsonB ` + "`json:\"-\"`" + `
	C     int
}
`

// Whether encoding/json reads a struct is what encoding/json does with the text that it writes
// itself: it returns an error or panics where a walk finds an embedded pointer that cannot be set.
func TestStructsThatEncodingJSONCannotFillAreProblems(t *testing.T) {
	s := &structs{Rand: rand.New(rand.NewPCG(38, 3)), values: map[string]string{}}
	for i := range 120 {
		if i%6 == 0 {
			s.names = nil // the next types are of a family of their own
		}
		s.declare(i)
	}
	for _, name := range []string{"WithJSON", "WithText", "WithNames", "WithoutProperties"} {
		s.values[name] = name + "{}"
	}
	declarations := "package main\n\n" + s.source.String() + unread
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", declarations, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var config types.Config
	pkg, err := config.Check("main", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	filled := filledByJSON(t, declarations, s.values)
	count := map[bool]int{}
	for _, name := range pkg.Scope().Names() {
		typ, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if _, tried := filled[name]; !ok || !tried {
			continue
		}
		_, problems := New(pkg, nil).Input(typ.Type())
		found := slices.ContainsFunc(problems, func(p Problem) bool { return p.Panics })
		count[found]++
		if found == filled[name] {
			t.Errorf("%s: a problem is %v, and encoding/json fills it is %v:\n%s", name, found,
				filled[name], s.source.String())
			break
		}
	}
	if min(count[true], count[false]) < 20 {
		t.Errorf("the types are not of both kinds: %v", count)
	}
}

// filledByJSON runs a program that decodes the value of each type from its own text.
func filledByJSON(t *testing.T, declarations string, values map[string]string) map[string]bool {
	t.Helper()
	program := strings.Replace(declarations, "package main\n", `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

func try[T any](name string, value T) {
	defer func() {
		if recover() != nil {
			fmt.Println(name, false)
		}
	}()
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var read T
	err = json.Unmarshal(text, &read)
	again, _ := json.Marshal(read)
	fmt.Println(name, err == nil && bytes.Equal(again, text))
}
`, 1) + "func main() {\n"
	for name, value := range values {
		program += fmt.Sprintf("\ttry(%q, %s)\n", name, value)
	}
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(program+"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	filled := map[string]bool{}
	for line := range bytes.Lines(out) {
		var name string
		var ok bool
		if _, err := fmt.Sscan(string(line), &name, &ok); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		filled[name] = ok
	}
	return filled
}

package schema

import (
	"encoding/json"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quotedTypes are the source of named types with methods, the JSON type of each whose UnmarshalJSON
// or MarshalJSON needs one, and a struct for each that has it in a field with the string option.
func quotedTypes() (source string, structs []string, declared map[string]string) {
	var b strings.Builder
	declared = map[string]string{}
	field := func(of, typ string) {
		name := fmt.Sprintf("In%d", len(structs))
		fmt.Fprintf(&b, "type %s struct { L %s `json:\"l,string\"` }\n\n", name, typ)
		structs = append(structs, name)
		if of != "" {
			structs = append(structs, name+"P")
			fmt.Fprintf(&b, "type %sP struct { L *%s `json:\"l,string\"` }\n\n", name, typ)
		}
	}
	for _, typ := range []string{"int", "uint8", "float64", "bool", "string", "json.Number"} {
		field(typ, typ)
	}
	field("slog.Level", "slog.Level")
	kinds := [][2]string{{"int16", "integer"}, {"uint", "integer"}, {"uintptr", "integer"},
		{"float32", "number"}, {"bool", "boolean"}, {"string", "string"}}
	for i, kind := range kinds {
		for set := range 16 {
			if kind[0] == "uintptr" && set&3 != 3 && set&12 != 12 {
				continue // without methods it has no schema
			}
			if json := set & 3; json == 1 && set&8 != 0 || json == 2 && set&4 != 0 {
				continue // its forms in arguments and results differ
			}
			name := fmt.Sprintf("T%d_%d", i, set)
			fmt.Fprintf(&b, "type %s %s\n\n", name, kind[0])
			if set&1 != 0 {
				fmt.Fprintf(&b, "func (t *%s) UnmarshalJSON(b []byte) error {\n"+
					"\treturn json.Unmarshal(b, (*%s)(t))\n}\n\n", name, kind[0])
			}
			if set&2 != 0 {
				fmt.Fprintf(&b, "func (t %s) MarshalJSON() ([]byte, error) {\n"+
					"\treturn json.Marshal(%s(t))\n}\n\n", name, kind[0])
			}
			if set&4 != 0 {
				fmt.Fprintf(&b, "func (t *%s) UnmarshalText(b []byte) error { return nil }\n\n", name)
			}
			if set&8 != 0 {
				fmt.Fprintf(&b, "func (t %s) MarshalText() ([]byte, error) { "+
					"return []byte(\"text\"), nil }\n\n", name)
			}
			if set&3 != 0 {
				declared[name] = kind[1]
			}
			field(name, name)
		}
	}
	return b.String(), structs, declared
}

var quotedDocuments = []string{`5`, `"5"`, `"\"5\""`, `-5`, `"-5"`, `1.5`, `"1.5"`, `"1e2"`, `true`, `"true"`,
	`"t"`, `"\"true\""`, `"x"`, `"\"x\""`, `""`, `"\"\""`, `"INFO"`, `"\"INFO\""`, `[]`, `"[]"`, `{}`,
	`"{}"`}

// Fields with the string option have the schema of what encoding/json reads and writes, if nobody
// can edit them. In a type of one's own, a field that a method reads or writes is a mistake.
func TestStringOptionIsAsEncodingJSONReadsIt(t *testing.T) {
	source, structs, declared := quotedTypes()
	read, written := quotedByJSON(t, source, structs)
	const head = "package p\n\nimport (\n\t\"encoding/json\"\n\t\"log/slog\"\n)\n\n" +
		"var _ = json.Valid\n\nvar _ slog.Level\n\n"
	pkg := check(t, "example.com/p", head+source)
	walker := func(src Source) *Walker {
		w := New(pkg, src)
		for name, typ := range declared {
			w.Declare(pkg.Scope().Lookup(name).(*types.TypeName), []Tag{{"type", typ}})
		}
		return w
	}
	mine, others := walker(nil), walker(syntax{})
	count := map[bool]int{}
	for _, name := range structs {
		typ := pkg.Scope().Lookup(name).Type()
		of := typ.Underlying().(*types.Struct).Field(0).Type()
		if p, ok := of.(*types.Pointer); ok {
			of = p.Elem()
		}
		s, problems := others.Input(typ)
		if len(problems) > 0 {
			t.Errorf("%s: %s", name, problemText(problems))
			continue
		}
		compiled := compile(t, s)
		var differ []string
		for _, doc := range quotedDocuments {
			accepted := compiled.Validate([]byte(`{"l":`+doc+`}`)) == nil
			count[accepted]++
			// The schema has not the words that a slog.Level is, nor two forms of a json.Number.
			differs := accepted && types.TypeString(of, nil) == "log/slog.Level" ||
				!accepted && types.TypeString(of, nil) == "encoding/json.Number" && doc == `"\"5\""`
			if accepted != slices.Contains(read[name], doc) && !differs {
				differ = append(differ, doc)
			}
		}
		if len(differ) > 0 {
			t.Errorf("%s: encoding/json reads %s, and the schema differs at %s: %s", name, read[name],
				differ, compact(t, s))
		}
		out, _, problems := others.Output(typ)
		if len(problems) > 0 {
			t.Errorf("%s: %s", name, problemText(problems))
			continue
		}
		accepts(t, compile(t, out), []byte(written[name]), compact(t, out))

		_, problems = mine.Input(typ)
		_, _, outward := mine.Output(typ)
		for i, has := range []bool{hasAny(of, unmarshalJSON, unmarshalText),
			hasAny(of, marshalJSON, marshalText)} {
			isString := types.Identical(of.Underlying(), types.Typ[types.String]) &&
				types.TypeString(of, nil) != "encoding/json.Number"
			found := [][]Problem{problems, outward}[i]
			if (len(found) > 0) != (has || isString) ||
				slices.ContainsFunc(found, func(p Problem) bool { return p.Kind != BadTag }) {
				t.Errorf("%s, direction %d: %s", name, i, problemText(found))
			}
		}
	}
	if min(count[true], count[false]) < 200 {
		t.Errorf("the documents are not of both kinds: %v", count)
	}
}

func hasAny(t types.Type, methods ...method) bool {
	set := types.NewMethodSet(types.NewPointer(t))
	return slices.ContainsFunc(methods, func(m method) bool { return set.Lookup(nil, m.name) != nil })
}

// quotedByJSON runs a program that decodes each document into each struct, and encodes a value.
func quotedByJSON(t *testing.T, source string, structs []string) (
	read map[string][]string, written map[string]string,
) {
	t.Helper()
	documents, _ := json.Marshal(quotedDocuments)
	program := `package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
)

var _ slog.Level

type result struct {
	Read    []string
	Written string
}

func try[T any](name string, results map[string]result) {
	var r result
	for _, doc := range documents {
		var v T
		if json.Unmarshal([]byte("{\"l\":"+doc+"}"), &v) == nil {
			r.Read = append(r.Read, doc)
		}
	}
	var v T
	field := reflect.ValueOf(&v).Elem().Field(0)
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	if field.Kind() == reflect.String {
		field.SetString("7")
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprint(name, err))
	}
	r.Written = string(text)
	results[name] = r
}

var documents []string

func main() {
	if err := json.Unmarshal([]byte(` + fmt.Sprintf("%q", documents) + `), &documents); err != nil {
		panic(err)
	}
	results := map[string]result{}
`
	for _, name := range structs {
		program += fmt.Sprintf("\ttry[%s](%q, results)\n", name, name)
	}
	program += "\t_ = json.NewEncoder(os.Stdout).Encode(results)\n}\n\n" + source
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]struct {
		Read    []string
		Written string
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatal(err)
	}
	read, written = map[string][]string{}, map[string]string{}
	for name, r := range results {
		read[name], written[name] = r.Read, r.Written
	}
	return read, written
}

package stubs

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// document is one with a path, and with components.
func document(path, operation, schemas string) string {
	return fmt.Sprintf(`{"openapi":"3.0.0","info":{"title":"t","version":"1"},"paths":{%q:{"get":`+
		`{"operationId":"read",%s}}},"components":{"schemas":{%s},"securitySchemes":{"k":{`+
		`"type":"apiKey","in":"path","name":"key"}}}}`, path, operation, schemas)
}

// allocates fails a test if a function allocates more than a number of MiB, which bounds its work.
func allocates(t *testing.T, most uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	used := (after.TotalAlloc - before.TotalAlloc) >> 20
	if used > most {
		t.Errorf("it allocates %d MiB, more than %d", used, most)
	}
}

// imported are the files and notes of a document.
func imported(t *testing.T, text string) (tools string, notes []string, err error) {
	t.Helper()
	allocates(t, 2048, func() { tools, notes, err = importedFrom(text) })
	return tools, notes, err
}

func importedFrom(text string) (tools string, notes []string, err error) {
	doc, err := parse([]byte(text))
	if err != nil {
		return "", nil, err
	}
	files, notes, err := contents(doc, extension.Package{Name: "p", Taken: map[string]bool{}}, nil)
	return string(files[toolsFile]), notes, err
}

// returning is an operation that returns a component.
func returning(name string) string {
	return `"responses":{"200":{"description":"d","content":{"application/json":{"schema":` +
		ref(name) + `}}}}`
}

func ref(name string) string { return fmt.Sprintf(`{"$ref":"#/components/schemas/%s"}`, name) }

// TestDefaultsAreComparedWithTheTag has a default in a schema whose alternatives double with each
// level.
func TestDefaultsAreComparedWithTheTag(t *testing.T) {
	var chain strings.Builder
	for i := range 24 {
		next := ref(fmt.Sprintf("C%d", i+1))
		fmt.Fprintf(&chain, `"C%d":{"oneOf":[%s,%s]},`, i, next, next)
	}
	parameter := func(limits string) string {
		kind := "integer"
		if strings.Contains(limits, "0.1") {
			kind = "number"
		}
		return `"responses":{},"parameters":[{"name":"n","in":"query","schema":{"type":"` +
			kind + `","allOf":[` + ref("C0") + `],` + limits + `}}]`
	}
	for limits, fits := range map[string]bool{
		`"default":5,"minimum":5,"maximum":5`:             true,
		`"default":5,"minimum":6`:                         false,
		`"default":5,"maximum":4`:                         false,
		`"default":5,"minimum":5,"exclusiveMinimum":true`: false,
		`"default":5,"maximum":5,"exclusiveMaximum":true`: false,
		`"default":5,"minimum":4,"exclusiveMinimum":true`: true,
		`"default":6,"multipleOf":3`:                      true,
		`"default":5,"multipleOf":3`:                      false,
		`"default":0.3,"multipleOf":0.1,"minimum":0`:      true,
		`"default":0.35,"multipleOf":0.1,"minimum":0`:     false,
	} {
		tools, _, err := imported(t, document("/a", parameter(limits), chain.String()+
			`"C24":{"type":"integer"}`))
		if err != nil || strings.Contains(tools, "default=") != fits {
			t.Errorf("%s: %v\n%s", limits, err, tools)
		}
	}
}

// TestOutputIsBounded has structs with all properties of one component, each with a name of its
// own, and an enum.
func TestOutputIsBounded(t *testing.T) {
	var base, all, schemas strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&base, `"p%d":{"type":"string"},`, i)
	}
	for i := range 400 {
		fmt.Fprintf(&schemas, `"C%d":{"allOf":[%s,{"type":"object","properties":{"own":{"type":`+
			`"string"}}}]},`, i, ref("Base"))
		fmt.Fprintf(&all, `"c%d":%s,`, i, ref(fmt.Sprintf("C%d", i)))
	}
	fmt.Fprintf(&schemas, `"Base":{"type":"object","properties":{%s"p":{"type":"string"}}},`, &base)
	fmt.Fprintf(&schemas, `"All":{"type":"object","properties":{%s"c":{"type":"string"}}}`, &all)
	_, _, err := imported(t, document("/a", returning("All"), schemas.String()))
	if err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("a large package: %v", err)
	}

	var enum strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&enum, `"v%d",`, i)
	}
	if _, _, err := imported(t, document("/a", returning("E"), `"E":{"type":"object","properties":{`+
		`"e":{"type":"string","enum":[`+enum.String()+`"v0"]}}}`)); err != nil {
		t.Error(err)
	}
}

// TestReferencesAreBounded has references to references.
func TestReferencesAreBounded(t *testing.T) {
	chain := func(n int, last string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"C%d":%s,`, i, ref(fmt.Sprintf("C%d", i+1)))
		}
		return document("/a", returning("C0"), fmt.Sprintf(`%s"C%d":%s`, &b, n, last))
	}
	escaped := strings.ReplaceAll(chain(101, `{"type":"string"}`), "schemas/", "schemas%2F")
	merged := chain(101, `{"type":"string"}`)
	for i := range 102 {
		merged = strings.ReplaceAll(merged, fmt.Sprintf(`"C%d":{`, i), fmt.Sprintf(`"C%d":{<<: {`, i))
	}
	merged = strings.ReplaceAll(strings.ReplaceAll(merged, `"},"C`, `"}},"C`), `"}},"sec`, `"}}},"sec`)
	const long = "more than 100 $ref"
	for text, want := range map[string]string{
		merged: long, escaped: long,
		chain(20_000, `{"type":"string"}`): long,
		chain(3, ref("C1")):                long,
		chain(90, `{"type":"string"}`):     "",
		chain(1, `{"$ref":"#/none/1"}`):    "none",
		chain(1, `{"$ref":"#/paths/0"}`):   "paths",
	} {
		_, _, err := imported(t, text)
		if got := fmt.Sprint(err); err == nil != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.300s: %v, want %q", text, err, want)
		}
	}
}

// TestPathParametersAreNeverLeftOut has some that a handler cannot send: a request would have the
// braces.
func TestPathParametersAreNeverLeftOut(t *testing.T) {
	for _, parameter := range []string{
		`{"name":"x","in":"path","required":true,"content":{"application/json":{}}}`,
		`{"name":"x","in":"path","style":"matrix","schema":{"type":"string"}}`,
		`{"name":"x","in":"path","required":true,"schema":{"type":"object"}}`,
		`{"name":"key","in":"path","required":true,"schema":{"type":"string"}}`,
	} {
		tools, notes, err := imported(t, document("/{x}/{key}", `"responses":{},"parameters":[`+
			parameter+`]`, ""))
		if err != nil || !strings.Contains(tools, "is not implemented") || len(notes) != 2 {
			t.Errorf("%s: %v %v\n%s", parameter, err, notes, tools)
		}
	}
}

// TestCredentialsAndHeadersOfProxies are left out or have a note.
func TestCredentialsAndHeadersOfProxies(t *testing.T) {
	for _, test := range []struct{ in, name, note string }{
		{"query", "api_key", "may be a credential"}, {"query", "accessToken", "may be a credential"},
		{"header", "X-Secret", "may be a credential"}, {"query", "password", "may be a credential"},
		{"query", "page_token", ""}, {"query", "nextPageToken", ""}, {"query", "tokens", ""},
		{"header", "X-Forwarded-For", "of a proxy"}, {"header", "forwarded", "of a proxy"},
		{"header", "X-Real-IP", "of a proxy"}, {"header", "X-HTTP-Method-Override", "of a proxy"},
		{"header", "X-Method-Override", "of a proxy"}, {"query", "forwarded", ""},
		{"header", "X-Request-Id", ""},
	} {
		tools, notes, err := imported(t, document("/a", fmt.Sprintf(`"responses":{},"parameters":[`+
			`{"name":%q,"in":%q,"schema":{"type":"string"}}]`, test.name, test.in), ""))
		noted := len(notes) == 1 && test.note != "" && strings.Contains(notes[0], test.note)
		if err != nil || !noted && len(notes)+len(test.note) > 0 ||
			strings.Contains(tools, `"`+test.name) != (test.note != "of a proxy") {
			t.Errorf("%s %s: %v %q\n%s", test.in, test.name, err, notes, tools)
		}
	}
}

package annotated_test

import (
	"fmt"
	"go/format"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

// misspellings are wrong forms of "//mcp:NAME". The name of a directive takes the place of %s.
var misspellings = []string{
	// Other separators.
	"//mcp.%s", "//mcp-%s", "//mcp_%s", "//mcp/%s", "//mcp;%s", "//mcp::%s", "//mcp %s",
	"//mcp=%s", "//mcp,%s", "//mcp|%s", "//mcp->%s", "//mcp~%s", "//mcp%s", "//mcp :%s",
	"//mcp : %s", "//mcp: %s",
	// Other prefixes.
	"//mpc:%s", "//cmp:%s", "//mcpp:%s", "//mmcp:%s", "//mp:%s", "//mc:%s", "//cp:%s", "//ncp:%s",
	"//mxp:%s", "//mco:%s", "//mcpgen:%s", "//mcpgen.%s", "//mcp-gen:%s", "//mcpgne:%s",
	"//MCP:%s", "//Mcp:%s", "//mCP.%s", "//mpc-%s",
	// Markers of other tools and of lists.
	"// mcp:%s", "//  mcp:%s", "//\tmcp:%s", "///mcp:%s", "/// mcp:%s", "//+mcp:%s", "// +mcp:%s",
	"//@mcp:%s", "// @mcp:%s", "//go:mcp:%s", "//go:mcp-%s", "// - mcp:%s", "// * mcp:%s",
	"// 1. mcp:%s", "//#mcp:%s", "//!mcp:%s", "// mcp.%s", "// mcp-%s", "// mcp_%s", "// mcp/%s",
	"// mcp %s", "// • mcp:%s", "//:mcp:%s", "//--mcp:%s",
	// Invisible characters and other white space.
	"//mcp:\u200b%s", "//\u200bmcp:%s", "//m\u200dcp:%s", "//mcp\u2060:%s", "//mcp\u00ad:%s",
	"//mcp:\u202e%s", "//mcp:\u3164%s", "//mc\u0335p:%s", "//\u00a0mcp:%s", "//mcp\u00a0:%s",
	"// \u200b//mcp:%s", "//mcp:\U000e0061%s", "//mcp:\u2800%s",
	// Letters of other scripts, widths and weights.
	"//m\u0441p:%s", "//mc\u0440:%s", "//\u043c\u0441\u0440:%s", "//\u041c\u0421\u0420:%s",
	"//mc\u03c1:%s", "//\uff4d\uff43\uff50:%s", "//mcp\uff1a%s", "//mcp\ua789%s", "//mcp\u2236%s",
	"//\U0001d426\U0001d41c\U0001d429:%s", "//\u24dc\u24d2\u24df:%s", "//\u1d0d\u1d04\u1d18:%s",
	"//rncp:%s",
}

// reported are 25 wrong forms of //mcp:limit. mcpgen once passed over 18 of them.
var reported = []string{
	"//mcp.limit", "//mcp-limit", "//mcp_limit", "//mcp/limit", "//mcp;limit", "//mcp::limit",
	"//mcp limit", "///mcp:limit", "//mpc:limit", "//cmp:limit", "//mcpp:limit", "//+mcp:limit",
	"//@mcp:limit", "//go:mcp:limit", "// - mcp:limit", "//mcp:\u200blimit", "//m\u200bcp:limit",
	"//m\u0441\u0440:limit", "// mcp:limit", "//mcp: limit", "//mcp :limit", "//MCP:limit",
	"//mcp:Limit", "//mcpgen:limit", "/*mcp:limit",
}

// wrong are the wrong forms of a directive, with the arguments of its example.
func wrong(s directive.Spec) []string {
	half := len(s.Name) / 2
	cyrillic := strings.NewReplacer("o", "\u043e", "a", "\u0430", "i", "\u0456", "e", "\u0435")
	begin, end := s.Name[:half], s.Name[half:]
	forms := []string{
		"//mcp:" + strings.ToUpper(s.Name[:1]) + s.Name[1:],
		"//mcp." + begin + end[1:],
		"//mcp-" + begin + "x" + end,
		"//mpc:" + begin + "y" + end[1:],
		"// mcp-" + begin + end[1:2] + end[:1] + end[2:],
		"//mcp:\u200d" + s.Name,
		"//mcp_" + cyrillic.Replace(s.Name),
	}
	for _, m := range misspellings {
		forms = append(forms, fmt.Sprintf(m, s.Name))
	}
	_, arguments, _ := strings.Cut(s.Example, " ")
	if arguments != "" {
		bare := slices.Clone(forms)
		for i := range forms {
			forms[i] += " " + arguments
		}
		forms = append(forms, "//mcp "+s.Name+"s "+arguments, "/* mcp:"+s.Name+" "+arguments+" */")
		if s.Name == "roles" { // on constants
			forms = append(forms, bare...)
		}
	}
	if s.Name == "limit" {
		for _, text := range reported {
			text += " timeout=1s isolate=process"
			if strings.HasPrefix(text, "/*") {
				text += " */"
			}
			forms = append(forms, text)
		}
	}
	return forms
}

// places are files of declarations. The comment lines take the place of $.
var places = map[string]string{
	"packagedoc":  "$\npackage a\n",
	"func":        "package a\n\n// %[1]s does it.\n//\n$\nfunc %[1]s() {}\n",
	"method":      "package a\n\ntype %[1]s struct{}\n\n$\nfunc (%[1]s) M() {}\n",
	"type":        "package a\n\n$\ntype %[1]s struct{}\n",
	"typegroup":   "package a\n\ntype (\n\t$\n\t%[1]s struct{}\n)\n",
	"constants":   "package a\n\n$\nconst (\n\t%[1]s = iota\n)\n",
	"constant":    "package a\n\nconst (\n\t$\n\t%[1]s = iota\n)\n",
	"variable":    "package a\n\n$\nvar %[1]s int\n",
	"import":      "package a\n\n$\nimport _ \"context\"\n",
	"interface":   "package a\n\ntype %[1]s interface {\n\t$\n\tM()\n}\n",
	"field":       "package a\n\ntype %[1]s struct {\n\t$\n\tF int\n}\n",
	"floating":    "package a\n\nfunc %[1]s() {}\n\n$\n\nfunc %[1]s2() {}\n",
	"constrained": "//go:build never\n\npackage a\n\n$\nfunc %[1]s() {}\n",
	"trailing":    "package a\n\ntype %[1]s struct {\n$\n}\n",
}

var (
	meant = regexp.MustCompile(`^did you mean //mcp:([a-z]+)\?`)
	// correct matches the lines of places that are comments and no misspelling.
	correct = regexp.MustCompile(`^//(go:build| \w+ does it)`)
)

// Each wrong form of each directive is a finding at its place, on every declaration and in the
// package doc, before and after gofmt.
func TestMisspeltDirectivesAreFindings(t *testing.T) {
	files := []txtar.File{{Name: "a/a.go", Data: []byte("package a\n\nimport \"context\"\n\n" +
		"//mcp:tool public\nfunc Served(context.Context) error { return nil }\n")}}
	want := map[string]string{} // the comment, by file, line, column and directive
	for place, source := range places {
		for _, s := range directive.Specs() {
			lines := wrong(s)
			if place == "trailing" {
				for i := range lines {
					lines[i] = fmt.Sprintf("F%d int %s", i, lines[i])
				}
			}
			comments := strings.Join(lines, "\n")
			for _, formatted := range []bool{false, true} {
				name := fmt.Sprint(place, s.Name, formatted)
				text := strings.ReplaceAll(source, "%[1]s", name)
				text = strings.ReplaceAll(text, "$", comments)
				if formatted {
					data, err := format.Source([]byte(text))
					if err != nil {
						t.Fatal(err)
					}
					text = string(data)
				}
				files = append(files, txtar.File{Name: "a/" + name + ".go", Data: []byte(text)})
				for i, line := range strings.Split(text, "\n") {
					column := strings.Index(line, "/")
					if column >= 0 && line != "//" && !correct.MatchString(line) {
						want[fmt.Sprintf("%s.go:%d:%d %s", name, i+1, column+1, s.Name)] = line
					}
				}
			}
		}
	}
	_, findings := scan.Services(loadtest.Load(t, files))
	for _, d := range findings {
		if d.Code == diag.HiddenText {
			continue // of package docs
		}
		m := meant.FindStringSubmatch(d.Suggestion)
		if d.Code != diag.NearMiss || m == nil {
			t.Errorf("%v", d)
			continue
		}
		file := filepath.Base(d.Pos.File)
		delete(want, fmt.Sprintf("%s:%d:%d %s", file, d.Pos.Line, d.Pos.Col, m[1]))
	}
	for i, place := range slices.Sorted(maps.Keys(want)) {
		if i < 50 {
			t.Errorf("no finding at %s: %q", place, want[place])
		}
	}
	if len(want) > 50 {
		t.Errorf("%d more without finding", len(want)-50)
	}
}

// A comment that may be another program's directive is a finding only in a package that takes part.
func TestNearMissesAreOfPackagesThatTakePart(t *testing.T) {
	const other = "\n\n//tcp:server\ntype t int\n\n"
	for _, test := range []struct {
		name, source string
		want         []int // lines
	}{
		{"no part", "package a" + other + "//gcp:resource x\n//mcp-worker\n", nil},
		{"a directive", "package a" + other + "//mcp:ignore reason=later\nfunc f() {}\n", []int{3}},
		{"a directive on nothing", "//mcp:server name=x\n\npackage a" + other, []int{5}},
		{"arguments", "package a" + other + "//mpc:tool public\nfunc f() {}\n", []int{3, 6}},
		{"a colon", "package a" + other + "// mcp: tool\nfunc f() {}\n", []int{3, 6}},
		{"go tool", "package a\n//go:generate go tool mcpgen" + other, []int{4}},
		{"go run", "package a\n//go:generate go run x.org/cmd/mcpgen@v1 ." + other, []int{4}},
		{"another generator", "package a\n//go:generate stringer -type=mcpgenerator" + other, nil},
		{"bodies", "package a\nfunc f() {\n// mcp: tool\n//mcp-worker\n// mcp tool public\n}\n",
			[]int{5}},
		{"a block", "package a\n\n/*\n// mcp:tool public\n\tmcp-limit rate=1/s\n*/\nfunc f() {}\n",
			[]int{4, 5}},
		{"a line comment", "package a\n\n//line b.go:70\n/*\nmcp-limit rate=1/s\n*/\nfunc f() {}\n",
			[]int{5}},
	} {
		t.Run(test.name, func(t *testing.T) {
			prog := loadtest.Load(t, []txtar.File{{Name: "a.go", Data: []byte(test.source)}})
			_, findings := scan.Services(prog)
			var got []int
			for _, d := range findings {
				if d.Code == diag.NearMiss {
					got = append(got, d.Pos.Line)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got lines %v, want %v: %v", got, test.want, findings)
			}
		})
	}
}

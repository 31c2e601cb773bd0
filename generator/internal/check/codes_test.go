package check_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/check"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

var update = flag.Bool("update", false, "write the wanted output of the cases anew")

// Findings in bodies have their cases beside the packages that read bodies, for prove and vet, and
// those of check --clients in package providers.
var proven = []string{"MCP043", "MCP044", "MCP045", "MCP048", "MCP050", "MCP051"}

// Every file of testdata/codes is one case: Go source, and in the file "want" what a run says
// of it. A case of a code is named for it, with an addition where there are several.
func TestEveryCaseIsReportedAsWanted(t *testing.T) {
	cases := map[string]*txtar.Archive{}
	var files []txtar.File
	for _, path := range glob(t) {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".txtar"))
		cases[name] = archive
		for _, f := range archive.Files {
			if f.Name != "want" {
				files = append(files, txtar.File{Name: name + "/" + f.Name, Data: f.Data})
			}
		}
	}
	// One load for all: the cases are packages of one module.
	prog := loadtest.Load(t, files)
	services, findings := scan.Services(prog)
	findings = append(findings, check.Services(services)...)
	findings.Sort()
	root := filepath.Dir(prog.Roots[0].Dir)
	for !isRoot(root) {
		root = filepath.Dir(root)
	}
	byCase := map[string]diag.List{}
	for _, d := range findings {
		name, _, _ := strings.Cut(diag.Relative(d.Pos.File, root), "/")
		byCase[name] = append(byCase[name], d)
	}
	for name, archive := range cases {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := byCase[name].Render(&got, diag.Style{Base: filepath.Join(root, name)}); err != nil {
				t.Fatal(err)
			}
			code := diag.Code(strings.ToUpper(name[:len("mcp000")]))
			if !slices.ContainsFunc(byCase[name], func(d diag.Diagnostic) bool { return d.Code == code }) {
				t.Errorf("the case does not raise %s", code)
			}
			if *update {
				write(t, name, archive, got.Bytes())
				return
			}
			if want := file(archive, "want"); got.String() != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
			}
		})
	}
	for name := range byCase {
		if cases[name] == nil {
			t.Errorf("findings outside the cases: %v", byCase[name])
		}
	}
}

func TestEveryCodeHasACaseAndAnExplanation(t *testing.T) {
	have := map[string]bool{}
	for _, path := range glob(t) {
		have[filepath.Base(path)[:len("MCP000")]] = true
	}
	for _, code := range proven {
		have[code] = true
	}
	for _, e := range diag.Codes() {
		if !have[string(e.Code)] {
			t.Errorf("%s has no case in testdata/codes", e.Code)
		}
		delete(have, string(e.Code))
	}
	for code := range have {
		t.Errorf("the case %s has no code in package diag", code)
	}
}

func glob(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/codes/MCP*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return paths
}

func isRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func file(a *txtar.Archive, name string) []byte {
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

func write(t *testing.T, name string, a *txtar.Archive, want []byte) {
	t.Helper()
	kept := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		if f.Name != "want" {
			kept.Files = append(kept.Files, f)
		}
	}
	kept.Files = append(kept.Files, txtar.File{Name: "want", Data: want})
	path := filepath.Join("testdata", "codes", strings.Replace(name, "mcp", "MCP", 1)+".txtar")
	if err := os.WriteFile(path, txtar.Format(kept), 0o666); err != nil {
		t.Fatal(err)
	}
}

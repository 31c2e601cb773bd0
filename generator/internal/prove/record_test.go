package prove_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/prove"
)

func TestARecordIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	if p, err := prove.Read(dir, "example.com/shop"); p != nil || err != nil {
		t.Errorf("where there is no record: %v, %v", p, err)
	}
	wrote := model.Proof{Platform: "linux/amd64", Digest: "abc", Tools: []model.Proven{
		{Tool: "pure", Handler: "Pure", Reaches: []model.Reach{}},
		{Tool: "save", Handler: "Desk.Save", Reaches: []model.Reach{
			{Capability: model.Files, Path: []model.Step{{Func: "(*example.com/shop.Desk).Save"}, {Func: "os.WriteFile"}}},
			{Capability: model.Unknown, Why: "C code", Path: []model.Step{{Func: "x"}}},
		}},
	}}
	text, err := prove.Encode("example.com/shop", wrote)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, prove.File), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(string(text))
	read, err := prove.Read(dir, "example.com/shop")
	if err != nil || !reflect.DeepEqual(*read, wrote) {
		t.Errorf("read %+v, %v, want %+v", read, err, wrote)
	}
	for name, text := range map[string]string{
		"torn":                  string(text[:len(text)/2]),
		"of a later version":    strings.Replace(string(text), `"proven": 2`, `"proven": 3`, 1),
		"of another package":    strings.Replace(string(text), "example.com/shop\"", "example.com/other\"", 1),
		"a conflict's two ends": "<<<<<<<\n" + string(text),
	} {
		put(text)
		if p, err := prove.Read(dir, "example.com/shop"); err != nil || p == nil || len(p.Tools) > 0 || p.Digest != "" {
			t.Errorf("a record that is %s proves %+v, %v", name, p, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, prove.File)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, prove.File), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := prove.Read(dir, "example.com/shop"); err == nil {
		t.Error("a record that cannot be read is taken for none")
	}
}

func TestADigestSeesTheSource(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	gomod := filepath.Join(dir, "go.mod")
	digest := func() string {
		t.Helper()
		d, err := prove.Digest(gomod, []prove.Source{{Path: "example.com/shop", Dir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	put("go.mod", "module example.com/shop\n")
	put("shop.go", "package shop\n")
	before := digest()
	for _, s := range []struct {
		name, text string
		counts     bool
	}{
		{"shop.go", "package shop\n\nfunc x() {}\n", true},
		{"shop.go", "package shop\r\n\r\nfunc x() {}\r\n", false},
		{"shop_windows.go", "package shop\n", true},
		{"shop_test.go", "package shop\n", false},
		{"mcp_gen.go", "package shop\n", false},
		{"_draft.go", "package shop\n", false},
		{"notes.txt", "notes", false},
		{"go.sum", "a sum\n", true},
		{"go.mod", "module example.com/shop\n\ngo 1.26\n", true},
	} {
		put(s.name, s.text)
		after := digest()
		if (after != before) != s.counts {
			t.Errorf("a change of %s counts: %v, want %v", s.name, after != before, s.counts)
		}
		before = after
	}
	if _, err := prove.Digest(gomod, []prove.Source{{Path: "x", Dir: filepath.Join(dir, "nowhere")}}); err == nil {
		t.Error("a directory that is not there has a digest")
	}
	if err := os.Mkdir(filepath.Join(dir, "odd.go"), 0o777); err != nil {
		t.Fatal(err)
	}
	if digest() != before {
		t.Error("a directory counts as a file")
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := prove.Digest(gomod, []prove.Source{{Path: "x", Dir: dir}}); err == nil {
		t.Error("a file that cannot be read is taken for none")
	}
	if _, err := prove.Digest(filepath.Join(dir, "shop.go", "go.mod"), nil); err == nil {
		t.Error("a go.mod that cannot be read is taken for none")
	}
}

func TestJudgement(t *testing.T) {
	yes, no := true, false
	way := func(capability string, names ...string) model.Reach {
		r := model.Reach{Capability: capability, Path: []model.Step{{Func: "example.com/a/shop.Save"}}}
		for i, name := range names {
			at := model.Position{File: "/src/shop/shop.go", Line: 10 + i, Col: 2}
			if i > 0 {
				at.File = "/src/elsewhere/x.go"
			}
			r.Path = append(r.Path, model.Step{Func: name, At: at})
		}
		return r
	}
	unknown := way(model.Unknown)
	unknown.Why = "C code"
	for _, c := range []struct {
		name     string
		declared []string
		readOnly *bool
		reaches  []model.Reach
		want     string
	}{
		{name: "nothing is declared", reaches: []model.Reach{way(model.Exec, "os/exec.Command"), unknown}},
		{name: "nothing is reached", declared: []string{"none"}, readOnly: &yes},
		{name: "all is declared", declared: []string{"exec", "files"}, reaches: []model.Reach{way(model.Exec, "x"), way(model.Files, "y"), way(model.Writes, "y")}},
		{
			name: "less is declared", declared: []string{"files"}, reaches: []model.Reach{way(model.Network, "example.com/net/wire.Send", "net.Dial")},
			want: "shop.go:10:2: MCP043: Save reaches the network, and capabilities= lists files: " +
				"shop.Save → wire.Send → net.Dial\n\tfix: add network to capabilities=, or remove " +
				"net.Dial\n",
		},
		{
			name: "none is declared", declared: []string{"none"}, reaches: []model.Reach{way(model.Files, "(*os.File).Read"), way(model.Writes, "(*os.File).Write")},
			want: "shop.go:10:2: MCP043: Save reaches files, and capabilities= is none: shop.Save → " +
				"(*os.File).Read\n\tfix: write capabilities=files, or remove (*os.File).Read\n",
		},
		{
			name: "it cannot be told", declared: []string{"files"}, reaches: []model.Reach{unknown},
			want: "shop.go:3:1: MCP044: Save reaches C code, which cannot be analysed, and " +
				"capabilities= lists files: shop.Save\n\tfix: remove it, or remove capabilities=: mcpgen " +
				"then records the capabilities and reports none\n",
		},
		{
			name: "readonly writes", readOnly: &yes, reaches: []model.Reach{way(model.Files, "os.Create"), way(model.Writes, "os.Create")},
			want: "shop.go:10:2: MCP045: Save may write files, and is readonly: shop.Save → " +
				"os.Create\n\tfix: remove readonly, or remove os.Create\n",
		},
		{
			name: "readonly starts programs, as declared", readOnly: &yes, declared: []string{"exec"}, reaches: []model.Reach{way(model.Exec, "os/exec.Command")},
			want: "shop.go:10:2: MCP045: Save starts programs, and is readonly: shop.Save → " +
				"exec.Command\n\tfix: remove readonly, or remove exec.Command\n",
		},
		{name: "readonly reads", readOnly: &yes, reaches: []model.Reach{way(model.Files, "os.Open"), way(model.Network, "net.Dial")}},
		{name: "readonly=false", readOnly: &no, reaches: []model.Reach{way(model.Exec, "x"), way(model.Writes, "y")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := model.Tool{
				Name: "save", Handler: model.Handler{Name: "Save", Pos: model.Position{File: "/src/shop/shop.go", Line: 3, Col: 1}},
				Limits: model.Limits{Capabilities: c.declared}, Hints: model.Hints{ReadOnly: c.readOnly},
			}
			found := prove.Judge([]model.Tool{tool}, []model.Proven{{Tool: "save", Reaches: c.reaches}}, []string{"/src/shop"})
			var got strings.Builder
			if err := found.Render(&got, diag.Style{Base: "/src/shop"}); err != nil {
				t.Fatal(err)
			}
			if got.String() != c.want {
				t.Errorf("got:\n%swant:\n%s", &got, c.want)
			}
		})
	}
}

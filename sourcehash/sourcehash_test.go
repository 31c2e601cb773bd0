package sourcehash

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckNamesTheCauseAndTheCure(t *testing.T) {
	const code = "package desk\n\nconst made = 1\n"
	declarations := map[string][]string{".": {"Service.Get"}}
	for name, tc := range map[string]struct {
		change func(g *Generated, dir string)
		want   []string // each a line of the error
	}{
		"as generated": {func(*Generated, string) {}, nil},
		"line ends": {func(_ *Generated, dir string) {
			write(t, dir, Code, "\ufeff"+strings.ReplaceAll(code, "\n", "\r\n"))
		}, nil},
		"a directive": {func(_ *Generated, dir string) {
			write(t, dir, "desk.go", strings.Replace(desk, "minrole=Guest", "public", 1))
		}, []string{"the source of mcp_gen.go has changed "}},
		"generated code": {func(_ *Generated, dir string) { write(t, dir, Code, code+"\n") },
			[]string{"mcp_gen.go was edited by hand: "}},
		"both": {func(_ *Generated, dir string) {
			write(t, dir, "desk.go", strings.Replace(desk, "minrole=Guest", "public", 1))
			write(t, dir, Code, "")
		}, []string{"the source of ", "mcp_gen.go was "}},
		"no generated code": {func(_ *Generated, dir string) {
			os.Remove(filepath.Join(dir, Code))
		},
			[]string{"open "}},
		"a client": {func(g *Generated, dir string) {
			write(t, dir, "client.go", code)
			g.Client, g.ClientCode = "client.go", Digest([]byte(code))
		}, nil},
		"an edited client": {func(g *Generated, dir string) {
			write(t, dir, "client.go", code+"\n")
			g.Client, g.ClientCode = "client.go", Digest([]byte(code))
		}, []string{"client.go was edited by hand: "}},
		"no client": {func(g *Generated, _ string) { g.Client = "client.go" },
			[]string{"open "}},
		"a missing directory": {func(g *Generated, _ string) {
			g.Declarations = map[string][]string{"../gone": {"A"}}
		}, []string{"reading the source of generated code: "}},
		"another version of the source's hash": {func(g *Generated, _ string) {
			g.Source = "0:" + g.Source
		},
			[]string{"go.mod requires another version of mcpgen "}},
		"another version of the code's hash": {func(g *Generated, _ string) { g.Code = "" },
			[]string{"go.mod requires another version of mcpgen "}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "desk.go", desk)
			write(t, dir, Code, code)
			source, err := Hash(dir, declarations)
			if err != nil {
				t.Fatal(err)
			}
			g := Generated{Source: source, Code: Digest([]byte(code)), Declarations: declarations}
			tc.change(&g, dir)
			err = g.Check(dir)
			var got []string
			if err != nil {
				got = strings.Split(err.Error(), "\n")
			}
			if len(got) != len(tc.want) {
				t.Fatalf("the error is %v", err)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(got[i], want) ||
					!strings.Contains(got[i], "run go generate") {
					t.Errorf("line %d is %q, want %q", i, got[i], want)
				}
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

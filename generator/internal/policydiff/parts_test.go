package policydiff_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestEveryFieldOfAManifestIsCompared changes each word of real manifests in turn. The comparison
// reports a change, unless the manifest cannot be read any more.
func TestEveryFieldOfAManifestIsCompared(t *testing.T) {
	root := testrepo.Root(t)
	compared := 0
	for _, folder := range []string{"generator/internal/emit/testdata/freight",
		"generator/internal/emit/testdata/permissions", "examples/team/directory", "fields"} {
		text, err := os.ReadFile(filepath.Join(root, folder, "mcp.manifest.json"))
		if folder == "fields" {
			var archive *txtar.Archive
			if archive, err = txtar.ParseFile("testdata/field_in_text.txtar"); err == nil {
				text = archive.Files[0].Data
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		base := read(t, "base", text)
		words := strings.SplitAfter(string(text), `"`)
		for i := 1; i < len(words); i += 2 { // a string, with the quote that ends it
			changed := strings.Join(words[:i], "") + "Z" + strings.Join(words[i:], "")
			head, err := policydiff.Read("head", []byte(changed))
			if err != nil || strings.HasPrefix(strings.Join(words[i+1:min(i+2, len(words))], ""), ":") {
				continue // a name of a field
			}
			compared++
			if len(policydiff.Compare([]*policydiff.Manifest{base},
				[]*policydiff.Manifest{head})) == 0 {
				t.Errorf("%s: no change is reported of %s", folder,
					strings.Join(words[max(0, i-3):i+1], ""))
			}
		}
	}
	if compared < 300 {
		t.Errorf("%d words compared", compared)
	}
}

// TestRepositoryDoesNotDifferFromItself reads the manifests of several modules in one set.
func TestRepositoryDoesNotDifferFromItself(t *testing.T) {
	t.Chdir(testrepo.Root(t))
	set, err := policydiff.Load(context.Background(), policydiff.Source{Dirs: []string{"./...",
		"./examples/...", "./examples/team/...", "./examples/inventory/...",
		"./examples/workspace/...", "./runtime/sandbox/..."}})
	if err != nil || len(set) < 8 {
		t.Fatal(len(set), err)
	}
	for _, m := range set {
		if strings.Contains(m.File, "testdata") || !fs.ValidPath(m.File) {
			t.Errorf("%s is in a folder that ./... skips", m.File)
		}
	}
	if c := policydiff.Compare(set, set); len(c) > 0 {
		t.Error(c)
	}
	// Without the base, all is added, and the reverse is removed.
	for _, c := range policydiff.Compare(nil, set) {
		if c.Kind != policydiff.Added {
			t.Errorf("%s", c)
		}
	}
	for _, c := range policydiff.Compare(set, nil) {
		if c.Kind != policydiff.Removed {
			t.Errorf("%s", c)
		}
	}
}

func TestFoldersRestrictTheWorkingTree(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{".", "a", "a/b", "a/testdata/c", ".git/d", "_e", "vendor/f"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		text := `{"manifest": 2, "package": "` + folder + `"}`
		if err := os.WriteFile(filepath.Join(folder, "mcp.manifest.json"), []byte(text),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	for patterns, want := range map[string]string{
		"": ". a a/b", "./...": ". a a/b", ".": ".", "./a": "a", "./a/...": "a a/b",
		"./a/b ./a": "a a/b", "./a/testdata/c": "a/testdata/c", "./missing": "error",
		"a": "error",
	} {
		set, err := policydiff.Load(context.Background(),
			policydiff.Source{Dirs: strings.Fields(patterns)})
		var got []string
		for _, m := range set {
			got = append(got, m.Package)
		}
		if slices.Sort(got); err != nil {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s, %v", patterns, got, want, err)
		}
	}
}

// TestFoldersAreThoseOfTheGoCommand has folders that ./... skips. Main packages import some. The
// working tree and a commit have the same ones.
func TestFoldersAreThoseOfTheGoCommand(t *testing.T) {
	env := testrepo.GitEnv(t)
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-c", "user.name=n",
			"-c", "user.email=n@example.com"}, args...)...)
		command.Env = env
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for file, text := range map[string]string{
		"go.mod":            "module example.com/m\n\ngo 1.26\n\nignore (\n\t./old\n\tweb\n)\n",
		"cmd/main.go":       "package main\n\nimport _ \"example.com/m/lib\"\n",
		"lib/lib.go":        "package lib\n\nimport _ \"example.com/m/_x/tools\"\n",
		"lib/lib_test.go":   "package lib\n\nimport _ \"example.com/m/testdata/tests\"\n",
		"_x/tools/tools.go": "package tools\n\nimport _ \"example.com/m/lib/testdata/more\"\n",
		"other/other.go":    "package other\n\nimport _ \"example.com/m/testdata/library\"\n",
		"gen/gen.go": "//go:build ignore && linux\n\npackage main\n\nimport _ " +
			"\"example.com/m/testdata/gen\"\n",
		"app/app.go": "//go:build linux\n\npackage main\n\nimport _ " +
			"\"example.com/m/old/tools\"\n",
		"nested/go.mod":       "module example.com/nested\n",
		"nested/main.go":      "package main\n\nimport _ \"example.com/nested/testdata/t\"\n",
		"nested/deep/go.mod":  "module example.com/deep\n",
		"cmd/bad/bad.go":      "package main\n\nimport (\n",
		"testdata/m/main.go":  "package main\n\nimport _ \"example.com/m/testdata/unserved\"\n",
		"lib/web/web_test.go": "package web\n",
	} {
		writeFile(t, file, text)
	}
	for _, folder := range []string{".", "lib", "_x/tools", "lib/testdata/more", "testdata/tests",
		"testdata/library", "testdata/gen", "testdata/unserved", "old", "old/tools", "lib/web/a",
		"nested", "nested/testdata/t", "nested/deep", "vendor/v", ".hidden"} {
		writeFile(t, folder+"/mcp.manifest.json",
			`{"manifest": 2, "package": "`+folder+`"}`)
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "one")
	git("worktree", "add", "-q", "tree/of")
	for patterns, want := range map[string]string{
		"./...":              ". _x/tools lib lib/testdata/more old/tools",
		"./lib/...":          "lib",
		"./lib/... ./cmd":    "lib lib/testdata/more",
		"./nested/...":       "nested nested/testdata/t",
		"./nested/deep/...":  "nested/deep",
		"./testdata/...":     "testdata/gen testdata/library testdata/tests testdata/unserved",
		"./old/... ./vendor": "old old/tools",
		"./vendor/v":         "vendor/v",
	} {
		for _, from := range []string{"", "HEAD"} {
			set, err := policydiff.Load(t.Context(), policydiff.Source{From: from,
				Dirs: strings.Fields(patterns)})
			var got []string
			for _, m := range set {
				got = append(got, m.Package)
				if want := filepath.ToSlash(filepath.Join(m.Package, "mcp.manifest.json")); want != m.File {
					t.Errorf("%s, want %s", m.File, want)
				}
			}
			if slices.Sort(got); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s of %q: %v, want %s, %v", patterns, from, got, want, err)
			}
		}
	}
	// Without a module around them, modules are no nested ones, and worktrees are left out still.
	if err := os.Remove("go.mod"); err != nil {
		t.Fatal(err)
	}
	set, err := policydiff.Load(t.Context(), policydiff.Source{})
	var got []string
	for _, m := range set {
		got = append(got, m.Package)
	}
	if want := ". lib lib/web/a nested nested/testdata/t old old/tools"; err != nil ||
		strings.Join(got, " ") != want {
		t.Errorf("%v, want %s, %v", got, want, err)
	}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestTwoManifestsOfOnePackageAreAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"a", "b"} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folder+"/mcp.manifest.json",
			[]byte(`{"manifest": 2, "package": "p"}`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err := policydiff.Load(context.Background(), policydiff.Source{})
	if err == nil ||
		err.Error() != "a/mcp.manifest.json and b/mcp.manifest.json are both of package \"p\"" {
		t.Error(err)
	}
}

// TestMarkdownIsInert has names and messages that would act in a comment.
func TestMarkdownIsInert(t *testing.T) {
	c := policydiff.Change{Kind: policydiff.Widened, Subject: "tool", Name: "a`|b", Package: "p",
		Message: "x | <img> @all **b** [l](u) \u202e\n`c`", Breaks: "callers"}
	got := policydiff.Markdown([]policydiff.Change{c},
		policydiff.Allowed{c.String(): "because"})
	row := strings.Split(strings.TrimSpace(got), "\n")[6]
	want := "| tool `a'\\|b` of `p` | x \\| &lt;img> @\u200ball \\*\\*b\\*\\* \\[l\\](u) " +
		"\ufffd\ufffd\\`c\\` (allowed: because) | callers |"
	if row != want {
		t.Errorf("got\n%s\nwant\n%s", row, want)
	}
	if got := policydiff.Markdown(nil, nil); !strings.Contains(got, "Nobody may do more or less") {
		t.Error(got)
	}
}

func TestAllowedChangesNeedAReason(t *testing.T) {
	allowed, err := policydiff.ReadAllowed("f", strings.NewReader(
		"# comment\n\n widened resource a#b # c (p): m # the reason \n"))
	if err != nil || len(allowed) != 1 ||
		allowed["widened resource a#b # c (p): m"] != "the reason" {
		t.Errorf("%q, %v", allowed, err)
	}
	for _, text := range []string{"widened tool a (p): m", "widened tool a (p): m #",
		"widened tool a (p): m # ", "widened tool a (p): m #reason"} {
		if _, err := policydiff.ReadAllowed("f", strings.NewReader("\n"+text)); err == nil ||
			!strings.HasPrefix(err.Error(), "f:2: this entry has no reason") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPolicyJudgesEachChange(t *testing.T) {
	change := func(kind policydiff.Kind, name, breaks string) policydiff.Change {
		return policydiff.Change{Kind: kind, Subject: "tool", Name: name, Breaks: breaks}
	}
	wider, other := change(policydiff.Widened, "a", ""), change(policydiff.Widened, "b", "")
	changes := []policydiff.Change{wider, other, change(policydiff.Added, "c", ""),
		change(policydiff.Removed, "d", "callers"), change(policydiff.Narrowed, "e", "")}
	allowed := policydiff.Allowed{wider.String(): "reviewed", "gone": "old", "and": "older"}
	for words, want := range map[string]string{"": "", "widen": "b", "add": "c", "break": "d",
		"widen break add": "bcd"} {
		judged, unused := policydiff.Policy{FailOn: strings.Fields(words), Allowed: allowed}.
			Judge(changes)
		refused := ""
		for i, j := range judged {
			if j.Refused {
				refused += j.Name
			}
			if j.String() != changes[i].String() || (j.Allowed == "reviewed") != (i == 0) {
				t.Errorf("%q: %+v", words, j)
			}
		}
		if refused != want || !slices.Equal(unused, []string{"and", "gone"}) {
			t.Errorf("%q: refused %s, want %s; unused %q", words, refused, want, unused)
		}
	}
}

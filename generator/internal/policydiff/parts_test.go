package policydiff_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestEveryFieldOfAManifestIsCompared changes each word of real manifests in turn. The comparison
// reports a change, unless the manifest cannot be read any more.
func TestEveryFieldOfAManifestIsCompared(t *testing.T) {
	root := testrepo.Root(t)
	compared := 0
	for _, folder := range []string{"generator/internal/emit/testdata/freight",
		"generator/internal/emit/testdata/permissions", "examples/team/directory"} {
		text, err := os.ReadFile(filepath.Join(root, folder, "mcp.manifest.json"))
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

// TestRepositoryDoesNotDifferFromItself reads all manifests below the root in one set.
func TestRepositoryDoesNotDifferFromItself(t *testing.T) {
	t.Chdir(testrepo.Root(t))
	set, err := policydiff.Load(context.Background(), policydiff.Source{})
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

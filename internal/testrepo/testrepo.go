// Package testrepo gives tests the checkout of this repository: its root, scratch modules that use
// it, and sections of its pages. It is for tests alone.
package testrepo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/version"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Module is the path of the root module.
const Module = "github.com/mcpgen/mcpgen"

// Root returns the root of the checkout: the nearest folder with a go.work.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.work above the test")
		}
		dir = parent
	}
}

// WriteModule writes a go.mod and a go.sum for a scratch module that uses these modules of the
// checkout: the root, the command mcpgen, nested modules in folders, and those that they replace.
// The scratch module requires all that these require, so that the go command does not resolve
// anything.
func WriteModule(root, path, dir string, nested ...string) error {
	var mod strings.Builder
	fmt.Fprintf(&mod, "module %s\n", path)
	versions := map[string]string{}
	var sums []byte
	folders := append([]string{".", "cmd/mcpgen"}, nested...)
	for i := 0; i < len(folders); i++ {
		folder := folders[i]
		own, err := readModule(filepath.Join(root, folder, "go.mod"))
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Fprintf(&mod, "\ngo %s\n", own.Go)
		}
		versions[own.Module.Path] = "v0.0.0"
		fmt.Fprintf(&mod, "\nreplace %s => %s\n", own.Module.Path,
			strconv.Quote(filepath.Join(root, folder)))
		for _, r := range own.Replace {
			if used := filepath.Join(folder, r.New.Path); !slices.Contains(folders, used) {
				folders = append(folders, used)
			}
		}
		for _, r := range own.Require {
			if later(r.Version, versions[r.Path]) {
				versions[r.Path] = r.Version
			}
		}
		for _, tool := range own.Tool {
			fmt.Fprintf(&mod, "\ntool %s\n", tool.Path)
		}
		sum, err := os.ReadFile(filepath.Join(root, folder, "go.sum"))
		if err != nil {
			return err
		}
		sums = append(sums, sum...)
	}
	mod.WriteString("\nrequire (\n")
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&mod, "\t%s %s\n", path, versions[path])
	}
	mod.WriteString(")\n")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod.String()), 0o666)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666)
}

// A moduleFile is a go.mod, as go mod edit prints it.
type moduleFile struct {
	Module  struct{ Path string }
	Go      string
	Require []struct{ Path, Version string }
	Replace []struct{ New struct{ Path string } }
	Tool    []struct{ Path string }
}

// read has a func for each file that was read: scripts need the same files hundreds of times.
var read sync.Map

// readModule reads a go.mod, once. Package golang.org/x/mod would be a requirement of the root
// module, and so the lowest version of its users.
func readModule(file string) (moduleFile, error) {
	once, _ := read.LoadOrStore(file, sync.OnceValues(func() (m moduleFile, err error) {
		cmd := exec.Command("go", "mod", "edit", "-json", file)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return m, fmt.Errorf("%v: %w\n%s", cmd.Args, err, &stderr)
		}
		err = json.Unmarshal(out, &m)
		return m, err
	}))
	return once.(func() (moduleFile, error))()
}

// later compares two versions of a module, by their numbers alone.
func later(a, b string) bool {
	number := func(v string) string { return "go" + strings.TrimPrefix(v, "v") }
	return version.Compare(number(a), number(b)) > 0
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d(T[\d:]+)?`)

// Section compares the text between two markers of a page, apart from moments; update writes it.
func Section(t testing.TB, update bool, page, name, want string) {
	t.Helper()
	file := filepath.Join(Root(t), page)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	opening, closing := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(text, opening)
	got, after, closed := strings.Cut(rest, closing)
	if !found || !closed {
		t.Fatalf("%s has no section %q", page, name)
	}
	if moment.ReplaceAllString(got, "") == moment.ReplaceAllString(want, "") {
		return
	}
	if update {
		if err := os.WriteFile(file, []byte(before+opening+want+closing+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not true; run this test with -update.\nIt says:\n%s\nbut it is:\n%s", page, got,
		want)
}

// Output runs a command of space-separated words, and of more words that may hold spaces, and
// returns what it prints to standard output.
func Output(t testing.TB, dir, command string, more ...string) string {
	t.Helper()
	words := append(strings.Fields(command), more...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	if words[0] == "git" {
		cmd.Env = GitEnv(t)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", words, err, out, &stderr)
	}
	return string(out)
}

// GitEnv is the environment for git: without its variables, which name another repository in a
// hook, and without settings of the machine and of the user. It skips a test where there is no git.
func GitEnv(t testing.TB) []string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_")
	})
	return append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_CONFIG_GLOBAL="+os.DevNull)
}

// GoEnv returns a setting of the go command.
func GoEnv(t testing.TB, name string) string {
	t.Helper()
	return strings.TrimSpace(Output(t, "", fmt.Sprint("go env ", name)))
}

// Environment returns the settings of the go command that scripts get from its caller.
func Environment(t testing.TB) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB", "GOPRIVATE",
		"GOTOOLCHAIN"}
	values := strings.Split(Output(t, "", "go env "+strings.Join(names, " ")), "\n")
	for i, name := range names {
		names[i] = name + "=" + values[i]
	}
	return names
}

// Script has the methods of testscript.TestScript that [Replace] uses. Its package needs
// golang.org/x/tools, which would be a requirement of the root module.
type Script interface {
	Check(err error)
	Fatalf(format string, args ...any)
	MkAbs(file string) string
	ReadFile(file string) string
}

// Replace is a command of scripts that edits a file as an author would:
//
//	replace file old new
func Replace[S Script](ts S, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace file old new")
	}
	unquote := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
	old, with := unquote.Replace(args[1]), unquote.Replace(args[2])
	text := ts.ReadFile(args[0])
	if strings.Count(text, old) != 1 {
		ts.Fatalf("%s holds %q %d times, not once", args[0], old, strings.Count(text, old))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, old, with, 1)), 0o666))
}

// ScriptVariables are the environment of the scripts of another command, which run mcpgen as well.
func ScriptVariables(t testing.TB) []string {
	t.Helper()
	bin := t.TempDir()
	Output(t, Root(t), "go build -o", bin, "./cmd/mcpgen")
	return append(Environment(t), "CI=true", // without mcpgen's run cache
		"PATH="+os.Getenv("PATH")+string(os.PathListSeparator)+bin)
}

// Package testrepo gives tests the checkout of this repository: its root, scratch modules that use
// it, and sections of its pages. It is for tests alone.
package testrepo

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
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

// WriteModule writes a go.mod and a go.sum for a scratch module that uses the root module of the
// checkout, its nested modules in these folders, and the nested modules that they require. The
// scratch module requires all that these require, so that the go command does not resolve anything.
func WriteModule(root, path, dir string, nested ...string) error {
	f := new(modfile.File)
	if err := f.AddModuleStmt(path); err != nil {
		return err
	}
	versions := map[string]string{Module: "v0.0.0"}
	var sums []byte
	folders := append([]string{"."}, nested...)
	for i := 0; i < len(folders); i++ {
		folder := folders[i]
		name := filepath.Join(root, folder, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		own, err := modfile.Parse(name, text, nil)
		if err != nil {
			return err
		}
		if folder == "." {
			err = f.AddGoStmt(own.Go.Version)
		}
		if err == nil {
			err = f.AddReplace(own.Module.Mod.Path, "", filepath.Join(root, folder), "")
		}
		if err != nil {
			return err
		}
		for _, r := range own.Replace {
			if used := filepath.Join(folder, r.New.Path); !slices.Contains(folders, used) {
				folders = append(folders, used)
			}
		}
		for _, r := range own.Require {
			if semver.Compare(r.Mod.Version, versions[r.Mod.Path]) > 0 {
				versions[r.Mod.Path] = r.Mod.Version
			}
		}
		for _, tool := range own.Tool {
			if err := f.AddTool(tool.Path); err != nil {
				return err
			}
		}
		sum, err := os.ReadFile(filepath.Join(root, folder, "go.sum"))
		if err != nil {
			return err
		}
		sums = append(sums, sum...)
	}
	for _, folder := range nested {
		versions[Module+"/"+folder] = "v0.0.0"
	}
	for path, version := range versions {
		f.AddNewRequire(path, version, false)
	}
	f.SortBlocks()
	text, err := f.Format()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666)
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

// Scripts are the parameters of the scripts in testdata/script of another command, which run mcpgen
// as well. Each is in a scratch module example.com/shop that uses the nested modules in folders.
func Scripts(t testing.TB, update bool, nested ...string) testscript.Params {
	t.Helper()
	root, bin, settings := Root(t), t.TempDir(), Environment(t)
	Output(t, root, "go build -o", bin, "./cmd/mcpgen")
	return testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, settings...)
			env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+bin)
			env.Setenv("CI", "true") // without mcpgen's run cache
			return WriteModule(root, "example.com/shop", env.WorkDir, nested...)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"replace": Replace},
	}
}

// Replace is a command of scripts that edits a file as an author would:
//
//	replace file old new
func Replace(ts *testscript.TestScript, neg bool, args []string) {
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

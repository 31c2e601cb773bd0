package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var update = flag.Bool("update", false, "write what the scripts print into their wanted files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcpgen-openapi": main})
}

// TestScripts imports documents as a user does, and generates, builds and calls the package, in a
// scratch module outside the tree.
func TestScripts(t *testing.T) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/getkin/kin-openapi")
	kin, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	variables, root := testrepo.ScriptVariables(t), testrepo.Root(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, variables...)
			env.Setenv("DOCUMENTS", filepath.Join(root, "cmd/mcpgen-openapi/stubs/testdata"))
			env.Setenv("PUBLIC", filepath.Join(strings.TrimSpace(string(kin)), "openapi3/testdata"))
			return testrepo.WriteModule(root, "example.com/shop", env.WorkDir, "cmd/mcpgen-openapi")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fillin":  fillIn,
			"replace": testrepo.Replace[*testscript.TestScript],
		},
	})
}

// fillIn is a command of scripts that gives all tools of a file a rule, as an author would:
//
//	fillin file rule
func fillIn(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if neg || !strings.Contains(text, "minrole=FILL_IN") {
		ts.Fatalf("%s has no rule to fill in", args[0])
	}
	text = strings.ReplaceAll(text, "minrole=FILL_IN", args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

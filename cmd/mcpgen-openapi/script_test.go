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
	params := testrepo.Scripts(t, *update, "cmd/mcpgen-openapi")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("DOCUMENTS", filepath.Join(testrepo.Root(t), "cmd/mcpgen-openapi/stubs/testdata"))
		env.Setenv("PUBLIC", filepath.Join(strings.TrimSpace(string(kin)), "openapi3/testdata"))
		return setup(env)
	}
	params.Cmds["fillin"] = fillIn
	testscript.Run(t, params)
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

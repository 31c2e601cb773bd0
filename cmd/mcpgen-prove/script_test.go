package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var update = flag.Bool("update", false, "write what the scripts print into their wanted files")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcpgen-prove": main})
}

// TestScripts runs both commands as a user does, in scratch modules outside the tree, and compares
// their exact output.
func TestScripts(t *testing.T) {
	variables, root := testrepo.ScriptVariables(t), testrepo.Root(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, variables...)
			return testrepo.WriteModule(root, "example.com/shop", env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"replace": testrepo.Replace[*testscript.TestScript],
		},
	})
}

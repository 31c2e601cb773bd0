package main

import (
	"flag"
	"os"
	"os/exec"
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
	root, bin, settings := testrepo.Root(t), t.TempDir(), testrepo.Environment(t)
	build := exec.Command("go", "build", "-o", bin, "./cmd/mcpgen")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, settings...)
			env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+bin)
			env.Setenv("XDG_CACHE_HOME", t.TempDir()) // mcpgen's run cache
			return testrepo.WriteModule(root, "example.com/shop", env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"replace": testrepo.Replace,
		},
	})
}

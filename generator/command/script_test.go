package command

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/internal/testschema"
)

var update = flag.Bool("update", false, "write what the scripts print into their wanted files")

// commands are the programs that this one is under another name.
var commands = map[string]func(){"mcpgen": func() { Main() }}

func TestMain(m *testing.M) { testscript.Main(m, commands) }

// TestScripts runs the built command as a user does, in scratch modules outside the tree, and
// compares its exact output. The scripts are testdata/script/*.txtar.
func TestScripts(t *testing.T) {
	root := testrepo.Root(t)
	proxy := testrepo.NewProxy(t)
	settings := append(testrepo.Environment(t), "GIT_CONFIG_NOSYSTEM=1")
	scripts := newScriptCommands(t, settings)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(root, "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, settings...)
			env.Setenv("REPOSITORY", root)
			env.Setenv("CI", "true") // without mcpgen's run cache
			env.Setenv("UNPUBLISHED", proxy)
			env.Defer(func() {
				_, err := testschema.Generated(env.WorkDir, emit.Code, func(text string) error {
					return testschema.Input(string(structured.New([]byte(text)).InSessions))
				})
				if err != nil {
					t.Error(err)
				}
			})
			return nil
		},
		Condition: func(condition string) (bool, error) {
			if condition != "mounts" {
				return false, fmt.Errorf("unknown condition %q", condition)
			}
			return exec.Command("unshare", "-rm", "true").Run() == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ciscripts": ciScripts,
			"module":    module,
			"replace":   testrepo.Replace[*testscript.TestScript],
			"run":       scripts.run,
		},
	})
}

// module writes a go.mod and a go.sum for a scratch module that uses this checkout:
//
//	module example.com/inventory [dir]
func module(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: module path [dir]")
	}
	dir := ts.MkAbs(".")
	if len(args) == 2 {
		dir = ts.MkAbs(args[1])
	}
	// Generated code of isolated tools imports the sandbox.
	ts.Check(testrepo.WriteModule(ts.Getenv("REPOSITORY"), args[0], dir, "runtime/sandbox"))
}

package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var update = flag.Bool("update", false, "write what the scripts print into their wanted files")

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"mcpgen": main}) }

// TestScripts runs the commands that are not in package command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"replace": testrepo.Replace[*testscript.TestScript],
		},
	})
}

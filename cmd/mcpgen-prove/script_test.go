package main

import (
	"flag"
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
	testscript.Run(t, testrepo.Scripts(t, *update))
}

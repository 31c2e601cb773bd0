package golangci_test

import (
	"path/filepath"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	_ "github.com/mcpgen/mcpgen/generator/vet/golangci"
)

func TestPlugin(t *testing.T) {
	build, err := register.GetPlugin("mcpgen")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := build(nil)
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := plugin.BuildAnalyzers()
	if err != nil || len(analyzers) != 1 || analyzers[0].Name != "mcpgen" {
		t.Fatalf("got %v and %v, want the analyzer mcpgen", analyzers, err)
	}
	if err := analysis.Validate(analyzers); err != nil {
		t.Error(err)
	}
	if mode := plugin.GetLoadMode(); mode != register.LoadModeTypesInfo {
		t.Errorf("the load mode is %q, and the analyzer needs types", mode)
	}
	data, err := filepath.Abs("../testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range analysistest.Run(t, data, analyzers[0], "missing") {
		for _, d := range result.Action.Diagnostics {
			if len(d.SuggestedFixes) != 1 {
				t.Errorf("%s: got %d fixes, want 1", d.Message, len(d.SuggestedFixes))
			}
		}
	}
}

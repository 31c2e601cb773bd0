package vet_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/mcpgen/mcpgen/generator/vet"
)

func TestFindingsAndFixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), vet.Analyzer,
		"missing", "misspelt", "dangling", "hidden", "undecided", "asking")
}

// The analyzer reports tools that a package with a guarded server adds past the guard, and no
// others.
func TestToolsOutsideTheGuard(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), vet.Analyzer,
		"otherserver", "adopted", "unrelated")
}

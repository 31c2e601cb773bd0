// Package golangci is the analyzer of package vet as a module plugin of golangci-lint. Its name
// there is mcpgen, and it has no settings.
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/mcpgen/mcpgen/generator/vet"
)

func init() {
	register.Plugin("mcpgen", func(any) (register.LinterPlugin, error) { return plugin{}, nil })
}

type plugin struct{}

func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	a := *vet.Analyzer
	a.Run = func(pass *analysis.Pass) (any, error) {
		one := *pass
		// golangci-lint applies all fixes of a finding, and not the first one.
		one.Report = func(d analysis.Diagnostic) {
			d.SuggestedFixes = d.SuggestedFixes[:min(1, len(d.SuggestedFixes))]
			pass.Report(d)
		}
		return vet.Analyzer.Run(&one)
	}
	return []*analysis.Analyzer{&a}, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }

package main

import "github.com/mcpgen/mcpgen/generator/internal/providers"

// providerRules is the table of the rules that the APIs of model providers have.
func providerRules(*repository) string {
	table := head("provider", "rule", "warning", "source", "read on")
	for _, r := range providers.Rules() {
		warning := ""
		if r.Warns {
			warning = "yes"
		}
		table += row(code(r.Provider), cell(r.Text), warning, "["+r.SourceName()+"]("+r.Source+")",
			r.Seen)
	}
	return table
}

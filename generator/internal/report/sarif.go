package report

import (
	"net/url"
	"path"
	"strings"
)

// The part of SARIF 2.1.0 that a report has.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name  string      `json:"name"`
				Rules []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     Level           `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact sarifFile    `json:"artifactLocation"`
			Region   *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifFile struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

func sarifOf(findings []Finding) sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver.Name, run.Tool.Driver.Rules = "mcpgen", []sarifRule{}
	rules := map[string]int{}
	for _, f := range findings {
		index, known := rules[f.Code]
		if !known {
			index = len(rules)
			rules[f.Code] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Code})
		}
		text := f.Message
		if f.Cure != "" {
			text += "\nfix: " + f.Cure
		}
		result := sarifResult{RuleID: f.Code, RuleIndex: index, Level: f.Level,
			// A text in brackets before one in parentheses would be a link: section 3.11.6. The names in
			// a message may come from another server.
			Message: sarifText{strings.ReplaceAll(text, "](", "] (")}, Locations: []sarifLocation{}}
		if f.File != "" {
			var at sarifLocation
			at.Physical.Artifact = fileOf(f.File)
			if f.Line > 0 {
				at.Physical.Region = &sarifRegion{f.Line, f.Column}
			}
			result.Locations = append(result.Locations, at)
		}
		run.Results = append(run.Results, result)
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// fileOf returns the URI of a file: relative to the root of the source, or absolute.
func fileOf(file string) sarifFile {
	if path.IsAbs(file) {
		return sarifFile{URI: (&url.URL{Scheme: "file", Path: file}).String()}
	}
	return sarifFile{URI: (&url.URL{Path: file}).String(), Base: "%SRCROOT%"}
}

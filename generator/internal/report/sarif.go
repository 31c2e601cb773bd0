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
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
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
		Physical sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		Artifact sarifFile    `json:"artifactLocation"`
		Region   *sarifRegion `json:"region,omitempty"`
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
	run.Tool.Driver = sarifDriver{Name: "mcpgen", Rules: []sarifRule{}}
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
			Message: sarifText{unlinked(text)}, Locations: []sarifLocation{}}
		if f.File != "" {
			place := sarifPlace{Artifact: fileOf(f.File)}
			if f.Line > 0 {
				place.Region = &sarifRegion{f.Line, f.Column}
			}
			result.Locations = append(result.Locations, sarifLocation{place})
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

// unlinked parts the brackets of text that SARIF would show as a link, [text](target): section
// 3.11.6. The names in a message may come from another server.
func unlinked(text string) string { return strings.ReplaceAll(text, "](", "] (") }

package report

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
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
		Columns string        `json:"columnKind"`
		Results []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		Title   sarifText `json:"shortDescription"`
		Help    sarifText `json:"help"`
		HelpURI string    `json:"helpUri"`
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
	run := sarifRun{Columns: "unicodeCodePoints", Results: []sarifResult{}}
	files := map[string][]string{}
	run.Tool.Driver.Name, run.Tool.Driver.Rules = "mcpgen", []sarifRule{}
	rules := map[string]int{}
	for _, f := range findings {
		index, known := rules[f.Code]
		if !known {
			index = len(rules)
			rules[f.Code] = index
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleOf(f.Code))
		}
		text := f.Message
		if f.Cure != "" {
			text += "\nfix: " + f.Cure
		}
		result := sarifResult{RuleID: f.Code, RuleIndex: index, Level: f.Level,
			Message: sarifText{unlinked(text)}, Locations: []sarifLocation{}}
		if f.File != "" {
			var at sarifLocation
			at.Physical.Artifact = fileOf(f.File)
			if f.Line > 0 {
				at.Physical.Region = &sarifRegion{f.Line, column(files, f)}
			}
			result.Locations = append(result.Locations, at)
		}
		run.Results = append(run.Results, result)
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// column returns the column of a finding in characters. A finding counts bytes, as Go does. files
// are the lines of the files that are read. If a file cannot be read, the column stays as it is.
func column(files map[string][]string, f Finding) int {
	lines, known := files[f.File]
	if !known {
		text, _ := os.ReadFile(filepath.FromSlash(f.File))
		lines = strings.Split(string(text), "\n")
		files[f.File] = lines
	}
	if f.Line > len(lines) || f.Column < 1 || f.Column-1 > len(lines[f.Line-1]) {
		return f.Column
	}
	return utf8.RuneCountInString(lines[f.Line-1][:f.Column-1]) + 1
}

const pages = "https://github.com/mcpgen/mcpgen/blob/main/docs/"

// others are the rules that are no diagnostics: the title, the help and the page.
var others = map[string][3]string{
	"stale": {"Generated file is stale", "Run mcpgen, and commit the changed files.",
		"howto/ci.md#know-which-command-notices-what"},
	"together": {"An agent reaches private data, text of outsiders and egress",
		"Undo the change, or accept it in the file of --allow.", "howto/blast-radius.md#fail-in-ci"},
	"widened": {"Callers may do more", "Undo the change, or accept it in the file of --allow.",
		"howto/ci.md#review-changes-of-authority"},
	"added": {"Something new can be used", "Review who may use it.",
		"howto/ci.md#review-changes-of-authority"},
	"narrowed": {"Callers may do less", "Review whether callers need it still.",
		"howto/ci.md#review-changes-of-authority"},
	"removed": {"Something no longer exists", "Review whether callers need it still.",
		"howto/ci.md#review-changes-of-authority"},
	"changed": {"Something differs", "Review the change.", "reference/report.md"},
}

// ruleOf describes the rule with a code.
func ruleOf(code string) sarifRule {
	if e, ok := diag.Lookup(code); ok {
		return sarifRule{code, sarifText{unlinked(e.Title)},
			sarifText{unlinked(e.Cause + "\n\n" + e.Cure)},
			pages + "reference/diagnostics.md#" + strings.ToLower(code)}
	}
	rule, ok := others[code]
	if !ok {
		rule = [3]string{code, "The message of each finding has its cause.", "reference/report.md"}
	}
	return sarifRule{code, sarifText{unlinked(rule[0])}, sarifText{rule[1]}, pages + rule[2]}
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

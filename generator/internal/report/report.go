// Package report writes the findings of a command as JSON, as workflow commands of GitHub, and as
// SARIF.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/escape"
)

// Level is how serious a finding is. The levels are those of SARIF.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// Finding is one finding of a command.
type Finding struct {
	// Code is the kind of the finding, such as "MCP001" or "widened".
	Code    string `json:"code"`
	Level   Level  `json:"level"`
	Message string `json:"message"`
	// Cure is what to do.
	Cure string `json:"cure,omitempty"`
	// File is relative to the working directory, with slashes, if it is below it.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Format is the format of a report. It is a value of a flag.
type Format string

// The formats. Text is the command's own; [Write] has the others.
const (
	Text   Format = "text"
	JSON   Format = "json"
	GitHub Format = "github"
	SARIF  Format = "sarif"
)

// Flag is the value of a flag that takes one of some formats.
type Flag struct {
	*Format
	Of []Format
}

// All are the formats of findings.
var All = []Format{Text, JSON, GitHub, SARIF}

// String returns the name of the format.
func (f Flag) String() string {
	if f.Format == nil { // of the zero value, which help compares with
		return ""
	}
	return string(*f.Format)
}

// Type is the name of the value in the help of a flag.
func (f Flag) Type() string { return "FORMAT" }

// Set sets the format by its name.
func (f Flag) Set(name string) error {
	if !slices.Contains(f.Of, Format(name)) {
		last := len(f.Of) - 1
		list := strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Of[:last]), " ", ", "), "[]")
		return fmt.Errorf("unknown format %q: write %s or %s", name, list, f.Of[last])
	}
	*f.Format = Format(name)
	return nil
}

// Write writes findings in a format other than text.
func Write(w io.Writer, f Format, findings []Finding) error {
	switch f {
	case JSON:
		return WriteJSON(w, struct {
			Version  int       `json:"version"`
			Findings []Finding `json:"findings"`
		}{1, append([]Finding{}, findings...)})
	case GitHub:
		return writeGitHub(w, findings)
	case SARIF:
		return WriteJSON(w, sarifOf(findings))
	}
	return fmt.Errorf("report: no document has the format %q", f)
}

// WriteJSON writes a document, indented. Strings have escapes for characters that hide or reorder
// text.
func WriteJSON(w io.Writer, document any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, escape.JSON(b.String()))
	return err
}

// The escapes of workflow commands:
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
var (
	data       = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	properties = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// writeGitHub writes a workflow command for each finding, which becomes an annotation.
func writeGitHub(w io.Writer, findings []Finding) error {
	for _, f := range findings {
		command := string(f.Level)
		if f.Level == Note {
			command = "notice"
		}
		var at []string
		if f.File != "" {
			at = append(at, "file="+properties.Replace(f.File))
			if f.Line > 0 {
				at = append(at, fmt.Sprint("line=", f.Line))
			}
			if f.Line > 0 && f.Column > 0 {
				at = append(at, fmt.Sprint("col=", f.Column))
			}
		}
		at = append(at, "title="+properties.Replace(f.Code))
		message := f.Message
		if f.Cure != "" {
			message += "\nfix: " + f.Cure
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", command, escape.Text(strings.Join(at, ",")),
			escape.Text(data.Replace(message))); err != nil {
			return err
		}
	}
	return nil
}

package commandline

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/internal/report"
)

// Reporter collects the findings of a command for the format of its flag --format. With the format
// text, the command prints them itself.
type Reporter struct {
	Format   report.Format
	Findings []report.Finding

	out io.Writer
}

// Flag declares the flag.
func (r *Reporter) Flag(command *cobra.Command) {
	r.Format = report.Text
	command.Flags().Var(&r.Format, "format", "write the findings as text, json, github or sarif")
}

// Text reports whether the command prints its findings itself. Otherwise, it sends all other output
// of the command to standard error: standard output has the document alone.
func (r *Reporter) Text(cmd *cobra.Command) bool {
	if r.Format == report.Text {
		return true
	}
	if r.out == nil {
		r.out = cmd.OutOrStdout()
		cmd.SetOut(cmd.ErrOrStderr())
	}
	return false
}

// Add adds a finding. Its file becomes relative to the working directory.
func (r *Reporter) Add(f report.Finding) {
	if f.File != "" {
		f.File = filepath.ToSlash(Relative(f.File))
	}
	r.Findings = append(r.Findings, f)
}

// Result adds the diagnostics of a result. With the format text, it prints them. If there are any,
// it returns ErrFindings.
func (r *Reporter) Result(cmd *cobra.Command, result generator.Result) error {
	if r.Text(cmd) || len(result.Diagnostics) == 0 {
		return Report(cmd, result)
	}
	r.diagnostics(result.Diagnostics)
	return ErrFindings
}

func (r *Reporter) diagnostics(list diag.List) {
	for _, d := range list {
		r.Add(report.Finding{Code: string(d.Code), Level: report.Error, Message: d.Message,
			Cure: d.Suggestion, File: d.Pos.File, Line: d.Pos.Line, Column: d.Pos.Col})
	}
}

// Close writes the document of a command that ended with an error. It writes none for a failure of
// the command.
func (r *Reporter) Close(cmd *cobra.Command, err error) error {
	if r.Text(cmd) || err != nil && !errors.Is(err, ErrFindings) {
		return err
	}
	if failed := report.Write(r.out, r.Format, r.Findings); failed != nil {
		return failed
	}
	return err
}

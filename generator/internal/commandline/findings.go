package commandline

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
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
	command.Flags().Var(report.Flag{Format: &r.Format, Of: report.All}, "format",
		"write the findings as text, json, github or sarif")
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
	for _, d := range result.Diagnostics {
		r.Add(report.Finding{Code: string(d.Code), Level: report.Error, Message: d.Message,
			Cure: d.Suggestion, File: d.Pos.File, Line: d.Pos.Line, Column: d.Pos.Col})
	}
	return ErrFindings
}

// Stale adds the files that differ from those on disk. With the format text, it prints them.
func (r *Reporter) Stale(cmd *cobra.Command, differences []writefiles.Difference, cure string) {
	for _, d := range differences {
		message := fmt.Sprintf("%s is %s", Relative(d.Path), d.State)
		r.Add(report.Finding{Code: "stale", Level: report.Error, File: d.Path, Message: message,
			Cure: cure})
		if r.Text(cmd) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n%s", message, cure, d.Diff)
		}
	}
}

// Close writes the document of a command that ended with an error or nil, but none for a failure of
// the command. It returns the error of the command: ErrFindings if a finding has the level Error.
func (r *Reporter) Close(cmd *cobra.Command, err error) error {
	if err == nil && slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
		return f.Level == report.Error
	}) {
		err = ErrFindings
	}
	if r.Text(cmd) || err != nil && !errors.Is(err, ErrFindings) {
		return err
	}
	if failed := report.Write(r.out, r.Format, r.Findings); failed != nil {
		return failed
	}
	return err
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/vet"
	"github.com/mcpgen/mcpgen/internal/commandline"
)

func newVet() *cobra.Command {
	var fix bool
	var reporter commandline.Reporter
	command := &cobra.Command{
		Use:   "vet [packages]",
		Short: "Report findings of each package, and fix them",
		Long: `vet reports the findings of check that concern one package, also if it does not compile or was
never generated. It also reads bodies, and reports tools that are added to a server without the
guard (MCP048). It does not compare packages or generated files: run check in CI.

With --fix, vet corrects misspelt directives and keys, and roles with one wrong letter. It inserts
missing directives, and removes hidden characters and directives without a declaration, except those
that restrict a handler. It then reports what remains. It chooses no access rule: an inserted
directive has minrole=FILL_IN, which is an error until you write the role.

mcpgen is also a tool of go vet:

  go vet -vettool=$(go tool -n mcpgen) ./...

go vet reads packages only if they compile, and has -fix, -diff and -json.

Exit codes: 0 no findings; 1 findings; 2 usage error or failure.`,
		Example: `  mcpgen vet ./...
  mcpgen vet --fix ./...    correct what has one correction, and review the changes`,
		RunE: func(cmd *cobra.Command, patterns []string) (err error) {
			defer func() { err = reporter.Close(cmd, err) }()
			reporter.Text(cmd) // before all output
			found, err := vetted(cmd.Context(), patterns)
			if err != nil {
				return err
			}
			if fix {
				changed, err := found.fix()
				for _, path := range changed {
					fmt.Fprintln(cmd.OutOrStdout(), relative(path))
				}
				if err != nil {
					return err
				}
				if found, err = vetted(cmd.Context(), patterns); err != nil {
					return err
				}
			}
			if len(found.list) == 0 {
				return nil
			}
			return reporter.Result(cmd, generator.Result{Diagnostics: found.list})
		},
	}
	reporter.Flag(command)
	command.Flags().BoolVar(&fix, "fix", false, "apply the first fix of each finding")
	return command
}

// isVettool reports whether go vet runs the command as its tool.
func isVettool(args []string) bool {
	return len(args) > 0 && (args[0] == "-V=full" || args[0] == "-flags" ||
		filepath.Base(args[len(args)-1]) == "vet.cfg")
}

// findings are those of packages, with their fixes.
type findings struct {
	list  diag.List
	fset  *token.FileSet
	fixes []analysis.SuggestedFix
}

// vetted runs the analyzer on packages.
func vetted(ctx context.Context, patterns []string) (findings, error) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	found := findings{fset: token.NewFileSet()}
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Fset: found.fset, Mode: packages.LoadSyntax | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return findings{}, err
	}
	if len(pkgs) == 0 {
		return findings{}, errors.New("no packages match " + strings.Join(patterns, " "))
	}
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			if e.Kind == packages.ListError && len(pkg.GoFiles)+len(pkg.IgnoredFiles) == 0 {
				err = errors.Join(err, errors.New(e.Msg))
			}
		}
	}
	if err != nil {
		return findings{}, err
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{vet.Analyzer}, pkgs, nil)
	if err != nil {
		return findings{}, err
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return findings{}, action.Err
		}
		found.list = append(found.list, action.Result.(diag.List)...)
		for _, d := range action.Diagnostics {
			if len(d.SuggestedFixes) > 0 {
				found.fixes = append(found.fixes, d.SuggestedFixes[0])
			}
		}
	}
	found.list.Sort()
	return found, nil
}

// fix applies the fixes and returns the files that it changed. Of fixes that overlap, it applies
// the first.
func (f findings) fix() (changed []string, err error) {
	edits := map[string][]analysis.TextEdit{} // by file
	slices.SortStableFunc(f.fixes, func(a, b analysis.SuggestedFix) int {
		return int(a.TextEdits[0].Pos - b.TextEdits[0].Pos)
	})
	last := token.NoPos
	for _, fix := range f.fixes {
		if fix.TextEdits[0].Pos < last {
			continue
		}
		for _, edit := range fix.TextEdits {
			name := f.fset.File(edit.Pos).Name()
			edits[name] = append(edits[name], edit)
			last = max(edit.Pos, edit.End)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		text, err := os.ReadFile(name)
		if err != nil {
			return changed, err
		}
		var out bytes.Buffer
		at := 0
		for _, edit := range edits[name] {
			file := f.fset.File(edit.Pos)
			out.Write(text[at:file.Offset(edit.Pos)])
			out.Write(edit.NewText)
			at = file.Offset(max(edit.Pos, edit.End))
		}
		out.Write(text[at:])
		if err := os.WriteFile(name, out.Bytes(), 0o666); err != nil {
			return changed, err
		}
		changed = append(changed, name)
	}
	return changed, nil
}

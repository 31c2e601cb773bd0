package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/providers"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/internal/escape"
)

func newCheck() *cobra.Command {
	var clients []string
	var findings commandline.Reporter
	command := &cobra.Command{
		Use:   "check [packages]",
		Short: "Fail if a generated file is stale or a handler unannotated; write nothing",
		Long: `check generates without writing. It prints the findings, and the differences between the
generated files and those on disk. Run it in CI.

A tool that the API of a model provider refuses ends each session that offers it. check warns of
such tools, and so does mcpgen itself. With --clients, these are errors for the named providers:
openai, anthropic and gemini. check then also applies the other rules of their APIs, and those of
their strict modes. mcpgen explain MCP050 has the rules.

Exit codes: 0 no findings; 1 findings or stale files; 2 usage error or failure.`,
		Example: `  mcpgen check ./...            for CI
  mcpgen check --clients=openai,anthropic,gemini ./...  also check tools for providers`,
		RunE: func(cmd *cobra.Command, patterns []string) (err error) {
			defer func() { err = findings.Close(cmd, err) }()
			findings.Text(cmd) // before all output
			for _, client := range clients {
				if !slices.Contains(providers.Names(), client) {
					return fmt.Errorf("unknown client --clients=%s: write %s", client,
						strings.Join(providers.Names(), ","))
				}
			}
			result, err := generator.Run(cmd.Context(),
				generator.Options{Patterns: patterns, Schemas: len(clients) > 0})
			if err != nil {
				return err
			}
			if err := findings.Result(cmd, result); err != nil {
				return err
			}
			differences, err := result.Stale()
			if err != nil {
				return err
			}
			for i := range differences {
				if filepath.Base(differences[i].Path) == emit.Test {
					differences[i].Diff = "" // only hashes, and what the other files have as well
				}
			}
			findings.Stale(cmd, differences, "run go generate, or mcpgen, and commit the result")
			warn(cmd, &findings, result, clients...)
			return usable(cmd, &findings, result.Services, clients)
		},
	}
	command.Flags().StringSliceVar(&clients, "clients", nil,
		"check the tools for the APIs and the strict modes of openai, anthropic and gemini")
	findings.Flag(command)
	return command
}

// usable prints which tools a provider cannot use.
func usable(
	cmd *cobra.Command, findings *commandline.Reporter, services []model.Service, clients []string,
) (err error) {
	for _, service := range services {
		for _, tool := range service.Tools {
			schema := []byte(tool.Input.Written)
			if tool.Input.Written == "" {
				if schema, err = json.Marshal(tool.Input.Schema); err != nil {
					return err
				}
			}
			for _, client := range clients {
				problems, err := providers.Check(client, tool.Name, schema)
				if err != nil {
					return err
				}
				for _, p := range problems {
					f := report.Finding{Code: string(diag.ProviderSchema), Level: report.Error,
						Message: p.Refuses(tool.Name, client), Cure: p.Cure}
					addAt(cmd, findings, tool.Pos, f, f.Code+": "+f.Message+"\n\tfix: "+f.Cure)
				}
			}
		}
	}
	return nil
}

// warn prints which rules have no effect, and which tools some providers refuse. It leaves out the
// providers in except, whose findings are errors.
func warn(cmd *cobra.Command, findings *commandline.Reporter, result generator.Result,
	except ...string) {
	for _, d := range result.Unused {
		f := report.Finding{Code: string(d.Code), Level: report.Warning, Message: d.Message,
			Cure: d.Suggestion}
		addAt(cmd, findings, d.Pos, f, "warning: "+f.Code+": "+f.Message+"\n\tfix: "+f.Cure)
	}
	for _, w := range result.Warnings {
		who := slices.DeleteFunc(slices.Clone(w.Providers), func(provider string) bool {
			return slices.Contains(except, provider)
		})
		if len(who) == 0 {
			continue
		}
		f := report.Finding{Code: string(diag.ProviderSchema), Level: report.Warning,
			Message: w.Refuses(w.Tool, who...), Cure: w.Cure}
		addAt(cmd, findings, w.Pos, f, "warning: "+f.Code+": "+f.Message+"\n\tfix: "+f.Cure)
	}
}

// addAt adds a finding at a place. With the format text, it prints the text there.
func addAt(cmd *cobra.Command, findings *commandline.Reporter, at model.Position,
	f report.Finding, text string) {
	f.File, f.Line, f.Column = at.File, at.Line, at.Col
	findings.Add(f)
	if findings.Text(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d:%d: %s\n", relative(at.File), at.Line, at.Col,
			escape.Text(text))
	}
}

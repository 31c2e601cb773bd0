package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/importer"
	"github.com/mcpgen/mcpgen/generator/internal/toollist"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

func newImport() *cobra.Command {
	var dir, name, save string
	var force bool
	var remote remote
	var api openAPIFlags
	command := &cobra.Command{
		Use:   "import FILE | URL | -- COMMAND [ARG...] | --openapi FILE",
		Short: "Start a package from the tools of another MCP server, or from an OpenAPI document",
		Long: `import reads the tools of another MCP server and writes, into one directory:

  schemas/NAME.input.json    the schema of the arguments of each tool
  schemas/NAME.output.json   the schema of its result, if it has one
  tools.go                   a handler for each tool, with directives and an input type

The source is a file with the result of tools/list, - for the standard input, the URL of a
server, or, after --, a program that is a stdio server. A file contains a JSON-RPC response, its
result or an array of tools, and may have several pages.

import does not choose who may call a tool. Each directive has minrole=FILL_IN, and mcpgen fails
with the line of each tool until you write its access rule there. Each handler returns an error
until you write its body.

In a schema, null stands for an absent keyword, as servers in Go write it. A pattern becomes an
equal one for Go and JavaScript, with a note. import skips a tool that it cannot read, with a note.

import overwrites files only with --force. It writes all files or none. It sends headers to the
scheme and host of the URL only, by https or to the same machine.

With --openapi, import runs mcpgen-openapi, which writes a handler for each operation of an HTTP
API. It never overwrites a file. mcpgen-openapi is a module of its own. Add it to the go.mod that
has mcpgen as a tool. For tools/go.mod, add -modfile=tools/go.mod:

  go get -tool github.com/mcpgen/mcpgen/cmd/mcpgen-openapi

Exit codes: 0 done; 2 usage error or failure.`,
		Example: `  mcpgen import tools.json
  mcpgen import --dir ./issues --save tools.json -- npx -y @example/issues-server
  mcpgen import --header "Authorization: Bearer $TOKEN" https://mcp.example.com/mcp
  mcpgen import --openapi petstore.yaml --dir ./petstore --only 'list*,pets'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("openapi") {
				return api.run(cmd, args, dir, name)
			}
			if cmd.Flags().Changed("only") {
				return errors.New("--only needs --openapi")
			}
			lists, err := remote.lists(cmd, args, 1,
				"write one source: a file, a URL, or -- and a command")
			if err != nil {
				return err
			}
			if save != "" {
				if err := saveList(save, lists[0]); err != nil {
					return err
				}
			}
			result, err := importer.Import(options(lists[0], importer.Options{
				Dir: dir, Package: name, Force: force,
			}))
			for _, note := range append(lists[0].Skipped, result.Notes...) {
				fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
			}
			var exist *importer.ExistError
			if errors.As(err, &exist) {
				for i, path := range exist.Paths {
					exist.Paths[i] = relative(path)
				}
				return fmt.Errorf("%w: write --dir with another directory, or --force", err)
			}
			if err != nil {
				return err
			}
			for _, path := range result.Changed {
				fmt.Fprintln(cmd.OutOrStdout(), relative(path))
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"Replace minrole=%s in %s with access rules, such as public, authenticated or "+
					"minrole=Member, and run mcpgen.\n",
				importer.FillIn, importer.File)
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&dir, "dir", ".", "write into this directory, which must exist")
	flags.StringVar(&name, "package", "", "name of the package (default: the one in the directory)")
	flags.StringVar(&save, "save", "",
		"also write the list to this file, for mcpgen diff --lists")
	flags.BoolVar(&force, "force", false, "overwrite files that exist")
	remote.flags(command)
	api.flags(command)
	return command
}

func saveList(path string, list toollist.List) error {
	var text bytes.Buffer
	if err := list.Write(&text); err != nil {
		return err
	}
	return writefiles.Replace(path, text.Bytes())
}

// options converts a list of tools to options of the importer.
func options(list toollist.List, o importer.Options) importer.Options {
	o.Server, o.Version = list.Server, list.Version
	for _, t := range list.Tools {
		o.Tools = append(o.Tools, importer.Tool{
			Name: t.Name, Title: cmp.Or(t.Title, t.Annotations.Title), // older servers write the latter
			Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema,
			ReadOnly: t.Annotations.ReadOnlyHint, Destructive: t.Annotations.DestructiveHint,
			Idempotent: t.Annotations.IdempotentHint, OpenWorld: t.Annotations.OpenWorldHint,
		})
	}
	return o
}

// openAPITool is the command that reads OpenAPI documents. Its module requires a library for them,
// and only users of import --openapi add it.
const openAPITool = "mcpgen-openapi"

// openAPIFlags are the flags of import for an OpenAPI document.
type openAPIFlags struct {
	file string
	only []string
}

func (o *openAPIFlags) flags(command *cobra.Command) {
	command.Flags().StringVar(&o.file, "openapi", "",
		"write handlers that call the HTTP API of this OpenAPI document")
	command.Flags().StringArrayVar(&o.only, "only", nil,
		"with --openapi, import only these: an operationId, a tag, or METHOD /path; "+
			"separated by commas, * matches text without /")
}

func (o *openAPIFlags) run(cmd *cobra.Command, args []string, dir, name string) error {
	if len(args) > 0 {
		return errors.New("write one source: --openapi FILE takes no other")
	}
	for _, flag := range []string{"force", "header", "save", "timeout"} {
		if cmd.Flags().Changed(flag) {
			return fmt.Errorf("--%s does not apply to --openapi", flag)
		}
	}
	run := []string{"--dir=" + dir, "--package=" + name}
	for _, only := range o.only {
		run = append(run, "--only="+only)
	}
	return runTool(cmd, "import --openapi", openAPITool, append(run, "--", o.file)...)
}

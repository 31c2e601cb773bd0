// Command mcpgen-openapi writes handlers that call an HTTP API, from its OpenAPI document. It is a
// module of its own, so that a module that uses mcpgen does not require a library for OpenAPI.
package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/mcpgen-openapi/stubs"
	"github.com/mcpgen/mcpgen/generator/extension"
)

func main() {
	extension.Main(newImport())
}

func newImport() *cobra.Command {
	var o stubs.Options
	command := &cobra.Command{
		Use:   "mcpgen-openapi FILE",
		Short: "Start a package from the operations of an HTTP API",
		Long: `mcpgen-openapi reads an OpenAPI document and writes, into one directory:

  tools.go       a handler for each operation, with directives and an input type
  types.go       the types of bodies and results
  upstream.go    type API, which sends the requests

The document is a file of OpenAPI 3.0 or 3.1, in JSON or YAML. mcpgen-openapi reads no other file
and no URL: a $ref to one is an error.

mcpgen-openapi does not choose who may call a tool. Each directive has minrole=FILL_IN, and mcpgen
fails with the line of each tool until you write its access rule there. A comment above it has the
credential and the scopes that the API requires.

A handler calls the API, with API.BaseURL and the HTTP client of API.Client. If it cannot send a
parameter, or the body is not JSON, it returns an error until you write its body, and a note names
it. The files are yours: mcpgen-openapi overwrites no file. It writes all files or none.

Exit codes: 0 done; 2 usage error or failure.`,
		Example: `  mcpgen import --openapi petstore.yaml --dir ./petstore
  mcpgen import --openapi api.json --dir ./api --only 'list*,GET /pets/{id}'`,
		Args:          cobra.ExactArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := stubs.Load(args[0])
			if err != nil {
				return err
			}
			result, err := stubs.Import(doc, o)
			for _, note := range result.Notes {
				fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
			}
			if err != nil {
				return err
			}
			for _, path := range result.Written {
				fmt.Fprintln(cmd.OutOrStdout(), extension.Relative(path))
			}
			fmt.Fprintf(cmd.ErrOrStderr(),
				"Replace minrole=%s in %s with access rules, and run mcpgen.\n",
				extension.FillIn, extension.File)
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Dir, "dir", ".", "write into this directory, which must exist")
	flags.StringVar(&o.Package, "package", "",
		"name of the package (default: the one in the directory)")
	flags.StringSliceVar(&o.Only, "only", nil,
		"import only these: an operationId, a tag, or METHOD /path; * matches text without /")
	return command
}

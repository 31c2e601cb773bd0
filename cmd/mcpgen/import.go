package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/importer"
	"github.com/mcpgen/mcpgen/generator/toollist"
)

func newImport() *cobra.Command {
	var dir, name, save string
	var force bool
	var remote remote
	command := &cobra.Command{
		Use:   "import FILE | URL | -- COMMAND [ARG...]",
		Short: "Start a package from the tools of another MCP server",
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

import overwrites files only with --force. It writes all files or none. It sends headers to the
scheme and host of the URL only.

Exit codes: 0 done; 2 usage error or failure.`,
		Example: `  mcpgen import tools.json
  mcpgen import --dir ./issues --save tools.json -- npx -y @example/issues-server
  mcpgen import --header "Authorization: Bearer $TOKEN" https://mcp.example.com/mcp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			sources, err := remote.sources(cmd, args)
			if err != nil {
				return err
			}
			if len(sources) != 1 {
				return errors.New("write one source: a file, a URL, or -- and a command")
			}
			list, err := sources[0].list(cmd)
			if err != nil {
				return err
			}
			if save != "" {
				if err := saveList(save, list); err != nil {
					return err
				}
			}
			result, err := importer.Import(options(list, importer.Options{
				Dir: dir, Package: name, Force: force,
			}))
			for _, note := range result.Notes {
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
				"Replace minrole=%s in %s with access rules, and run mcpgen.\n",
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
	return command
}

func saveList(path string, list toollist.List) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(list.Write(file), file.Close())
}

// options converts a list of tools to options of the importer.
func options(list toollist.List, o importer.Options) importer.Options {
	o.Server, o.Version = list.Server, list.Version
	for _, t := range list.Tools {
		o.Tools = append(o.Tools, importer.Tool{
			Name: t.Name, Title: t.Title, AnnotationTitle: t.Annotations.Title,
			Description: t.Description,
			Input:       t.InputSchema, Output: t.OutputSchema,
			ReadOnly: t.Annotations.ReadOnlyHint, Destructive: t.Annotations.DestructiveHint,
			Idempotent: t.Annotations.IdempotentHint, OpenWorld: t.Annotations.OpenWorldHint,
		})
	}
	return o
}

// remote are the flags of commands that read lists of tools.
type remote struct {
	headers []string
	timeout time.Duration
}

func (r *remote) flags(command *cobra.Command) {
	command.Flags().StringArrayVar(&r.headers, "header", nil,
		`send this header to the URL, for example "Authorization: Bearer …" (may be repeated)`)
	command.Flags().DurationVar(&r.timeout, "timeout", 30*time.Second,
		"end the connection to a server after this time")
}

// source is a list of tools: a file or URL, or a command.
type source struct {
	name    string
	command []string
	headers http.Header
	timeout time.Duration
}

// sources reads the arguments: names, and a command after --.
func (r *remote) sources(cmd *cobra.Command, args []string) ([]source, error) {
	headers, err := r.parsed()
	if err != nil {
		return nil, err
	}
	names, command := args, []string(nil)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		names, command = args[:dash], args[dash:]
	}
	var list []source
	urls, files := 0, 0
	for _, name := range names {
		if isURL(name) {
			urls++
		}
		if name == "-" {
			files++
		}
		list = append(list, source{name: name, headers: headers, timeout: r.timeout})
	}
	if len(command) > 0 {
		list = append(list, source{command: command, timeout: r.timeout})
	}
	switch {
	case len(headers) > 0 && urls != 1:
		return nil, errors.New("--header needs exactly one URL")
	case files > 1:
		return nil, errors.New("write - for the standard input once only")
	}
	return list, nil
}

// parsed are the headers of --header.
func (r *remote) parsed() (http.Header, error) {
	headers := http.Header{}
	for _, h := range r.headers {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, errors.New("--header must have the form NAME: VALUE")
		}
		headers.Add(name, strings.TrimSpace(value))
	}
	return headers, nil
}

func isURL(name string) bool { return strings.Contains(name, "://") }

func (s source) list(cmd *cobra.Command) (list toollist.List, err error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), s.timeout)
	defer cancel()
	name := s.name
	switch {
	case len(s.command) > 0:
		name = s.command[0]
		list, err = toollist.Command(ctx, cmd.ErrOrStderr(), s.command[0], s.command[1:]...)
	case isURL(s.name):
		name = "the server"
		list, err = toollist.URL(ctx, s.name, s.headers)
	case s.name == "-":
		name = "standard input"
		list, err = toollist.Read(cmd.InOrStdin())
	default:
		var file *os.File
		if file, err = os.Open(s.name); err != nil {
			return toollist.List{}, err
		}
		defer file.Close()
		list, err = toollist.Read(file)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return list, err
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/toollist"
)

func newCall() *cobra.Command {
	var url, tokenEnv string
	var remote remote
	command := &cobra.Command{
		Use:   "call [TOOL [key=value...]] --url URL | -- COMMAND [ARG...]",
		Short: "Call a tool of an MCP server, or list its tools",
		Long: `call connects to the server at a URL, or starts a program that is a stdio server, and
calls a tool. Without a tool, it lists the tools of this caller with their arguments.

  key=value   a value of the type in the tool's input schema; an argument that is an array takes
              one element each time
  key:=JSON   any JSON value

It prints the structured content of the result as JSON, or else its text.

The server decides on the role of the caller. Over HTTP, it is the role of the token:
--token-env VIEWER_TOKEN sends the token in that environment variable. On stdio, it depends on the
arguments of the program.

Exit codes: 0 done; 1 the result is an error of the tool; 2 usage error or failure. A tool that the
caller may not use is an unknown tool.`,
		Example: `  mcpgen call --url http://127.0.0.1:8080/mcp
  mcpgen call count_words text="one two" --url http://127.0.0.1:8080/mcp --token-env TOKEN
  mcpgen call count_words text="one two" -- go run . -stdio mel`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, program := args, []string(nil)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				words, program = args[:dash], args[dash:]
			}
			if (url == "") == (len(program) == 0) {
				return errors.New("write one server: --url URL, or -- and a command")
			}
			if len(program) > 0 && (len(remote.headers) > 0 || tokenEnv != "") {
				return errors.New("--header and --token-env need --url")
			}
			headers, err := remote.parsed()
			if err != nil {
				return err
			}
			if tokenEnv != "" {
				token := os.Getenv(tokenEnv)
				if token == "" {
					return fmt.Errorf("--token-env: the variable %s is empty", tokenEnv)
				}
				headers.Set("Authorization", "Bearer "+token)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), remote.timeout)
			defer cancel()
			session, err := connect(ctx, cmd.ErrOrStderr(), program, url, headers)
			if err != nil {
				return err
			}
			defer session.Close()
			list, err := session.List(ctx)
			if err != nil {
				return err
			}
			if len(words) == 0 {
				return printTools(cmd.OutOrStdout(), list)
			}
			return callTool(ctx, cmd, session, list, words)
		},
	}
	command.Flags().StringVar(&url, "url", "", "`URL` of the MCP endpoint of a server")
	command.Flags().StringVar(&tokenEnv, "token-env", "",
		"send the token in the environment variable `NAME` as Authorization: Bearer")
	remote.flags(command)
	return command
}

func connect(ctx context.Context, stderr io.Writer, program []string, url string,
	headers http.Header) (*toollist.Session, error) {
	if len(program) > 0 {
		return toollist.Start(ctx, stderr, program[0], program[1:]...)
	}
	return toollist.Dial(ctx, url, headers)
}

func printTools(w io.Writer, list toollist.List) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range list.Tools {
		description, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\n", strings.Trim(strconv.QuoteToASCII(t.Name), `"`), t.Usage(),
			toollist.Printable(description))
	}
	return table.Flush()
}

func callTool(ctx context.Context, cmd *cobra.Command, session *toollist.Session,
	list toollist.List, words []string) error {
	i := slices.IndexFunc(list.Tools, func(t toollist.Tool) bool { return t.Name == words[0] })
	if i < 0 {
		return fmt.Errorf("the server lists no tool %s to this caller", words[0])
	}
	arguments, err := toollist.Arguments(list.Tools[i].InputSchema, words[1:])
	if err != nil {
		return err
	}
	result, err := session.Call(ctx, words[0], arguments)
	if err != nil {
		return err
	}
	if result.IsError {
		if err := printResult(cmd.ErrOrStderr(), result); err != nil {
			return err
		}
		return errFindings
	}
	return printResult(cmd.OutOrStdout(), result)
}

// printResult prints the structured content, or each content: text as it is, others as JSON.
func printResult(w io.Writer, result *mcp.CallToolResult) error {
	if structured, ok := result.StructuredContent.(json.RawMessage); ok {
		var indented bytes.Buffer
		if err := json.Indent(&indented, structured, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, toollist.Printable(indented.String()))
		return err
	}
	for _, content := range result.Content {
		text, ok := content.(*mcp.TextContent)
		if ok {
			fmt.Fprintln(w, toollist.Printable(text.Text))
			continue
		}
		encoded, err := json.Marshal(content)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, toollist.Printable(string(encoded)))
	}
	return nil
}

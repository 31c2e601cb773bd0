package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/toollist"
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

It prints the structured content of the result as JSON, or else its text. If the server runs the
call as a task, call waits for the result, and prints the messages of the task on the standard
error.

The server decides on the role of the caller. Over HTTP, it is the role of the token:
--token-env VIEWER_TOKEN sends the token in that environment variable, by https or to the same
machine. On stdio, it depends on the arguments of the program.

Exit codes: 0 done; 1 the result is an error of the tool; 2 usage error or failure. A tool that the
caller may not use is an unknown tool.`,
		Example: `  mcpgen call --url http://127.0.0.1:8080/mcp
  mcpgen call count_words text="one two" --url http://127.0.0.1:8080/mcp --token-env TOKEN
  mcpgen call count_words text="one two" -- go run . -stdio mel`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, program := splitAtDash(cmd, args)
			if (url == "") == (len(program) == 0) {
				return errors.New("write one server: --url URL, or -- and a command")
			}
			if len(program) > 0 && (len(remote.headers) > 0 || tokenEnv != "") {
				return errors.New("--header and --token-env need --url")
			}
			headers, err := remote.withToken(tokenEnv)
			if err != nil {
				return err
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
				return list.Print(cmd.OutOrStdout())
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
	result, err := session.Call(ctx, words[0], arguments, func(message string) {
		fmt.Fprintln(cmd.ErrOrStderr(), toollist.Line(message))
	})
	if err != nil {
		return err
	}
	if result.IsError {
		return cmp.Or(toollist.PrintResult(cmd.ErrOrStderr(), result), errFindings)
	}
	return toollist.PrintResult(cmd.OutOrStdout(), result)
}

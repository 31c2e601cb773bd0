package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/toollist"
)

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

// splitAtDash splits arguments: those before --, and a program with its arguments after it.
func splitAtDash(cmd *cobra.Command, args []string) (before, program []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return args[:dash], args[dash:]
	}
	return args, nil
}

// atLeastOne refuses a command line without arguments with what to write.
func atLeastOne(cure string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(cure)
		}
		return nil
	}
}

// lists reads lists of tools: from files and URLs, and from a program after --. The usage is the
// error if they are not n.
func (r *remote) lists(
	cmd *cobra.Command, args []string, n int, usage string,
) (all []toollist.List, err error) {
	headers, err := r.parsed()
	if err != nil {
		return nil, err
	}
	names, program := splitAtDash(cmd, args)
	urls, inputs := 0, 0
	for _, name := range names {
		if isURL(name) {
			urls++
		}
		if name == "-" {
			inputs++
		}
	}
	switch {
	case len(headers) > 0 && urls != 1:
		return nil, errors.New("--header needs exactly one URL")
	case inputs > 1:
		return nil, errors.New("write - for the standard input once only")
	case len(names)+min(len(program), 1) != n:
		return nil, errors.New(usage)
	}
	all = make([]toollist.List, n)
	for i := range all {
		if i < len(names) {
			all[i], err = r.list(cmd, names[i], nil, headers)
		} else {
			all[i], err = r.list(cmd, program[0], program, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
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

// list reads a list from a file or URL, or from a program.
func (r *remote) list(
	cmd *cobra.Command, name string, program []string, headers http.Header,
) (list toollist.List, err error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), r.timeout)
	defer cancel()
	switch {
	case len(program) > 0, isURL(name):
		var session *toollist.Session
		if session, err = connect(ctx, cmd.ErrOrStderr(), program, name, headers); err == nil {
			defer session.Close()
			list, err = session.List(ctx)
		}
		if len(program) == 0 {
			name = "the server"
		}
	case name == "-":
		list, err = toollist.Read(cmd.InOrStdin())
		name = "standard input"
	default:
		file, opened := os.Open(name)
		if opened != nil {
			return list, opened
		}
		defer file.Close()
		list, err = toollist.Read(file)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return list, err
}

// withToken are the headers of --header, and the token of --token-env if that is set.
func (r *remote) withToken(variable string) (http.Header, error) {
	headers, err := r.parsed()
	if err == nil && variable != "" {
		var token string
		token, err = tokenOf(variable)
		headers.Set("Authorization", "Bearer "+token)
	}
	return headers, err
}

// tokenOf is the token in the environment variable that --token-env names. The error does not
// contain the name: it may be a token.
func tokenOf(variable string) (string, error) {
	if token := os.Getenv(variable); token != "" {
		return token, nil
	}
	return "", errors.New("--token-env takes the name of an environment variable with the token: " +
		"this one is not set, or empty")
}

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/verify"
)

// verification are the flags of verify.
type verification struct {
	ref, tokenEnv, tokenFile string

	timeout  time.Duration
	findings commandline.Reporter
}

func newVerify() *cobra.Command {
	var v verification
	command := &cobra.Command{
		Use:   "verify URL [--ref REF] [packages | FILE.json]...",
		Short: "Compare the manifests of a running server with the reviewed ones",
		Long: `verify reads from the admin API of a server which manifests it was built from, and
compares their digests with mcp.manifest.json files. It prints a line for each package, which begins
with one of these words:

  - equal: the server was built from this manifest (in the format text only)
  - changed: the server was built from another manifest of this package
  - missing: the server does not serve the package
  - additional: the server serves a package without a manifest here
  - unknown: the server has no digest. An earlier version of mcpgen generated the package, or code
    of the server rebuilt its toolset
  - adopted: the server also serves an adopted go-sdk server, which no manifest describes

URL is that of the server, without the path of the MCP endpoint. Only admins of the server may read
the digests, so --token-env or --token-file must have the token of an admin. mcpgen sends it to this
URL only, by https or to the same machine. It follows no redirect.

Packages are folders, as in ./tools or ./..., which is the default, in the working tree or in a git
commit (--ref). Name the folders if the repository has several servers. FILE.json is a manifest on
the disk, such as that of a dependency.

A digest is the SHA-256 of the manifest's JSON without white space and with sorted keys. It covers
what the source declares. Options of the server, toolsets narrowed in code and the rules of an
adopted server do not change it.

Exit codes: 0 all packages are equal; 1 some are not; 2 usage error or failure.`,
		Example: `  mcpgen verify https://mcp.example.com --token-env ADMIN_TOKEN
  mcpgen verify https://mcp.example.com --token-env ADMIN_TOKEN --ref v1.3.0 ./tools/...
  mcpgen verify http://localhost:8080 --token-file admin.token ./tools shared/mcp.manifest.json`,
		Args: atLeastOne("write the URL of a server"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.findings.Close(cmd, v.run(cmd, args[0], args[1:]))
		},
	}
	flags := command.Flags()
	flags.StringVar(&v.ref, "ref", "",
		"read the manifests of this git ref (default: the working tree)")
	flags.StringVar(&v.tokenEnv, "token-env", "",
		"send the token in the environment variable `NAME` as Authorization: Bearer")
	flags.StringVar(&v.tokenFile, "token-file", "", "send the token in this `FILE`")
	flags.DurationVar(&v.timeout, "timeout", 30*time.Second, "end the connection after this time")
	v.findings.Flag(command)
	return command
}

func (v *verification) run(cmd *cobra.Command, server string, args []string) error {
	endpoint, err := verify.Endpoint(server)
	if err != nil {
		return err
	}
	if err := notEmpty(cmd, "ref"); err != nil {
		return err
	}
	reviewed, err := verify.Load(cmd.Context(), v.ref, args)
	if err != nil {
		return err
	}
	token, err := v.token()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), v.timeout)
	defer cancel()
	served, err := verify.Fetch(ctx, endpoint, token)
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	if len(reviewed)+len(served.Items) == 0 {
		return errors.New("neither the server nor the source has a manifest: there is nothing to " +
			"compare")
	}
	text := v.findings.Text(cmd)
	for _, f := range verify.Compare(served, reviewed) {
		if text {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", f.Code, f.Message)
			if f.Cure != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "  fix: %s\n", f.Cure)
			}
		}
		if f.Code != verify.Equal {
			v.findings.Add(f)
		}
	}
	return nil
}

func (v *verification) token() (string, error) {
	switch {
	case (v.tokenEnv == "") == (v.tokenFile == ""):
		return "", errors.New("write the token of an admin: --token-env NAME or --token-file FILE")
	case v.tokenEnv != "":
		return tokenOf(v.tokenEnv)
	}
	text, err := os.ReadFile(v.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("--token-file: %s is empty", v.tokenFile)
	}
	return token, nil
}

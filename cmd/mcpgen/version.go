package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this command",
		Long: "version prints the version of this command and that of Go, as recorded by the " +
			"go command.",
		Example: `  mcpgen version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		},
	}
}

// version is the version that the go command recorded in the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "mcpgen (no build information)"
	}
	return fmt.Sprintf("mcpgen %s %s", info.Main.Version, info.GoVersion)
}

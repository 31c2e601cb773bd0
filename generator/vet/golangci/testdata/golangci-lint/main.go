// Command golangci-lint is golangci-lint with the plugin of mcpgen.
package main

import (
	"fmt"
	"os"

	"github.com/golangci/golangci-lint/v2/pkg/commands"
	"github.com/golangci/golangci-lint/v2/pkg/exitcodes"

	_ "github.com/mcpgen/mcpgen/generator/vet/golangci"
)

func main() {
	if err := commands.Execute(commands.BuildInfo{Version: "with mcpgen"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitcodes.Failure)
	}
}

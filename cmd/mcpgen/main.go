// Command mcpgen generates MCP servers from annotated Go handlers.
package main

import (
	"context"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/mcpgen/mcpgen/generator/vet"
	"github.com/mcpgen/mcpgen/internal/commandline"
)

var (
	errFindings = commandline.ErrFindings
	printed     = commandline.Report
	relative    = commandline.Relative
)

func main() {
	if isVettool(os.Args[1:]) {
		unitchecker.Main(vet.Analyzer) // it exits
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	collectFrom(128 << 20)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// collectFrom lets the heap grow to a size before the first garbage collection. A run for 50
// packages ends before it: collections from 4 MB on would take a quarter of its time. From the
// first collection on, the heap grows to two and a half times the memory in use.
func collectFrom(size int64) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(size)
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		debug.SetGCPercent(150)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return commandline.Run(ctx, newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:     "mcpgen [packages]",
		Version: version(),
		Short:   "Generate MCP servers whose authority is compiled",
		Long: `mcpgen reads //mcp: directives on ordinary Go handlers and writes, beside the source,
typed registration code, JSON schemas, a static permission table, a manifest for
review and the role matrix as a document.

Packages are patterns as for the go command; the default is the package in the working
directory. If an annotation is missing or wrong, mcpgen prints the findings and overwrites
nothing. It writes aa_mcp_error.go, which stops the build until you fix them.

Exit codes: 0 done; 1 findings in the source; 2 usage error or failure.`,
		Example: `  mcpgen                    generate for the package in this directory
  mcpgen ./...              generate for every package below
  mcpgen check ./...        fail if a file is stale or a handler unannotated; write nothing
  mcpgen vet --fix ./...    correct misspelt directives, and insert missing ones
  mcpgen matrix ./...       print which role may use which tool
  mcpgen init               write a running service into an empty folder
  mcpgen call TOOL text=hi  call a tool of a server
  mcpgen import tools.json  start a package from the tools of another server
  mcpgen explain MCP001     what a diagnostic means and how to fix it
  mcpgen explain //mcp:tool the grammar of a directive`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	var findings commandline.Reporter
	findings.Flag(root)
	root.RunE = func(cmd *cobra.Command, patterns []string) error {
		return findings.Close(cmd, generate(cmd, &findings, patterns))
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newCheck(), newMatrix(), newList(), newExplain(), newProve(), newAudit(),
		newImport(), newDiff(), newVet(), newInit(), newCall(), newDocs(), newVersion())
	return root
}

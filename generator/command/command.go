// Package command is the command mcpgen.
package command

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/vet"
)

var (
	errFindings = commandline.ErrFindings
	relative    = commandline.Relative
)

// Main runs mcpgen with the arguments of the process, and ends the process. It adds commands of
// other modules.
func Main(others ...*cobra.Command) {
	if isVettool(os.Args[1:]) {
		unitchecker.Main(vet.Analyzer) // it exits
	}
	collectFrom(128 << 20)
	commandline.Process(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdout, os.Stderr, others...)
	})
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

func run(
	ctx context.Context, args []string, stdout, stderr io.Writer, others ...*cobra.Command,
) int {
	root := newRoot()
	root.AddCommand(others...)
	if word, ok := helpOfUnknown(root, args); ok {
		fmt.Fprintln(stderr, "mcpgen:", unknownCommand(root, word))
		return 2
	}
	return commandline.Run(ctx, root, args, stdout, stderr)
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
  mcpgen radius ./...       print what an agent reaches if somebody else controls it
  mcpgen init               write a running service into an empty folder
  mcpgen call --url URL     list the tools of a server, or call one
  mcpgen doctor URL         print what the holder of a token reaches, and why
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		_, name, _ := strings.Cut(err.Error(), " in -") // unknown shorthand flag: 'f' in -fix
		name, _, _ = strings.Cut(name, "=")
		if cmd.Flags().Lookup(name) != nil {
			return fmt.Errorf("%w: write --%s", err, name)
		}
		return err
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newCheck(), newMatrix(), newList(), newExplain(), newProve(), newImport(),
		newDiff(), newVerify(), newVet(), newInit(), newCall(), newDoctor(), newDocs(), newRadius(),
		newVersion())
	return root
}

// generate writes the generated files and prints the names of those that it changed.
func generate(cmd *cobra.Command, findings *commandline.Reporter, patterns []string) error {
	findings.Text(cmd) // before all output
	isWord := len(patterns) > 0 && !strings.ContainsAny(patterns[0], "./")
	if isWord && len(cmd.SuggestionsFor(patterns[0])) > 0 { // it may be meant as a command
		return unknownCommand(cmd, patterns[0])
	}
	result, changed, unchanged, err := generator.Generate(cmd.Context(),
		generator.Options{Patterns: patterns})
	if err != nil && isWord && strings.Contains(err.Error(), " is not in std") {
		return unknownCommand(cmd, patterns[0])
	}
	if err != nil || unchanged {
		return err
	}
	for _, path := range changed {
		if slices.Contains(result.Remove, path) {
			fmt.Fprint(cmd.OutOrStdout(), "removed ")
		}
		fmt.Fprintln(cmd.OutOrStdout(), relative(path))
	}
	if len(result.Unprovided) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "run go mod tidy: generated code needs %s, whose module "+
			"is not in go.mod\n", result.Unprovided[0])
	}
	warn(cmd, findings, result)
	return findings.Result(cmd, result)
}

// unknownCommand is the error of a word that is no command.
func unknownCommand(root *cobra.Command, word string) error {
	if near := root.SuggestionsFor(word); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q? (a package in this directory is "+
			"./%[1]s)", word, near[0])
	}
	return fmt.Errorf("unknown command %q; `mcpgen --help` lists the commands (a package in this "+
		"directory is ./%[1]s)", word)
}

// helpOfUnknown returns a word that is no command, if the arguments request its help. Cobra would
// print the help of root, which takes packages.
func helpOfUnknown(root *cobra.Command, args []string) (string, bool) {
	asks := slices.Contains(args, "--help") || slices.Contains(args, "-h")
	if len(args) > 1 && args[0] == "help" {
		args, asks = args[1:], true
	}
	if !asks || strings.ContainsAny(args[0], "./-_") || // not a pattern, a flag or __complete
		slices.Contains([]string{"all", "help", "completion"}, args[0]) {
		return "", false
	}
	found, _, err := root.Find(args)
	return args[0], err == nil && found == root
}

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

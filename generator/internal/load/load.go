package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Options select what to load.
type Options struct {
	Dir      string   // where the go command runs; empty is the working directory
	Patterns []string // as `go list` takes them; none is "."
	Env      []string // the go command's environment; nil is the process's own
	// Overlay has the content of files, by their absolute paths, in place of that on the disk.
	Overlay map[string][]byte
	// Bodies is whether the bodies of funcs of the roots are checked as well. Errors in them are no
	// errors of the roots.
	Bodies bool
}

// ErrNoPackages is wrapped by the Error of patterns that match nothing.
var ErrNoPackages = errors.New("no packages")

// Error reports that nothing could be loaded: no packages, a bad pattern, no go command. It is
// about the run, not about the source; findings in source are diagnostics.
type Error struct {
	Err error
}

// Error is one line.
func (e *Error) Error() string { return "cannot load packages: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// metadata is the mode of a listing that compiles nothing. Sizes of types are left out: for them
// go/packages runs cgo, which doubles the time.
const metadata = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedModule

// Lister lists packages as [packages.Load] does.
type Lister func(*packages.Config, ...string) ([]*packages.Package, error)

type listerKey struct{}

// WithLister returns a context with which Load calls a lister in place of the go command. Tests use
// it: the go command takes most of the time of a run.
func WithLister(ctx context.Context, l Lister) context.Context {
	return context.WithValue(ctx, listerKey{}, l)
}

// Load reads the packages that the patterns name. Its error is always an *Error. The packages keep
// the errors in their source, for scan to report.
func Load(ctx context.Context, o Options) (*Program, error) {
	patterns := o.Patterns
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	for _, p := range patterns {
		if strings.HasSuffix(p, ".go") {
			return nil, &Error{fmt.Errorf("%s is a file: write a package pattern, for example ./... or "+
				"the package's directory", p)}
		}
	}
	if o.Dir != "" {
		if _, err := os.Stat(o.Dir); err != nil {
			return nil, &Error{err}
		}
	}
	// It ends the other commands if there is nothing to load.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The three commands do not depend on each other.
	arch, guessed := make(chan string, 1), make(chan map[string]string, 1)
	go func() { arch <- architecture(ctx, o) }()
	go func() { guessed <- guessedExports(ctx, o, patterns) }()
	roots, err := list(ctx, o, metadata, patterns)
	sizes := types.SizesFor("gc", <-arch)
	if err != nil {
		return nil, err
	}
	prog := &Program{
		Fset: token.NewFileSet(), sources: map[string]*Package{},
		types: map[string]*types.Package{"unsafe": types.Unsafe}, overlay: o.Overlay,
	}
	c := checker{
		ctx: ctx, o: o, prog: prog, sizes: sizes, guessed: guessed,
		walked: map[*packages.Package]bool{},
	}
	others, err := served(ctx, o, patterns, roots)
	if err != nil {
		return nil, err
	}
	for _, root := range append(roots, others...) {
		if len(root.GoFiles) == 0 && len(root.IgnoredFiles) == 0 && len(root.Errors) == 0 {
			continue // nothing but tests
		}
		if err := usable(root); err != nil {
			return nil, &Error{err}
		}
		pkg := c.source(root)
		pkg.bodies = o.Bodies
		prog.Roots = append(prog.Roots, pkg)
	}
	if len(prog.Roots) == 0 {
		return nil, &Error{fmt.Errorf("%w match %s", ErrNoPackages, strings.Join(patterns, " "))}
	}
	slices.SortFunc(prog.Roots, func(a, b *Package) int { return strings.Compare(a.Path, b.Path) })
	if err := c.run(); err != nil {
		return nil, err
	}
	return prog, nil
}

// architecture is the go command's GOARCH. If `go env` fails, it is the machine's: list reports the
// failure.
func architecture(ctx context.Context, o Options) string {
	if ctx.Value(listerKey{}) != nil && o.Env == nil {
		return cmp.Or(os.Getenv("GOARCH"), runtime.GOARCH)
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOARCH")
	cmd.Dir, cmd.Env = o.Dir, o.Env
	out, err := cmd.Output()
	if err != nil {
		return runtime.GOARCH
	}
	return strings.TrimSpace(string(out))
}

// list runs the go command once.
func list(ctx context.Context, o Options, mode packages.LoadMode, patterns []string) (
	[]*packages.Package, error,
) {
	config := packages.Config{Context: ctx, Dir: o.Dir, Env: o.Env, Mode: mode}
	if len(o.Overlay) > 0 {
		config.Overlay = o.Overlay
	}
	lister, ok := ctx.Value(listerKey{}).(Lister)
	if !ok {
		lister = packages.Load
	}
	pkgs, err := lister(&config, patterns...)
	if err != nil {
		return nil, &Error{Advised(firstLine(err.Error()))}
	}
	return pkgs, nil
}

// usable returns why a root cannot be a package to generate for. A package whose files do not
// parse is usable: the syntax errors are findings.
func usable(p *packages.Package) error {
	if len(p.GoFiles) == 0 && len(p.IgnoredFiles) == 0 {
		return Advised(firstLine(p.Errors[0].Msg))
	}
	if !local(p) {
		return fmt.Errorf("%s is not part of the main module: run mcpgen in the directory of its go.mod",
			p.PkgPath)
	}
	return nil
}

// Advised returns an error with the output of the go command, and a cure if the output has none.
func Advised(output string) error {
	for _, hint := range []struct{ in, cure string }{
		{"no Go files in", "write ./... for the packages below a directory"},
		{"does not contain main module", "run mcpgen in a directory with a go.mod, or below it"},
		{"is not in std", "write ./ before the name of a package in this directory"},
	} {
		if strings.Contains(output, hint.in) {
			return fmt.Errorf("%s: %s", output, hint.cure)
		}
	}
	return errors.New(output)
}

func local(p *packages.Package) bool { return p.Module != nil && p.Module.Main }

// firstLine is the first line with a message, without the go command's own prefix. A line that ends
// in a colon continues in the next.
func firstLine(text string) string {
	output := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"err: ", "exit status 1: stderr: ", "go: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		line = strings.TrimSuffix(line, ": stderr:")
		if line == "" {
			continue
		}
		output = strings.TrimSpace(output + " " + line)
		if !strings.HasSuffix(line, ":") {
			break
		}
	}
	return output
}

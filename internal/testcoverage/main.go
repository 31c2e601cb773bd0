// Command testcoverage prints the share of statements that tests run, in one figure. It reads all
// profiles of a folder: a statement counts once, and is covered if any run covers it. Generated
// files and packages of test support are left out.
//
//	go run ./internal/testcoverage -least 95 FOLDER PACKAGE...
//
// It fails if the figure is below -least percent, or if the profiles lack a file of the packages.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	least := flag.Int("least", 0, "fail below this percentage")
	flag.Parse()
	if err := run(os.Stdout, *least, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, least int, args []string) error {
	if len(args) < 2 {
		return errors.New("name a folder of profiles and the packages")
	}
	profiles, err := os.ReadDir(args[0])
	if err != nil {
		return err
	}
	p, err := product(args[1:])
	if err != nil {
		return err
	}
	blocks := map[block]bool{}
	for _, profile := range profiles {
		if err := p.read(filepath.Join(args[0], profile.Name()), blocks); err != nil {
			return err
		}
	}
	if err := p.complete(); err != nil {
		return err
	}
	return report(out, blocks, least)
}

// block is a run of statements. Its text is its file, its place there and its statements, as in
// the profile.
type block string

func (b block) file() string {
	file, _, _ := strings.Cut(string(b), ":")
	return file
}

func (b block) statements() (int, error) {
	return strconv.Atoi(string(b[strings.LastIndexByte(string(b), ' ')+1:]))
}

// files are the files that count.
type files struct {
	folders  map[string]string // of packages, by import path
	expected []string          // files of this platform that have statements
	counts   map[string]bool   // files of the profiles, by whether they count
}

// product returns the files of packages. go list chooses those of this platform; a run for another
// one may cover more.
func product(patterns []string) (*files, error) {
	list := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,CgoFiles"},
		patterns...)...)
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	p := &files{folders: map[string]string{}, counts: map[string]bool{}}
	for d := json.NewDecoder(strings.NewReader(string(text))); ; {
		var pkg struct {
			ImportPath, Dir   string
			GoFiles, CgoFiles []string
		}
		if err := d.Decode(&pkg); err == io.EOF {
			return p, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if isTestSupport(pkg.ImportPath) {
			continue
		}
		p.folders[pkg.ImportPath] = pkg.Dir
		for _, name := range slices.Concat(pkg.GoFiles, pkg.CgoFiles) {
			written, statements, err := look(filepath.Join(pkg.Dir, name))
			if err != nil {
				return nil, err
			}
			if written && statements {
				p.expected = append(p.expected, path.Join(pkg.ImportPath, name))
			}
		}
	}
}

// support are internal packages for tests whose names do not tell it.
var support = []string{"fresh", "memnet", "mutant", "mutate", "scenario", "txtar"}

// isTestSupport reports whether a package is internal and for tests: its name begins or ends with
// "test", or support lists it. A public package for tests, such as runtime/mcptest, counts.
func isTestSupport(importPath string) bool {
	name := path.Base(importPath)
	return slices.Contains(strings.Split(importPath, "/"), "internal") &&
		(strings.HasPrefix(name, "test") || strings.HasSuffix(name, "test") ||
			slices.Contains(support, name))
}

// look reports whether a file was written by a person, and whether it has statements.
func look(name string) (written, statements bool, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return false, false, err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if body, ok := n.(*ast.BlockStmt); ok && len(body.List) > 0 {
			statements = true
		}
		return !statements
	})
	return !ast.IsGenerated(f), statements, nil
}

// read adds the blocks of a profile that count, by whether a run covers them.
func (p *files) read(name string, blocks map[block]bool) error {
	profile, err := os.Open(name)
	if err != nil {
		return err
	}
	defer profile.Close()
	lines := bufio.NewScanner(profile)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "mode: ") {
			continue
		}
		end := max(0, strings.LastIndexByte(line, ' '))
		b := block(line[:end])
		runs, err := strconv.ParseUint(strings.TrimSpace(line[end:]), 10, 64)
		if _, wrong := b.statements(); err != nil || wrong != nil {
			return fmt.Errorf("%s: %q is not a line of a profile", name, line)
		}
		counts, err := p.includes(b.file())
		if err != nil {
			return err
		}
		if counts {
			blocks[b] = blocks[b] || runs > 0
		}
	}
	return lines.Err()
}

// complete returns an error if the profiles lack a file.
func (p *files) complete() error {
	for _, name := range p.expected {
		if !p.counts[name] {
			return fmt.Errorf("the profiles lack %s: no test binary contains its package", name)
		}
	}
	return nil
}

// includes reports whether a file of a profile counts.
func (p *files) includes(name string) (counts bool, err error) {
	counts, known := p.counts[name]
	folder, ours := p.folders[path.Dir(name)]
	if known || !ours {
		return counts, nil
	}
	counts, _, err = look(filepath.Join(folder, path.Base(name)))
	p.counts[name] = counts
	return counts, err
}

// share is how many of some statements are covered.
type share struct{ covered, all int }

func (s share) lacking() int { return s.all - s.covered }

// String never rounds up: 94.99 percent is not 95.
func (s share) String() string {
	permille := 1000
	if s.all > 0 {
		permille = s.covered * 1000 / s.all
	}
	return fmt.Sprintf("%d.%d%%", permille/10, permille%10)
}

func report(out io.Writer, blocks map[block]bool, least int) error {
	var total share
	packages := map[string]share{}
	for b, covered := range blocks {
		n, err := b.statements()
		if err != nil {
			return err
		}
		name := path.Dir(b.file())
		s := packages[name]
		s.all, total.all = s.all+n, total.all+n
		if covered {
			s.covered, total.covered = s.covered+n, total.covered+n
		}
		packages[name] = s
	}
	if total.all == 0 {
		return errors.New("the profiles have no statement of the packages")
	}
	fmt.Fprintf(out, "coverage: %v of %d statements in code that is not generated\n",
		total, total.all)
	if total.covered*100 >= least*total.all {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(packages), func(a, b string) int {
		return cmp.Or(cmp.Compare(packages[b].lacking(), packages[a].lacking()),
			strings.Compare(a, b))
	})
	for _, name := range names[:min(10, len(names))] {
		fmt.Fprintf(out, "%v of %s: %d statements lack a test\n", packages[name], name,
			packages[name].lacking())
	}
	return fmt.Errorf("%v is below %d%%", total, least)
}

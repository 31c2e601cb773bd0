package load

import (
	"context"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/internal/builds"
)

// guessedExports lists export data while the go command still lists the packages, since each of the
// two listings takes longer than the rest of a run. The guess is the imports of the files below the
// patterns. A wrong guess only costs time: packages that are not needed are ignored, and missing
// ones are requested again.
func guessedExports(ctx context.Context, o Options, patterns []string) map[string]string {
	files := map[string]string{}
	paths := guessedImports(o, patterns)
	if len(paths) == 0 {
		return files
	}
	pkgs, err := list(ctx, o, exported, paths)
	if err != nil {
		return files
	}
	for _, p := range pkgs {
		if p.ExportFile != "" {
			files[p.PkgPath] = p.ExportFile
		}
	}
	return files
}

// exported is the mode of a listing that compiles.
const exported = packages.NeedName | packages.NeedExportFile

// guessedImports are the packages outside the module of o.Dir that files below the patterns import,
// and those that the packages of the module below them import; nil if only the go command can find
// them.
func guessedImports(o Options, patterns []string) []string {
	dir, err := filepath.Abs(o.Dir)
	work := workspace(o.Env)
	if err != nil || work != "" && work != "off" {
		return nil
	}
	g := guess{seen: map[string]bool{}, outside: map[string]bool{}}
	if !g.module(dir, work == "off") {
		return nil
	}
	for _, pattern := range patterns {
		if pattern != "." && pattern != ".." &&
			!strings.HasPrefix(pattern, "./") && !strings.HasPrefix(pattern, "../") {
			return nil
		}
		below, all := strings.CutSuffix(pattern, "...")
		if strings.Contains(below, "...") || all && !strings.HasSuffix(below, "/") {
			return nil
		}
		if start := filepath.Join(dir, filepath.FromSlash(below)); all {
			g.walk(start)
		} else {
			g.directory(start)
		}
	}
	var paths []string
	for path := range g.outside {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// guess is the state of the search for imports.
type guess struct {
	root    string // where go.mod is
	path    string // of the module
	seen    map[string]bool
	outside map[string]bool // import paths
}

var moduleLine = regexp.MustCompile(`(?m)^module[ \t]+"?([^\s"]+)`)

// workspace returns GOWORK of the go command's environment; the last entry counts.
func workspace(env []string) (value string) {
	if env == nil {
		return os.Getenv("GOWORK")
	}
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, "GOWORK="); ok {
			value = v
		}
	}
	return value
}

// module finds the module of dir. Below a go.work there are several, unless they are off.
func (g *guess) module(dir string, off bool) bool {
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "go.work")); err == nil && !off {
			return false
		}
		if text, err := os.ReadFile(filepath.Join(up, "go.mod")); err == nil && g.root == "" {
			if m := moduleLine.FindSubmatch(text); m != nil {
				g.root, g.path = up, string(m[1])
			}
		}
		if up == filepath.Dir(up) {
			return g.root != ""
		}
	}
}

// walk looks at every directory that the pattern ... matches.
func (g *guess) walk(start string) {
	_ = filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // the go command reports what cannot be read
		}
		name := d.Name()
		if path != start && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "vendor") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != g.root {
			return filepath.SkipDir
		}
		g.directory(path)
		return nil
	})
}

// directory notes what the files of a package import. Files under constraints are left aside: what
// only they import may take long to compile for nothing.
func (g *guess) directory(dir string) {
	if g.seen[dir] {
		return
	}
	g.seen[dir] = true
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			name[0] == '.' || name[0] == '_' || name == GeneratedFile || name == ErrorFile {
			continue
		}
		path := filepath.Join(dir, name)
		text, _ := os.ReadFile(path)
		file, _ := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if all, _ := builds.Of(path, text, ""); file == nil || !all {
			continue
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil || imported == "C" || imported == "unsafe" {
				continue
			}
			if rel, inside := strings.CutPrefix(imported+"/", g.path+"/"); inside {
				g.directory(filepath.Join(g.root, filepath.FromSlash(rel)))
			} else {
				g.outside[imported] = true
			}
		}
	}
}

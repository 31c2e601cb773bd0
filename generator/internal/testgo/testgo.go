// Package testgo does for tests, in process, what the go command does for scratch modules of
// package testrepo: it lists packages, type-checks them, and runs generated tests. The go command
// needs up to a second for each, and a test binary of a scratch module takes several to link.
//
// The quick run uses it. The full run uses the go command for the same tests.
package testgo

import (
	"bytes"
	"cmp"
	"errors"
	"go/build"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var settings = []string{"CC", "CGO_ENABLED", "GOARCH", "GOENV", "GOEXPERIMENT", "GOFLAGS",
	"GOMODCACHE", "GOOS", "GOPROXY", "GOROOT", "GOWORK"}

// Toolchain has the packages that scratch modules import, as the go command listed them.
type Toolchain struct {
	root        string            // of the checkout
	goMod       []byte            // of a scratch module, without its first line
	defaults    map[string]string // of settings
	environment []string

	mutex    sync.Mutex
	packages map[string]*packages.Package // with export files, by path

	checking sync.Mutex
	fset     *token.FileSet
	types    map[string]*types.Package // of packages outside of modules
}

var (
	once   sync.Once
	shared *Toolchain
)

// Shared returns the toolchain of a test binary, for modules that testrepo.WriteModule wrote with
// "runtime/sandbox".
func Shared(t testing.TB) *Toolchain {
	t.Helper()
	once.Do(func() {
		c := &Toolchain{root: testrepo.Root(t), defaults: map[string]string{},
			packages: map[string]*packages.Package{}, fset: token.NewFileSet(),
			types: map[string]*types.Package{"unsafe": types.Unsafe}}
		dir := t.TempDir()
		if err := c.write(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		_, c.goMod = moduleOf(text)
		values := testrepo.Output(t, dir, "go env "+strings.Join(settings, " "))
		for i, value := range strings.Split(strings.TrimSuffix(values, "\n"), "\n") {
			c.defaults[settings[i]] = value
		}
		c.environment = c.settings()
		shared = c
	})
	if shared == nil {
		t.Fatal("there is no toolchain")
	}
	return shared
}

// write writes a scratch module without packages.
func (c *Toolchain) write(dir string) error {
	return testrepo.WriteModule(c.root, "example.com/testgo", dir, "runtime/sandbox")
}

// settings are the variables in the environment that change what the go command lists.
func (c *Toolchain) settings() []string {
	var values []string
	for _, name := range settings {
		values = append(values, cmp.Or(os.Getenv(name), c.defaults[name]))
	}
	return values
}

var moduleLine = regexp.MustCompile(`^module (\S+)\n`)

// moduleOf returns the path in a go.mod that begins with it, and the text below.
func moduleOf(text []byte) (path string, rest []byte) {
	m := moduleLine.FindSubmatch(text)
	if m == nil {
		return "", nil
	}
	return string(m[1]), text[len(m[0]):]
}

// ErrOther is the error of packages that need the go command.
var ErrOther = errors.New("not a plain scratch module")

// List is packages.Load. It lists plain scratch modules in process, and calls packages.Load for all
// others, and if there is anything to report.
func (c *Toolchain) List(config *packages.Config, patterns ...string) ([]*packages.Package, error) {
	list, err := c.list(config, patterns)
	if err != nil {
		return packages.Load(config, patterns...)
	}
	return list, nil
}

// exports is the mode of a listing of packages outside the module.
const exports = packages.NeedName | packages.NeedExportFile

func (c *Toolchain) list(config *packages.Config, patterns []string) ([]*packages.Package, error) {
	if config.Env != nil || config.Overlay != nil || config.Tests || len(config.BuildFlags) > 0 {
		return nil, ErrOther
	}
	m, err := c.module(config.Dir)
	if err != nil {
		return nil, err
	}
	if config.Mode&^exports == 0 {
		found, err := m.outside(patterns)
		if err != nil {
			return nil, err
		}
		return slices.Collect(maps.Values(found)), nil
	}
	return m.match(patterns)
}

// common are packages that import most of those that scratch modules import.
var common = []string{"testing", testrepo.Module + "/runtime/mcptest",
	testrepo.Module + "/runtime/sandbox", testrepo.Module + "/sourcehash"}

// outside returns packages outside of scratch modules.
func (c *Toolchain) outside(paths []string) (map[string]*packages.Package, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := map[string]*packages.Package{}
	var missing []string
	for _, path := range paths {
		if p := c.packages[path]; p != nil {
			found[path] = p
		} else {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	if len(c.packages) == 0 { // one listing for most tests
		missing = append(missing, common...)
	}
	dir, err := os.MkdirTemp("", "testgo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := c.write(dir); err != nil {
		return nil, err
	}
	listed, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName |
		packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
		packages.NeedExportFile}, missing...)
	if err != nil {
		return nil, err
	}
	packages.Visit(listed, nil, func(p *packages.Package) {
		if p.ExportFile == "" && p.PkgPath != "unsafe" || len(p.Errors) > 0 {
			err = ErrOther
		}
	})
	if err != nil {
		return nil, err
	}
	packages.Visit(listed, nil, func(p *packages.Package) {
		for path, imported := range p.Imports {
			if known := c.packages[imported.PkgPath]; known != nil {
				p.Imports[path] = known
			}
		}
		if c.packages[p.PkgPath] == nil {
			c.packages[p.PkgPath] = p
		}
	})
	for _, path := range paths {
		if found[path] = c.packages[path]; found[path] == nil {
			return nil, ErrOther
		}
	}
	return found, nil
}

// module is a scratch module.
type module struct {
	toolchain  *Toolchain
	root, path string // of the module
	dir        string // where patterns are resolved
	info       *packages.Module
	packages   map[string]*packages.Package // by directory
}

var goLine = regexp.MustCompile(`(?m)^go (\S+)$`)

// module finds the module of a directory, if it is plain: its go.mod requires what all require, and
// neither a workspace, a vendor directory nor a variable of the go command changes what it imports.
func (c *Toolchain) module(dir string) (*module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil || !slices.Equal(c.settings(), c.environment) {
		return nil, cmp.Or(err, ErrOther)
	}
	m := &module{toolchain: c, dir: dir, packages: map[string]*packages.Package{}}
	for up := dir; ; up = filepath.Dir(up) {
		for _, name := range []string{"go.work", "vendor"} {
			if _, err := os.Stat(filepath.Join(up, name)); err == nil {
				return nil, ErrOther
			}
		}
		text, err := os.ReadFile(filepath.Join(up, "go.mod"))
		if err == nil && m.root == "" {
			path, rest := moduleOf(text)
			if path == "" || !bytes.Equal(rest, c.goMod) {
				return nil, ErrOther
			}
			version := goLine.FindSubmatch(rest)
			m.root, m.path = up, path
			m.info = &packages.Module{Path: path, Main: true, Dir: up,
				GoMod: filepath.Join(up, "go.mod"), GoVersion: string(version[1])}
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if m.root == "" {
		return nil, ErrOther
	}
	return m, nil
}

// match returns the packages of patterns that begin with a dot.
func (m *module) match(patterns []string) ([]*packages.Package, error) {
	dirs := map[string]bool{}
	for _, pattern := range patterns {
		if pattern != "." && !strings.HasPrefix(pattern, "./") {
			return nil, ErrOther
		}
		below, all := strings.CutSuffix(pattern, "/...")
		if strings.Contains(below, "..") {
			return nil, ErrOther
		}
		start := filepath.Join(m.dir, below)
		if !all {
			dirs[start] = true
			continue
		}
		err := filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			switch {
			case d.Type()&fs.ModeSymlink != 0:
				return ErrOther
			case !d.IsDir():
				if strings.HasSuffix(name, ".go") {
					dirs[filepath.Dir(path)] = true
				}
			case path == start:
			case name[0] == '.' || name[0] == '_' || name == "testdata":
				return filepath.SkipDir
			default:
				if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
					return filepath.SkipDir
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(dirs) == 0 {
		return nil, ErrOther
	}
	var list []*packages.Package
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		p, err := m.read(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// read returns the package in a directory of the module.
func (m *module) read(dir string) (*packages.Package, error) {
	if p, ok := m.packages[dir]; ok {
		if p == nil {
			return nil, ErrOther // a cycle
		}
		return p, nil
	}
	m.packages[dir] = nil
	b, err := build.ImportDir(dir, 0)
	if _, none := errors.AsType[*build.NoGoError](err); none && len(b.TestGoFiles)+
		len(b.XTestGoFiles) > 0 && len(b.IgnoredGoFiles) == 0 {
		err = nil // a package of tests alone
	}
	if err != nil || len(b.CgoFiles)+len(b.EmbedPatterns)+len(b.InvalidGoFiles) > 0 {
		return nil, cmp.Or(err, ErrOther)
	}
	rel, err := filepath.Rel(m.root, dir)
	if err != nil {
		return nil, err
	}
	p := &packages.Package{Name: b.Name, Dir: dir, Module: m.info,
		PkgPath: strings.TrimSuffix(m.path+"/"+filepath.ToSlash(rel), "/."),
		Imports: map[string]*packages.Package{}}
	p.ID = p.PkgPath
	for _, name := range b.GoFiles {
		p.GoFiles = append(p.GoFiles, filepath.Join(dir, name))
	}
	for _, name := range b.IgnoredGoFiles {
		p.IgnoredFiles = append(p.IgnoredFiles, filepath.Join(dir, name))
	}
	if p.Imports, err = m.imports(p.PkgPath, b.Imports); err != nil {
		return nil, err
	}
	m.packages[dir] = p
	return p, nil
}

// imports returns the packages of import paths.
func (m *module) imports(from string, paths []string) (map[string]*packages.Package, error) {
	all := map[string]*packages.Package{}
	var outside []string
	for _, path := range paths {
		rel, inside := strings.CutPrefix(path+"/", m.path+"/")
		if !inside {
			outside = append(outside, path)
			continue
		}
		if parent, _, ok := strings.Cut("/"+path+"/", "/internal/"); ok &&
			!strings.HasPrefix("/"+from+"/", parent+"/") {
			return nil, ErrOther // the go command reports it
		}
		p, err := m.read(filepath.Join(m.root, filepath.FromSlash(rel)))
		if err != nil {
			return nil, err
		}
		if p.Name == "main" || len(p.GoFiles) == 0 {
			return nil, ErrOther
		}
		all[path] = p
	}
	found, err := m.outside(outside)
	maps.Copy(all, found)
	return all, err
}

// outside returns packages outside the module, unless it may not import them.
func (m *module) outside(paths []string) (map[string]*packages.Package, error) {
	for _, path := range paths {
		if strings.Contains("/"+path+"/", "/internal/") {
			return nil, ErrOther
		}
	}
	return m.toolchain.outside(paths)
}

package runcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/sync/errgroup"
)

// errUnknown reports that a run depends on inputs that this package cannot see.
var errUnknown = errors.New("some inputs of the run are unknown")

// settings are the variables of the go command that decide which packages exist, what they contain
// and what their types are.
var settings = []string{
	"GOVERSION", "GOROOT", "GOMOD", "GOWORK", "GOFLAGS", "GOOS", "GOARCH", "GOEXPERIMENT",
	"GOFIPS140", "CGO_ENABLED", "GO111MODULE", "GOMODCACHE", "GOPATH", "GOTOOLCHAIN",
	"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM",
	"CC", "CGO_CFLAGS", "CGO_CPPFLAGS", "PKG_CONFIG",
}

// goEnv runs go env. Tests replace it.
var goEnv = func(ctx context.Context, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, settings...)...)
	cmd.Dir = dir
	return cmd.Output()
}

// environment reads the settings of the go command. It fails if they name files outside the module,
// and for a development version of the go command, whose version does not identify its standard
// library.
func environment(ctx context.Context, dir string) (map[string]string, error) {
	text, err := goEnv(ctx, dir)
	if err != nil {
		return nil, err
	}
	var env map[string]string
	if err := json.Unmarshal(text, &env); err != nil {
		return nil, err
	}
	driver := os.Getenv("GOPACKAGESDRIVER")
	if _, err := exec.LookPath("gopackagesdriver"); driver != "" && driver != "off" ||
		driver == "" && err == nil {
		return nil, errUnknown
	}
	flags := env["GOFLAGS"]
	if strings.Contains(flags, "overlay") || strings.Contains(flags, "modfile") ||
		strings.Contains(env["GOVERSION"], "devel") ||
		env["GOWORK"] != "" && env["GOWORK"] != "off" || filepath.Base(env["GOMOD"]) != "go.mod" {
		return nil, errUnknown
	}
	return env, nil
}

// ownDigest is the digest of this program, or empty: another version may write other files.
var ownDigest = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	program, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer program.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, program); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
})

// file is a digest of a file's content, and whether the file is reached by a link.
type file struct {
	sum  [sha256.Size]byte
	link bool
}

func regular(content []byte) file { return file{sum: sha256.Sum256(content)} }

func (f file) line(path string) string { return fmt.Sprintf("%q %x %t", path, f.sum, f.link) }

// readRegular reads a regular file or the target of a link to one. Opening anything else, such as a
// named pipe, may block for ever.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errUnknown
	}
	return os.ReadFile(path)
}

// tree is the input files below some directories.
type tree struct {
	dirs  []string
	files map[string]file // by absolute path
}

// modules is the tree of a module and of those that its go.mod replaces by directories.
func modules(gomod string) (tree, error) {
	text, err := os.ReadFile(gomod)
	if err != nil {
		return tree{}, err
	}
	parsed, err := modfile.Parse(gomod, text, nil)
	if err != nil {
		return tree{}, err
	}
	root := filepath.Dir(gomod)
	t := tree{dirs: []string{root}}
	for _, r := range parsed.Replace {
		if r.New.Version != "" {
			continue
		}
		dir := filepath.FromSlash(r.New.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return tree{}, err
		}
		t.dirs = append(t.dirs, dir)
	}
	return t.again()
}

// counts reports whether a file is an input. A schema by hand may have any name: Package.Unseen
// reports that a package reads one.
func counts(name string) bool {
	switch name {
	case "mcp.manifest.json", "mcp.proven.json", "MCP.md":
		return true
	}
	return ofModule(name) || strings.HasSuffix(name, ".go") || isC(name)
}

// isC reports whether a file may decide the size or the fields of a type of cgo. A package can
// include a file of any other directory.
func isC(name string) bool {
	switch filepath.Ext(name) {
	case ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".m",
		".swig", ".swigcxx":
		return true
	}
	return false
}

// ofModule reports whether a file is the go command's own, and decides which packages exist.
func ofModule(name string) bool {
	return name == "go.mod" || name == "go.sum" || name == "modules.txt"
}

// most is how many files and directories are visited: with more, the visit takes as long as the run
// that it saves.
const most = 40_000

// again reads the tree as it is now. It visits directories that the pattern ... leaves out, since
// they can still be imported by name, but not .git. It fails at a link to a directory, since the
// target is outside of the directories that it visits.
func (t tree) again() (tree, error) {
	now := tree{dirs: t.dirs, files: map[string]file{}}
	var lock sync.Mutex
	var group errgroup.Group
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	seen, looked := map[string]bool{}, 0
	visit := func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if looked++; looked > most {
			return errUnknown
		}
		link := d.Type()&fs.ModeSymlink != 0
		if link {
			// A dangling link does not exist for the go command either.
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return errUnknown
			}
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || seen[path]):
			return filepath.SkipDir
		case d.IsDir():
			seen[path] = true
			return nil
		case !counts(d.Name()):
			return nil
		}
		group.Go(func() error {
			content, err := readRegular(path)
			if err != nil {
				return err
			}
			f := regular(content)
			f.link = link
			lock.Lock()
			defer lock.Unlock()
			now.files[path] = f
			return nil
		})
		return nil
	}
	var walked error
	for _, dir := range t.dirs {
		walked = errors.Join(walked, filepath.WalkDir(dir, visit))
	}
	return now, errors.Join(walked, group.Wait())
}

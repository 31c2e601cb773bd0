// Package starter writes the files of a new service.
package starter

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	modpath "golang.org/x/mod/module"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// Write writes the service into a directory, go.mod included, and returns the paths of its files.
// With replace, go.mod replaces the module of mcpgen by the checkout in that directory. It keeps a
// .gitignore that exists: hosts of repositories begin one with it.
func Write(dir, modulePath, replace string) (written []string, err error) {
	files, err := filesOf(dir, modulePath, replace)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f emit.File) bool {
		_, err := os.Lstat(f.Path)
		return err == nil && filepath.Base(f.Path) == ".gitignore"
	})
	if err := refuseOverwrite(dir, replace, files); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
			return nil, err
		}
	}
	return writefiles.Write(files, nil)
}

// unfit matches what cannot be in the name of a server: the name is in a directive, in JSON and in
// comments.
var unfit = regexp.MustCompile(`^[^A-Za-z]+|[^A-Za-z0-9_-]+`)

// serverName returns a name for the server of a module: the last element of its path, without a
// version.
func serverName(modulePath string) string {
	name := path.Base(modulePath)
	if prefix, _, ok := modpath.SplitPathVersion(modulePath); ok {
		name = path.Base(prefix)
	}
	return cmp.Or(strings.Trim(unfit.ReplaceAllString(name, "-"), "-"), "service")
}

// programName returns the name of the file that go build writes: the last element of the module's
// path that is not a version.
func programName(modulePath string) string {
	if prefix, version, ok := modpath.SplitPathVersion(modulePath); ok &&
		strings.HasPrefix(version, "/") {
		modulePath = prefix
	}
	return path.Base(modulePath)
}

// filesOf are the files of the service, go.mod included. A module that no other one requires needs
// no dot in its path.
func filesOf(dir, modulePath, replace string) ([]emit.File, error) {
	if err := modpath.CheckImportPath(modulePath); err != nil {
		return nil, fmt.Errorf("%q is not the path of a module: write one, such as example.com/shop",
			modulePath)
	}
	contents, err := Files(modulePath, commitOf(dir, replace))
	if err != nil {
		return nil, err
	}
	if contents["go.mod"], err = goMod(dir, modulePath, replace); err != nil {
		return nil, err
	}
	var files []emit.File
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		files = append(files, emit.File{
			Path: filepath.Join(dir, filepath.FromSlash(name)), Content: contents[name],
		})
	}
	return files, nil
}

// refuseOverwrite fails if the directory has Go files, or one of the files.
func refuseOverwrite(dir, replace string, files []emit.File) error {
	present, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		switch _, err := os.Lstat(f.Path); {
		case err == nil && !slices.Contains(present, f.Path):
			present = append(present, f.Path)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	if len(present) == 0 {
		return nil
	}
	for i, path := range present {
		present[i] = strings.TrimPrefix(path, dir+string(filepath.Separator))
	}
	err = fmt.Errorf("init needs a directory without Go files and without its own files; these "+
		"exist: %s", strings.Join(present, ", "))
	if replace != "" && slices.Contains(present, "go.mod") {
		err = fmt.Errorf("%w\nTo use mcpgen in this module, run\n%s", err, Edit(replace))
	}
	return err
}

// Templates have the suffix .txt, so that the go command does not compile them.
//
//go:embed all:files
var templates embed.FS

// clone is the part of the CI job that makes the checkout by which go.mod replaces mcpgen. The
// folder is outside of the workspace, whose parent has the name of the repository.
const clone = `      # mcpgen has no release yet, so the job needs a checkout. When you update mcpgen, write the
      # commit of your checkout here: git -C CHECKOUT rev-parse HEAD
      - run: |
          mcpgen="$RUNNER_TEMP/mcpgen"
          git init --quiet "$mcpgen"
          git -C "$mcpgen" fetch --quiet --depth 1 https://github.com/mcpgen/mcpgen {{commit}}
          git -C "$mcpgen" checkout --quiet FETCH_HEAD
          for module in "" /generator /cmd/mcpgen; do
            go mod edit -replace "github.com/mcpgen/mcpgen$module=$mcpgen$module"
          done
`

// moving is a part of the CI job of a service whose checkout has no known commit.
const moving = `      # mcpgen init knew no commit of its checkout. Write one instead of main: the
      # branch moves, and this job runs its code.
`

// Files returns the content of each file, apart from go.mod, by its slash-separated path. commit
// is that of a checkout of mcpgen. It is empty for a release.
func Files(modulePath, commit string) (map[string][]byte, error) {
	checkout := ""
	if commit != "" {
		checkout = clone
	}
	if commit == mainBranch {
		checkout = moving + checkout
	}
	fill := strings.NewReplacer("{{name}}", serverName(modulePath),
		"{{program}}", programName(modulePath),
		"{{checkout}}", strings.ReplaceAll(checkout, "{{commit}}", commit))
	files := map[string][]byte{}
	err := fs.WalkDir(templates, "files", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		path = strings.TrimSuffix(strings.TrimPrefix(path, "files/"), ".txt")
		files[path] = []byte(fill.Replace(string(text)))
		return nil
	})
	return files, err
}

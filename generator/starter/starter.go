// Package starter writes the files of a new service.
package starter

import (
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

	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/writefiles"
)

// Write writes the service into a directory, go.mod included, and returns the paths of its files.
// With replace, go.mod replaces the module of mcpgen by the checkout in that directory.
func Write(dir, modulePath, replace string) (written []string, err error) {
	files, err := filesOf(dir, modulePath, replace)
	if err != nil {
		return nil, err
	}
	if err := refuseOverwrite(dir, files); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
			return nil, err
		}
	}
	return writefiles.Write(files, nil)
}

// serverName matches the names that fit a directive, JSON and a comment as they are.
var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// filesOf are the files of the service, go.mod included.
func filesOf(dir, modulePath, replace string) ([]emit.File, error) {
	name := path.Base(modulePath)
	if prefix, _, ok := modpath.SplitPathVersion(modulePath); ok {
		name = path.Base(prefix)
	}
	if err := modpath.CheckPath(modulePath); err != nil || !serverName.MatchString(name) {
		return nil, fmt.Errorf("%q is not the path of a module: write one, such as example.com/shop",
			modulePath)
	}
	contents, err := Files(name)
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
func refuseOverwrite(dir string, files []emit.File) error {
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
	return fmt.Errorf("init needs a directory without Go files and without its own files; these "+
		"exist: %s", strings.Join(present, ", "))
}

// Templates have the suffix .txt, so that the go command does not compile them.
//
//go:embed all:files
var templates embed.FS

// Files returns the content of each file, apart from go.mod, by its slash-separated path. name is
// the name of the server.
func Files(name string) (map[string][]byte, error) {
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
		files[path] = []byte(strings.ReplaceAll(string(text), "{{name}}", name))
		return nil
	})
	return files, err
}

// Package starter has the files of a new service, which mcpgen init writes.
package starter

import (
	"embed"
	"io/fs"
	"strings"
)

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

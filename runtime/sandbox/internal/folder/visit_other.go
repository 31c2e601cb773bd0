//go:build !unix

package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// asFolder is for systems with named pipes.
const asFolder = 0

// Visit calls a function for everything below a folder, until the function or the context returns
// an error. It follows no links, and skips entries that are removed meanwhile.
func Visit(ctx context.Context, root *os.Root, visit func(Entry) error) error {
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if name == "." {
			return err
		}
		var info fs.FileInfo
		if err == nil {
			info, err = e.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		found := Entry{Above: strings.Count(name, "/"), Folder: e.IsDir()}
		if info.Mode().IsRegular() {
			found.Bytes = info.Size()
		}
		return visit(found)
	})
}

//go:build !unix

package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// asFolder is for systems with pipes that have names.
const asFolder = 0

// visitAll calls a function with all below a folder, until it or the context has an error. It
// follows no link, and leaves out what is removed meanwhile.
func visitAll(ctx context.Context, root *os.Root, visit func(entry) error) error {
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
		found := entry{above: strings.Count(name, "/"), folder: e.IsDir()}
		if info.Mode().IsRegular() {
			found.bytes = info.Size()
		}
		return visit(found)
	})
}

package generator

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/seal"
)

// Generate brings the disk to what Run computes, and returns the paths that it changed. Where nothing
// at all has changed since it found all in order it looks no further: the result is then empty
// and unchanged is true.
func Generate(ctx context.Context, o Options) (result Result, changed []string, unchanged bool, err error) {
	sealed := seal.Take(ctx, o.Dir, o.Patterns)
	if sealed.Holds() {
		return Result{}, nil, true, nil
	}
	if result, err = Run(ctx, o); err != nil {
		return Result{}, nil, false, err
	}
	if changed, err = result.Commit(); err != nil {
		return Result{}, nil, false, err
	}
	if len(result.Diagnostics) == 0 && len(result.Services) > 0 {
		sealed.Set(result.written(changed), result.Remove, result.schemas())
	}
	return result, changed, false, nil
}

// written are the files of the result that were changed on the disk.
func (r Result) written(changed []string) map[string][]byte {
	files := map[string][]byte{}
	for _, f := range r.Files {
		if slices.Contains(changed, f.Path) {
			files[f.Path] = f.Content
		}
	}
	return files
}

// schemas are the files with schemas by hand that the services name.
func (r Result) schemas() []string {
	var paths []string
	for _, s := range r.Services {
		for _, file := range s.Fresh.Files {
			paths = append(paths, filepath.Join(s.Dir, filepath.FromSlash(file)))
		}
	}
	return paths
}

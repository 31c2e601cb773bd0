package generator

import (
	"context"
	"slices"

	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/runcache"
)

// Generate writes and removes files as Run computes, and returns the paths that it changed. If no
// input has changed since a run without findings, it skips the run: the result is then empty and
// unchanged is true.
func Generate(ctx context.Context, o Options) (result Result, changed []string, unchanged bool, err error) {
	cached := runcache.Find(ctx, o.Dir, o.Patterns)
	if cached.Current() {
		return Result{}, nil, true, nil
	}
	if result, err = Run(ctx, o); err != nil {
		return Result{}, nil, false, err
	}
	if changed, err = result.Write(); err != nil {
		return Result{}, nil, false, err
	}
	if len(result.Diagnostics) == 0 && len(result.Services) > 0 && !result.byHand() {
		cached.Store(result.written(changed), result.Remove)
	}
	return result, changed, false, nil
}

// written returns the files of the result that were changed on the disk.
func (r Result) written(changed []string) map[string][]byte {
	files := map[string][]byte{}
	for _, f := range r.Files {
		if slices.Contains(changed, f.Path) {
			files[f.Path] = f.Content
		}
	}
	return files
}

// byHand reports whether a service names a file with a schema by hand. Such a run is not cached:
// the file may have any name, so that package runcache does not read it.
func (r Result) byHand() bool {
	return slices.ContainsFunc(r.Services, func(s model.Service) bool {
		return len(s.HashInputs.Files) > 0
	})
}

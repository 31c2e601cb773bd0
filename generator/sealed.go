package generator

import (
	"context"
	"slices"

	"github.com/mcpgen/mcpgen/generator/model"
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
	if len(result.Diagnostics) == 0 && len(result.Services) > 0 && !result.byHand() {
		sealed.Set(result.written(changed), result.Remove)
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

// byHand reports whether a service names a file with a schema by hand. A seal says what was there when the run began,
// and sees Go files; such a file has any name, and may have changed since.
func (r Result) byHand() bool {
	return slices.ContainsFunc(r.Services, func(s model.Service) bool { return len(s.Fresh.Files) > 0 })
}

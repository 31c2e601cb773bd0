package generator

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/check"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/runcache"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

// Generate writes and removes files as Run computes, and returns the paths that it changed. It runs
// only for the packages whose inputs have changed since a run without findings. If there are none,
// the result is empty and unchanged is true.
func Generate(ctx context.Context, o Options) (
	result Result, changed []string, unchanged bool, err error,
) {
	cached := runcache.Find(ctx, o.Dir, o.Patterns)
	edited, rest, known := cached.Changed()
	if known && len(edited) == 0 {
		return Result{}, nil, true, nil
	}
	if known {
		result, known = runEdited(ctx, o, edited, rest)
	}
	if !known {
		rest = nil
		if result, err = Run(ctx, o); err != nil {
			return Result{}, nil, false, err
		}
	}
	doubts := doubtful(result.Files)
	if changed, err = result.Write(); err != nil {
		return Result{}, nil, false, err
	}
	result.Unprovided = unprovided(ctx, o, doubts)
	if len(result.Diagnostics) == 0 && len(result.Services) > 0 {
		cached.Store(append(result.packages, rest...), result.written(changed), result.Remove)
	}
	return result, changed, false, nil
}

// runEdited runs for the edited packages of a run without findings. It returns false if this could
// differ from a run for all: if there is any finding or error, or if there are other packages now.
func runEdited(ctx context.Context, o Options, edited, rest []runcache.Package) (Result, bool) {
	base, err := filepath.Abs(o.Dir)
	if err != nil || len(rest) == 0 {
		return Result{}, false
	}
	var others []check.Outline
	for _, p := range rest {
		var outline *check.Outline
		if json.Unmarshal(p.Outline, &outline) != nil {
			return Result{}, false
		}
		if outline != nil {
			others = append(others, *outline)
		}
	}
	patterns := o.Patterns
	o.Patterns = nil
	for _, p := range edited {
		rel, err := filepath.Rel(base, p.Dir)
		if err != nil {
			return Result{}, false
		}
		o.Patterns = append(o.Patterns, "./"+filepath.ToSlash(rel))
	}
	r, err := run(ctx, o, others)
	if err != nil || len(r.Diagnostics) > 0 || len(r.packages) != len(edited) {
		return Result{}, false
	}
	for _, p := range edited {
		is := func(q runcache.Package) bool { return p.Dir == q.Dir }
		if !slices.ContainsFunc(r.packages, is) {
			return Result{}, false
		}
	}
	if importsChanged(base, patterns, r.packages, slices.Concat(edited, rest)) {
		return Result{}, false
	}
	for _, other := range others {
		r.Services = append(r.Services, other.Service())
	}
	return r, true
}

// importsChanged reports whether packages that the patterns leave out may be served now, or may be
// served no longer: main packages import them.
func importsChanged(base string, patterns []string, run, all []runcache.Package) bool {
	known := map[string]bool{}
	for _, p := range all {
		known[p.Dir] = true
		if load.Skipped(base, p.Dir) {
			return true
		}
	}
	return slices.ContainsFunc(run, func(p runcache.Package) bool {
		return slices.ContainsFunc(p.Uses, func(dir string) bool {
			return !known[dir] && load.Covers(base, patterns, dir, "")
		})
	})
}

// cacheable returns what the run cache keeps of the packages. It leaves out a package without files
// in this build, which the patterns may or may not match.
func cacheable(
	program *load.Program, packages []*scan.Package, warned [][]Warning,
) []runcache.Package {
	var list []runcache.Package
	for i, root := range program.Roots {
		if len(root.Files) == 0 {
			continue
		}
		p := runcache.Package{Dir: root.Dir, Uses: root.Named}
		for _, used := range program.Imports(root)[1:] {
			if used.Local {
				p.Uses = append(append(p.Uses, used.Dir), used.Named...)
			}
		}
		var outline *check.Outline
		if s := packages[i].Service; packages[i].Serves {
			o := check.OutlineOf(s)
			outline, p.Unseen = &o, len(s.HashInputs.Files) > 0 || len(warned[i]) > 0 ||
				len(packages[i].Warnings) > 0
			if s.Server.Client != "" {
				p.Uses = append(p.Uses, filepath.Join(s.Dir, filepath.FromSlash(s.Server.Client)))
			}
		}
		p.Outline, _ = json.Marshal(outline) // strings and maps of strings
		list = append(list, p)
	}
	return list
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

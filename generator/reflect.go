package generator

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/check"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/reflection"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

// Reflect compares the schemas that are read from source with those that jsonschema.Reflector makes
// at run time of the same types. It is for packages without diagnostics: of others it compares
// nothing. It builds and runs a program of the packages' own, and leaves nothing behind.
// requiredFromTags is the Reflector's RequiredFromJSONSchemaTags, which the project set before.
func Reflect(
	ctx context.Context, o Options, requiredFromTags bool,
) (reflection.Result, error) {
	program, err := load.Load(ctx, load.Options{Dir: o.Dir, Patterns: o.Patterns})
	if err != nil {
		return reflection.Result{}, err
	}
	services, found := scan.Services(program)
	if len(found)+len(check.Services(services)) > 0 {
		return reflection.Result{}, nil
	}
	var packages []reflection.Package
	files := map[string][]string{}
	for _, s := range services {
		generated, err := emitted(s)
		if err != nil {
			return reflection.Result{}, err
		}
		other := func(f emit.File) bool { return filepath.Base(f.Path) != emit.Code }
		generated = slices.DeleteFunc(generated, other)
		found := reflection.TypesOf(program, s)
		for i := range found {
			found[i].RequiredFromTags = requiredFromTags
			for _, path := range found[i].Reflect(nil) {
				files[path] = program.GoFiles(path)
			}
		}
		packages = append(packages, reflection.Package{
			Path: s.Package, Name: s.Name, Dir: s.Dir, Types: found, Files: generated,
			RequiredFromTags: requiredFromTags,
		})
	}
	comments, err := reflection.Comments(files)
	if err != nil {
		return reflection.Result{}, err
	}
	return reflection.Compare(ctx, o.Dir, packages, comments)
}

// Package generator turns annotated Go into the files of an MCP server:
// load → scan → check → emit → write. Run computes a Result and writes nothing. Result.Write writes
// its files; Result.Stale compares them with the files on the disk.
package generator

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/generator/internal/check"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/runcache"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
	"github.com/mcpgen/mcpgen/generator/internal/typedclient"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
	"github.com/mcpgen/mcpgen/sourcehash"
)

// Options say what to read.
type Options struct {
	Dir      string   // patterns are resolved here; empty is the working directory
	Patterns []string // package patterns as the go command takes them; none is "."
	Schemas  bool     // the services of Run's Result keep their schemas
}

func (o Options) load() load.Options { return load.Options{Dir: o.Dir, Patterns: o.Patterns} }

// Result is what a run found, and the files that it generates and removes.
type Result struct {
	// Services are in the order of import paths, and incomplete if there are diagnostics. They lack
	// what only their files are printed from: schemas too, unless Options.Schemas is set.
	Services    []model.Service
	Diagnostics diag.List // sorted
	// Warnings are in the order of Services. There are none if there are diagnostics.
	Warnings []Warning
	// Unused are warnings about rules of fields, in the same order: no tool of the run needs the rule,
	// or a tool can lose the field. There are none if there are diagnostics.
	Unused diag.List
	// Files are the generated files that the disk does not have yet. If there are diagnostics, they
	// are the error files of the packages with diagnostics instead.
	Files []emit.File
	// Remove are the paths of owned files of packages without directives, and of error files of
	// packages without diagnostics.
	Remove []string
	// Unprovided are the packages that generated code needs and that the go command does not find,
	// since go.mod lacks their modules. Generate alone sets it, after a change of the imports.
	Unprovided []string

	packages []runcache.Package // without diagnostics, for Generate
}

// Run reads the packages and computes the files. It fails if it cannot read them: no package
// matches, the go command is missing, a file is unreadable. An error in the source is not a
// failure: it is one of the diagnostics.
func Run(ctx context.Context, o Options) (Result, error) { return run(ctx, o, nil) }

// run is Run beside other packages, which may be of the same servers.
//
// It prints the files of a service, and compares them with the disk, while it scans the next
// package. Only files that differ stay in memory, and the part of the service that Result has:
// schemas and files are most of the memory of a run.
func run(ctx context.Context, o Options, others []check.Outline) (Result, error) {
	program, ahead, err := typedclient.Load(ctx, o.load())
	if err != nil {
		return Result{}, err
	}
	var r Result
	files := make([][]emit.File, len(program.Roots))
	warned := make([][]Warning, len(program.Roots))
	packages := make([]*scan.Package, len(program.Roots))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	generate := func(i int) {
		group.Go(func() (err error) {
			service := &packages[i].Service
			if warned[i], err = warnings(*service); err != nil {
				return err
			}
			files[i], err = generated(program, service, o.Schemas)
			return err
		})
	}
	importers := map[*load.Package]int{} // the number of roots to scan, each with its imports
	for _, root := range program.Roots {
		for _, p := range program.Imports(root) {
			importers[p]++
		}
	}
	var later []int // packages about which SharedFindings may have findings
	for i, root := range program.Roots {
		p := scan.One(program, root)
		packages[i] = p
		r.Diagnostics = append(r.Diagnostics, p.Findings...)
		if p.Serves {
			r.Diagnostics = append(r.Diagnostics, check.Service(p.Service)...)
		}
		switch {
		case !p.Serves || len(r.Diagnostics) > 0: // after a finding, no service is generated
		case p.Sound(program):
			generate(i)
		default:
			later = append(later, i)
		}
		for _, p := range program.Imports(root) {
			if importers[p]--; importers[p] == 0 {
				program.Release(p)
			}
		}
	}
	err = group.Wait()
	for _, p := range packages {
		if p.Serves {
			r.Services = append(r.Services, p.Service)
		}
	}
	r.Diagnostics = append(r.Diagnostics, scan.SharedFindings(program, packages)...)
	all := slices.Clone(r.Services)
	for _, other := range others {
		all = append(all, other.Service())
	}
	r.Diagnostics = append(r.Diagnostics, check.Servers(all)...)
	r.Diagnostics.Sort()
	if len(r.Diagnostics) > 0 {
		r.Files, r.Remove = errorFiles(program, packages, r.Diagnostics)
		return r, nil
	}
	if err == nil {
		for _, i := range later {
			generate(i)
		}
		err = group.Wait()
	}
	if err != nil {
		return Result{}, err
	}
	rest, remove, err := leftover(program, r.Services)
	if err != nil {
		return Result{}, err
	}
	r.Files, r.Remove = append(slices.Concat(files...), rest...), remove
	r.Warnings = slices.Concat(warned...)
	for _, p := range packages {
		for _, d := range p.Warnings {
			if !hasField(all, d.Pos) {
				r.Unused = append(r.Unused, d)
			}
		}
	}
	if !ahead { // else the next run reads another client
		r.packages = cacheable(program, packages, warned)
	}
	return r, nil
}

// hasField reports whether a tool of some packages has the field whose rule is at a place.
func hasField(services []model.Service, rule model.Position) bool {
	return slices.ContainsFunc(services, func(s model.Service) bool {
		return slices.ContainsFunc(s.Fields, func(f model.Field) bool { return f.Pos == rule })
	})
}

// scanned reads the packages and returns their services and all findings.
func scanned(ctx context.Context, o Options) (*load.Program, []model.Service, diag.List, error) {
	program, _, err := typedclient.Load(ctx, o.load())
	if err != nil {
		return nil, nil, nil, err
	}
	services, found := scan.Services(program)
	found = append(found, check.Services(services)...)
	found.Sort()
	return program, services, found, nil
}

// generated returns the files of a service that differ from the disk. It drops the parts of the
// service that only they are printed from, unless schemas are kept.
func generated(program *load.Program, s *model.Service, keep bool) (files []emit.File, err error) {
	if s.Proof, err = proofOf(program, *s); err != nil {
		return nil, err
	}
	if files, err = emitted(*s); err != nil {
		return nil, err
	}
	s.Objects, s.CompileGuards, s.Imports = nil, nil, nil
	for _, t := range s.Served() {
		if !keep {
			t.Input.Schema, t.Input.Codec, t.Input.Written = nil, nil, ""
			t.Output.Schema, t.Output.Guarded, t.Output.Written = nil, nil, ""
		}
	}
	return slices.DeleteFunc(files, writefiles.Unchanged), nil
}

// emitted are the files of one service, made with what emission needs to know of its directory.
func emitted(s model.Service) ([]emit.File, error) {
	hash, err := sourcehash.Hash(s.Dir, s.HashInputs.Decls, s.HashInputs.Files...)
	if err != nil {
		return nil, err
	}
	docs, err := present(filepath.Join(s.Dir, emit.Docs))
	if err != nil {
		return nil, err
	}
	return emit.Files(s, emit.Present{Hash: hash, Docs: docs})
}

// Write writes Files, removes Remove, and returns the paths that it changed. It does not touch a
// file that has its content already.
func (r Result) Write() (changed []string, err error) {
	return writefiles.Write(r.Files, r.Remove)
}

// Stale compares Files and Remove with the disk, and writes nothing.
func (r Result) Stale() ([]writefiles.Difference, error) {
	return writefiles.Stale(r.Files, r.Remove)
}

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

	"github.com/mcpgen/mcpgen/generator/check"
	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/scan"
	"github.com/mcpgen/mcpgen/generator/writefiles"
	"github.com/mcpgen/mcpgen/sourcehash"
)

// Options say what to read.
type Options struct {
	Dir      string   // patterns are resolved here; empty is the working directory
	Patterns []string // package patterns as the go command takes them; none is "."
}

// Result is what a run found, and the files that it generates and removes.
type Result struct {
	Services    []model.Service // by import path; incomplete if there are diagnostics
	Diagnostics diag.List       // sorted
	// Files are the generated files. If there are diagnostics, they are the error files of the
	// packages with diagnostics instead.
	Files []emit.File
	// Remove are the paths of owned files of packages without directives, and of error files of
	// packages without diagnostics.
	Remove []string
}

// Run reads the packages and computes the files. It fails if it cannot read them: no package
// matches, the go command is missing, a file is unreadable. An error in the source is not a
// failure: it is one of the diagnostics.
func Run(ctx context.Context, o Options) (Result, error) {
	program, services, found, err := scanned(ctx, o)
	if err != nil {
		return Result{}, err
	}
	r := Result{Services: services, Diagnostics: found}
	if len(found) > 0 {
		r.Files, r.Remove = errorFiles(program, found)
		return r, nil
	}
	// Nothing in emission is shared between services, and printing Go takes most of its time.
	files := make([][]emit.File, len(services))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range services {
		group.Go(func() (err error) {
			if services[i].Proof, err = proofOf(program, services[i]); err != nil {
				return err
			}
			files[i], err = emitted(services[i])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	r.Files = slices.Concat(files...)
	rest, remove, err := leftover(program, services)
	if err != nil {
		return Result{}, err
	}
	r.Files, r.Remove = append(r.Files, rest...), remove
	return r, nil
}

// scanned reads the packages, and says what they serve and what is wrong with them.
func scanned(ctx context.Context, o Options) (*load.Program, []model.Service, diag.List, error) {
	program, err := load.Load(ctx, load.Options{Dir: o.Dir, Patterns: o.Patterns})
	if err != nil {
		return nil, nil, nil, err
	}
	services, found := scan.Services(program)
	found = append(found, check.Services(services)...)
	found.Sort()
	return program, services, found, nil
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

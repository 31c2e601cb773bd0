// Package generator turns annotated Go into the files of an MCP server, in one way:
// load → scan → check → emit → commit. Run computes and writes nothing; what becomes of its
// result is the caller's choice: Commit writes it, Stale compares it with what stands.
package generator

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/generator/check"
	"github.com/mcpgen/mcpgen/generator/commit"
	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/fresh"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/scan"
)

// Options say what to read.
type Options struct {
	Dir      string   // patterns are resolved here; empty is the working directory
	Patterns []string // package patterns as the go command takes them; none is "."
}

// Result is what a run found and what should stand on disk because of it.
type Result struct {
	Services    []model.Service // by import path; incomplete where there are diagnostics
	Diagnostics diag.List       // sorted
	// Files should stand: the generated files, or, where there are diagnostics, one poison
	// file a package that has some, and nothing else.
	Files []emit.File
	// Remove should not stand: owned files of packages without directives, and poison that
	// has been mended.
	Remove []string
}

// Run reads the packages and computes what should stand. It fails where it could not look: no
// package matches, the go command is missing, a file cannot be read. What is wrong with the
// source is no failure: it is in the diagnostics.
func Run(ctx context.Context, o Options) (Result, error) {
	program, services, found, err := scanned(ctx, o)
	if err != nil {
		return Result{}, err
	}
	r := Result{Services: services, Diagnostics: found}
	if len(found) > 0 {
		r.Files, r.Remove = poison(program, found)
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
	hash, err := fresh.Hash(s.Dir, s.Fresh.Decls, s.Fresh.Files...)
	if err != nil {
		return nil, err
	}
	docs, err := present(filepath.Join(s.Dir, emit.Docs))
	if err != nil {
		return nil, err
	}
	return emit.Files(s, emit.Present{Hash: hash, Docs: docs})
}

// Commit writes what should stand, removes what should not, and returns the paths it changed.
// A file that is as it should be is not touched.
func (r Result) Commit() (changed []string, err error) {
	return commit.Write(r.Files, r.Remove)
}

// Stale compares what should stand with what does, and writes nothing.
func (r Result) Stale() ([]commit.Difference, error) {
	return commit.Stale(r.Files, r.Remove)
}

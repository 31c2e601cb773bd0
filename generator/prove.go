package generator

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/prove"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// Proof is what an analysis of call graphs found, and the records that should stand.
type Proof struct {
	Services    []model.Service // with tools, each with its Proof
	Diagnostics diag.List       // sorted: of the source, or of what its handlers reach
	// Unknown has a line for each tool of which it is unknown what it reaches: the call, and why.
	Unknown []Unknown
	// Files are the records of packages without findings.
	Files []emit.File
}

// Unknown is why it is unknown what a tool's handler reaches.
type Unknown struct {
	Tool string
	At   model.Position // of the last call in the author's packages
	Why  string         // the cause, and the way to it
}

// Analysis finds what the handlers of loaded packages reach.
type Analysis interface {
	Platform() string // GOOS/GOARCH of the analysis
	// Tools returns a row for each tool of a service, in their order.
	Tools(model.Service) ([]model.Proven, error)
}

// Analyse loads packages by their import paths for an analysis. dir is the working directory of the
// go command. The list contains the errors of the author's packages.
type Analyse func(ctx context.Context, dir string, paths []string) (Analysis, diag.List, error)

// Prove compares what the handlers of the packages reach with their directives. It writes nothing
// and takes seconds a package. If progress is not nil, Prove calls it with a text for each step. It
// fails as Run does.
func Prove(ctx context.Context, o Options, analyse Analyse, progress func(doing string)) (
	Proof, error) {
	if progress == nil {
		progress = func(string) {}
	}
	program, services, found, err := scanned(ctx, o)
	if err != nil || len(found) > 0 {
		return Proof{Diagnostics: found}, err
	}
	var p Proof
	var paths []string
	for _, s := range services {
		if len(s.Tools) > 0 {
			p.Services = append(p.Services, s)
			paths = append(paths, s.Package)
		}
	}
	if len(paths) == 0 {
		return p, nil
	}
	progress("reading the packages and their imports")
	bodies, found, err := analyse(ctx, o.Dir, paths)
	if err != nil || len(found) > 0 {
		p.Diagnostics = found
		return p, err
	}
	for i := range p.Services {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		s := &p.Services[i]
		progress("following the calls of " + s.Package)
		proof := model.Proof{Platform: bodies.Platform(), Current: true}
		if proof.Tools, err = bodies.Tools(*s); err != nil {
			return p, err
		}
		if proof.Digest, err = digestOf(program, *s); err != nil {
			return p, err
		}
		s.Proof = &proof
		for j, tool := range s.Tools {
			at, why, unknown := prove.Unknown(tool, proof.Tools[j], directories(program, *s))
			if unknown {
				p.Unknown = append(p.Unknown, Unknown{tool.Name, at, why})
			}
		}
		findings := prove.Judge(s.Tools, proof.Tools, directories(program, *s))
		if len(findings) > 0 {
			p.Diagnostics = append(p.Diagnostics, findings...)
			continue
		}
		content, err := prove.Encode(s.Package, proof)
		if err != nil {
			return p, err
		}
		p.Files = append(p.Files, emit.File{Path: filepath.Join(s.Dir, prove.File),
			Content: content})
	}
	p.Diagnostics.Sort()
	return p, nil
}

// Write writes the records, and returns the paths that it changed.
func (p Proof) Write() (changed []string, err error) { return writefiles.Write(p.Files, nil) }

// Stale compares the records with those on the disk, and writes nothing. A package without a record
// has no stale one.
func (p Proof) Stale() ([]writefiles.Difference, error) {
	found, err := writefiles.Stale(p.Files, nil)
	missing := func(d writefiles.Difference) bool { return d.State == writefiles.Missing }
	return slices.DeleteFunc(found, missing), err
}

// proofOf reads what is recorded of a service, and whether it still holds.
func proofOf(program *load.Program, s model.Service) (*model.Proof, error) {
	proof, err := prove.Read(s.Dir, s.Package)
	if proof == nil || err != nil {
		return nil, err
	}
	digest, err := digestOf(program, s)
	if err != nil {
		return nil, err
	}
	proof.Current = digest == proof.Digest
	return proof, nil
}

func digestOf(program *load.Program, s model.Service) (string, error) {
	pkg := program.Package(s.Package)
	var sources []prove.Source
	for _, p := range own(program, s) {
		sources = append(sources, prove.Source{Path: p.Path, Dir: p.Dir})
	}
	return prove.Digest(pkg.GoMod, sources)
}

// own are the author's packages that a service's is made of.
func own(program *load.Program, s model.Service) []*load.Package {
	var list []*load.Package
	for _, p := range program.Imports(program.Package(s.Package)) {
		if p.Local {
			list = append(list, p)
		}
	}
	return list
}

func directories(program *load.Program, s model.Service) []string {
	var dirs []string
	for _, p := range own(program, s) {
		dirs = append(dirs, p.Dir)
	}
	return dirs
}

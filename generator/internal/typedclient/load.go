// Package typedclient loads packages whose typed clients are not generated yet.
package typedclient

import (
	"bytes"
	"context"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// Load is [load.Load]. Typed clients that the packages import are as the source of the tools
// describes them, also if the files on the disk are missing or stale. ahead reports that they are.
func Load(ctx context.Context, o load.Options) (program *load.Program, ahead bool, err error) {
	c := clients{files: map[string][]byte{}, read: map[string]bool{}}
	program, err = c.load(ctx, o)
	return program, len(c.files) > 0, err
}

// clients are typed clients that differ from the disk.
type clients struct {
	files map[string][]byte // by path
	read  map[string]bool   // the directories of packages that may declare a missing client
	// changes is the number of changes of files.
	changes int
}

// load loads packages, and again after a change of a client that they import.
func (c *clients) load(ctx context.Context, o load.Options) (*load.Program, error) {
	o.Overlay = c.files
	for {
		before := c.changes
		program, err := load.Load(ctx, o)
		if err != nil {
			return nil, err
		}
		owners, missing := program.Owners()
		c.write(program, owners)
		for _, dir := range missing {
			if c.read[dir] {
				continue
			}
			c.read[dir] = true
			other, err := c.load(ctx, load.Options{Dir: dir})
			if ctx.Err() != nil {
				return nil, err
			}
			if err == nil { // else the import is an error of the package that has it
				c.write(other, other.Roots)
			}
		}
		if c.changes == before {
			return program, nil
		}
	}
}

// write adds the clients of packages. No client changes without end, since no package imports
// itself.
func (c *clients) write(program *load.Program, owners []*load.Package) {
	for _, owner := range owners {
		file, err := client(program, owner)
		if err != nil {
			continue // generation of the package reports it
		}
		old, known := c.files[file.Path]
		if file.Content == nil && !known {
			file.Content = program.EmptyClient(owner)
		}
		if file.Content == nil || known && bytes.Equal(old, file.Content) ||
			!known && writefiles.Unchanged(file) {
			continue
		}
		c.files[file.Path] = file.Content
		c.changes++
	}
}

// client returns the client of a package, which has no content if the package has a finding or no
// client.
func client(program *load.Program, owner *load.Package) (emit.File, error) {
	p := scan.One(program, owner)
	if !p.Serves || p.Service.Server.Client == "" || !p.Sound(program) {
		return emit.File{Path: program.ClientFile(owner)}, nil
	}
	return emit.TypedClient(p.Service)
}

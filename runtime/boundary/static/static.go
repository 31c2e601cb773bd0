// Package static reads the boundaries of clients from one file, YAML or JSON, which people review.
//
//	boundaries:
//	  - issuer: https://id.example
//	    client: dns-agent
//	    roles: [Member]
//	    items:
//	      - tool:list_records
//	      - tool:set_device name=rack
//	      - catalog:reports
//	  - issuer: https://id.example
//	    client: "*"
//	    roles: "*"
//	    items: "*"
//	    readonly: true
//	    until: 2027-06-30T00:00:00Z
//
// The document has the key boundaries, a list of entries. The keys of an entry:
//
//   - issuer: the issuer of the client or actor, as in access.Principal. It is required, and "" for
//     principals without one.
//   - client: the OAuth client or program. "*" stands for all clients of the issuer without an
//     entry of their own, and for credentials that name no client.
//   - subject: limits the entry to one caller of the client. It counts before the entry of the
//     client.
//   - actor: the subject of the actor of delegated tokens, in place of client.
//   - roles: roles of the server. Of a caller's roles, those count that one of these is or
//     includes.
//   - items: the allowed items; boundary.Boundary has the forms.
//   - readonly: true allows no tools but those that are marked readonly.
//   - blocked: true refuses the requests of the client, whatever the other keys allow.
//   - until: a time as in RFC 3339. The boundary allows nothing from then on.
//
// For roles and items, a missing key, null and [] allow nothing, and "*" allows all. The server
// checks at start that roles and items exist. A file is used completely or not at all. Repeated or
// unknown keys, two entries for one party, values of another type, and in YAML also aliases, tags
// and further documents are errors.
package static

import (
	"context"
	"io/fs"
	"iter"
	"os"

	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/runtime/boundary"
)

// source is a [boundary.Source] over a file. It does not change.
type source struct {
	parties []boundary.Party // in the order of the file
	by      map[boundary.Party]boundary.Boundary
}

// Open reads a file of the system, whose name ends in .yaml, .yml or .json. The error lists all
// mistakes with their lines, one mistake a line.
func Open(file string) (boundary.Source, error) {
	return open(file, func() (fs.File, error) { return os.Open(file) })
}

// OpenFS is [Open] for a file of fsys, such as one that is built into the program.
func OpenFS(fsys fs.FS, file string) (boundary.Source, error) {
	return open(file, func() (fs.File, error) { return fsys.Open(file) })
}

func open(file string, open func() (fs.File, error)) (boundary.Source, error) {
	entries, err := boundaryfile.Read(file, open)
	if err != nil {
		return nil, err
	}
	s := &source{by: map[boundary.Party]boundary.Boundary{}}
	for _, e := range entries {
		party := boundary.Party(e.Party)
		s.parties = append(s.parties, party)
		s.by[party] = boundary.Boundary(e.Boundary)
	}
	return s, nil
}

// Boundary implements [boundary.Source].
func (s *source) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	b, ok := p.In(s.by)
	return b, ok, nil
}

// All yields the boundaries in the order of the file; see [boundary.Source].
func (s *source) All() iter.Seq2[boundary.Party, boundary.Boundary] {
	return func(yield func(boundary.Party, boundary.Boundary) bool) {
		for _, p := range s.parties {
			if !yield(p, s.by[p]) {
				return
			}
		}
	}
}

// ReadsMemoryOnly marks the source; see [boundary.Source].
func (s *source) ReadsMemoryOnly() {}

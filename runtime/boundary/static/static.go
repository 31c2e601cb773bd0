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
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/configfile"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/decode"
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
	s := &source{by: map[boundary.Party]boundary.Boundary{}}
	err := configfile.Read(file, open, "use one entry for all clients of an issuer, or several servers",
		func(doc configfile.Value, bad *configfile.Problems) { s.read(file, doc, bad) })
	if err != nil {
		return nil, err
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

func (s *source) read(file string, doc configfile.Value, bad *configfile.Problems) {
	present := false
	bad.Fields(doc, "", []configfile.Field{{Name: "boundaries",
		Read: func(v configfile.Value, at string) {
			if present = true; bad.Is(v, at, configfile.List) {
				for i, item := range v.Items {
					s.entry(file, item, decode.Pointer(at, strconv.Itoa(i)), bad)
				}
			}
		}}})
	if doc.Kind == configfile.Mapping && !present {
		bad.Add(doc.Line, "/boundaries", "is missing: write the entries, or [] for none")
	}
}

// entry reads one entry.
func (s *source) entry(file string, v configfile.Value, at string, bad *configfile.Problems) {
	var party boundary.Party
	limits := boundary.Boundary{Where: fmt.Sprintf("%s:%d", file, v.Line)}
	hasIssuer := false
	// An empty name would stand for all callers that have none.
	name := func(to *string, cure string) func(configfile.Value, string) {
		return func(v configfile.Value, at string) {
			if bad.Is(v, at, configfile.Text) {
				if *to = v.Text; v.Text == "" {
					bad.Add(v.Line, at, "is empty: %s", cure)
				}
			}
		}
	}
	bad.Fields(v, at, []configfile.Field{
		{Name: "issuer", Read: func(v configfile.Value, at string) {
			if hasIssuer = true; bad.Is(v, at, configfile.Text) {
				party.Issuer = v.Text
			}
		}},
		{Name: "client", Read: name(&party.Client, `write the client, or "*" for all others`)},
		{Name: "subject", Read: name(&party.Subject, "write the subject, or remove the key")},
		{Name: "actor", Read: name(&party.Actor, "write the subject of the actor")},
		{Name: "roles", Read: func(v configfile.Value, at string) {
			limits.Roles = list(v, at, bad, boundaryitem.CheckRole)
		}},
		{Name: "items", Read: func(v configfile.Value, at string) {
			limits.Items = list(v, at, bad, boundaryitem.CheckItem)
		}},
		{Name: "readonly", Read: func(v configfile.Value, at string) {
			bad.Truth(v, at, &limits.ReadOnly)
		}},
		{Name: "blocked", Read: func(v configfile.Value, at string) {
			bad.Truth(v, at, &limits.Blocked)
		}},
		{Name: "until", Read: func(v configfile.Value, at string) {
			if !bad.Is(v, at, configfile.Text) {
				return
			}
			var err error
			if limits.Until, err = time.Parse(time.RFC3339, v.Text); err != nil ||
				limits.Until.IsZero() {
				bad.Add(v.Line, at, "is not a time of RFC 3339: write one as in 2027-06-30T00:00:00Z")
			}
		}},
	})
	if v.Kind != configfile.Mapping {
		return
	}
	if !hasIssuer {
		bad.Add(v.Line, at, `has no issuer: write the issuer of the client, or "" for principals without one`)
	} else if err := boundaryitem.CheckParty(party.Client, party.Subject, party.Actor); err != nil {
		bad.Add(v.Line, at, "%v", err)
	}
	if first, twice := s.by[party]; twice {
		bad.Add(v.Line, at, "is about the same party as %s: remove one of the two", first.Where)
	}
	s.parties = append(s.parties, party)
	s.by[party] = limits
}

// list reads roles or items.
func list(v configfile.Value, at string, bad *configfile.Problems,
	check func(string) error) []string {
	switch {
	case v.Kind == configfile.Null:
		return nil
	case v.Kind == configfile.Text && v.Text == boundaryitem.All:
		return []string{boundaryitem.All}
	case v.Kind == configfile.List && len(v.Items) == 1 && v.Items[0].Text == boundaryitem.All:
		return []string{boundaryitem.All}
	}
	return bad.Texts(v, at, func(text string) string {
		if err := check(text); err != nil {
			return err.Error()
		}
		return ""
	})
}

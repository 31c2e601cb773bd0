// Package boundaryfile parses files of permission boundaries. Package runtime/boundary/static and
// the commands of mcpgen read them.
package boundaryfile

import (
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/configfile"
)

// Entry is an entry of a file.
type Entry struct {
	Party    Party
	Boundary Boundary
}

// Party is a boundary.Party of the runtime.
type Party struct{ Issuer, Client, Subject, Actor string }

// Boundary is a boundary.Boundary of the runtime. Where is the place as in "boundaries.yaml:12".
type Boundary struct {
	Roles    []string
	Items    []string
	ReadOnly bool
	Blocked  bool
	Until    time.Time
	Where    string
}

// Read reads a file, whose name ends in .yaml, .yml or .json. It returns the entries in the order
// of the file, one for each party. The error lists all mistakes with their lines, one mistake a
// line.
func Read(file string, open func() (fs.File, error)) ([]Entry, error) {
	r := newReader(file)
	return r.entriesOr(configfile.Read(file, open,
		"use one entry for all clients of an issuer, or several servers", r.read))
}

// Parse is [Read] for the text of a file.
func Parse(file string, text []byte) ([]Entry, error) {
	r := newReader(file)
	return r.entriesOr(configfile.Parse(file, text, r.read))
}

type reader struct {
	file    string
	entries []Entry
	places  map[Party]string
}

func newReader(file string) *reader { return &reader{file: file, places: map[Party]string{}} }

func (r *reader) entriesOr(err error) ([]Entry, error) {
	if err != nil {
		return nil, err
	}
	// A block is that of all callers of the client, and nothing else counts.
	blocked := map[Party]bool{}
	for _, e := range r.entries {
		blocked[e.Party] = e.Boundary.Blocked
	}
	for i, e := range r.entries {
		client := e.Party
		client.Subject = ""
		if blocked[e.Party] || blocked[client] {
			e.Boundary.Blocked, e.Boundary.Roles, e.Boundary.Items = true, nil, nil
			r.entries[i] = e
		}
	}
	return r.entries, nil
}

func (r *reader) read(doc configfile.Value, bad *configfile.Problems) {
	present := false
	bad.Fields(doc, "", []configfile.Field{{Name: "boundaries",
		Read: func(v configfile.Value, at string) {
			if present = true; bad.Is(v, at, configfile.List) {
				for i, item := range v.Items {
					r.entry(item, configfile.Pointer(at, strconv.Itoa(i)), bad)
				}
			}
		}}})
	if doc.Kind == configfile.Mapping && !present {
		bad.Add(doc.Line, "/boundaries", "is missing: write the entries, or [] for none")
	}
}

// entry reads one entry.
func (r *reader) entry(v configfile.Value, at string, bad *configfile.Problems) {
	var party Party
	limits := Boundary{Where: fmt.Sprintf("%s:%d", r.file, v.Line)}
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
		bad.Add(v.Line, at,
			`has no issuer: write the issuer of the client, or "" for principals without one`)
	} else if err := boundaryitem.CheckParty(party.Client, party.Subject, party.Actor); err != nil {
		bad.Add(v.Line, at, "%v", err)
	}
	if first, twice := r.places[party]; twice {
		bad.Add(v.Line, at, "is about the same party as %s: remove one of the two", first)
	}
	r.places[party] = limits.Where
	r.entries = append(r.entries, Entry{party, limits})
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

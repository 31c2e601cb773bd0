package policydiff

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// Boundaries are the boundaries of clients in one set of manifests.
type Boundaries struct {
	Manifests []*Manifest
	File      string
	Missing   bool // the file does not exist, so that no client has a boundary
	entries   []boundaryfile.Entry
}

// LoadBoundaries reads a file of boundaries: from a git ref, or from the disk if from is empty.
func LoadBoundaries(ctx context.Context, from, file string, set []*Manifest) (Boundaries, error) {
	b := Boundaries{Manifests: set, File: filepath.ToSlash(file)}
	text, err := os.ReadFile(file)
	if from != "" {
		text, err = fileOf(ctx, from, b.File)
	}
	if errors.Is(err, fs.ErrNotExist) {
		b.Missing = true
		return b, nil
	}
	if err == nil {
		b.entries, err = boundaryfile.Parse(b.File, text)
	}
	return b, err
}

// fileOf returns the text of a file of a commit. The path is relative to the working directory.
func fileOf(ctx context.Context, name, file string) ([]byte, error) {
	id, within, err := commitOf(ctx, name)
	if err != nil {
		return nil, err
	}
	file = path.Join(within, file)
	list, err := git(ctx, nil, "ls-tree", "-z", "--name-only", "--full-tree", id, "--", file)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(list, []byte(file+"\x00")) {
		return nil, fs.ErrNotExist
	}
	texts, err := blobs(ctx, id, []string{file})
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// WithBoundaries adds the changes from one file of boundaries to another, for each client and actor
// that has an entry in one of them. Items count as the manifests of their side have them.
func WithBoundaries(changes []Change, before, after Boundaries) []Change {
	parties := map[boundaryfile.Party]bool{}
	for _, e := range slices.Concat(before.entries, after.entries) {
		parties[e.Party] = true
	}
	for party := range parties {
		changes = append(changes, boundaryChanges(party, before, after)...)
	}
	return ordered(changes)
}

// of returns the boundary of a party: that of its own entry, or else the one that counts in place
// of it, as the runtime finds it.
func (b Boundaries) of(p boundaryfile.Party) (boundaryfile.Boundary, bool) {
	list := map[boundaryfile.Party]boundaryfile.Boundary{}
	for _, e := range b.entries {
		list[e.Party] = e.Boundary
	}
	return boundaryitem.Find(list, p)
}

func boundaryChanges(p boundaryfile.Party, before, after Boundaries) (changes []Change) {
	old, had := before.of(p)
	current, has := after.of(p)
	name := "client " + p.Client
	if p.Actor != "" {
		name = "actor " + p.Actor
	}
	if p.Subject != "" {
		name += " of subject " + p.Subject
	}
	file, line := after.File, placeOf(current)
	if !has {
		file, line = before.File, placeOf(old)
	}
	add := func(kind Kind, words ...string) {
		if len(words) > 0 {
			changes = append(changes, Change{Kind: kind, Subject: "boundary", Name: name,
				Package: cmp.Or(p.Issuer, "no issuer"), Message: strings.Join(words, "; "), File: file,
				Line: line})
		}
	}
	switch {
	case !had && before.Missing:
		add(Narrowed, "the file is new: no client had a boundary")
	case !has && after.Missing:
		add(Widened, "the file is gone: no client has a boundary now")
	case !had && p.Actor != "":
		add(Narrowed, "a new entry limits the actor")
	case !has && p.Actor != "":
		add(Widened, "no entry limits the actor now")
	case !has:
		add(Widened, "no entry counts now: with optional boundaries, the client may use everything")
	default:
		was, is := before.reach(old, had), after.reach(current, true)
		add(Widened, is.beyond(was, "may use ", "has the role ")...)
		add(Narrowed, was.beyond(is, "may no longer use ", "no longer has the role ")...)
		switch x, y := old.Until, current.Until; {
		case !had || x.Equal(y):
		case y.IsZero() || !x.IsZero() && y.After(x):
			add(Widened, until(y)+" in place of "+until(x))
		default:
			add(Narrowed, until(y)+" in place of "+until(x))
		}
	}
	return changes
}

func until(t time.Time) string {
	if t.IsZero() {
		return "no end"
	}
	return "until " + t.Format(time.RFC3339)
}

// placeOf returns the line of an entry.
func placeOf(b boundaryfile.Boundary) int {
	line, _ := strconv.Atoi(b.Where[strings.LastIndex(b.Where, ":")+1:])
	return max(line, 1)
}

// The items and roles that a boundary with "*" has beside those of the manifests.
const (
	newItems    = "new items"
	newReadOnly = "new items that change nothing"
	newRoles    = "new roles"
)

// reach is what a boundary allows.
type reach struct {
	roles map[string]bool
	// items are items as in files of boundaries: those of the manifests, with each value of ruled
	// arguments, and those that no manifest has. Partial are the tools some of whose values are
	// outside.
	items, partial map[string]bool
	known          map[string]bool // the items of the manifests
}

// reach returns what a boundary allows. Without a boundary, that is what is public.
func (b Boundaries) reach(limits boundaryfile.Boundary, bounded bool) reach {
	known := knownItems(b.Manifests)
	r := reach{map[string]bool{}, map[string]bool{}, map[string]bool{}, known}
	catalogs := map[string][]string{}
	for _, i := range items(b.Manifests) {
		for _, name := range i.Catalogs {
			catalogs[name] = append(catalogs[name], i.id())
		}
	}
	set, _ := boundaryitem.NewSet(limits.Items, catalogs, ruledIn(b.Manifests))
	for _, i := range items(b.Manifests) {
		text := i.text()
		inside := set.Has(boundaryitem.Kind(i.kind), i.id()) && (!limits.ReadOnly || i.readOnly())
		if !bounded {
			inside = i.Access.Public
		}
		values, partial := []string{}, false
		for _, argument := range i.ruled() {
			some := false
			for _, value := range sorted(i.listed(argument)) {
				one := text + " " + argument + "=" + value
				if !bounded || set.HasValue(i.id(), argument, value) {
					values, some = append(values, one), true
				} else {
					partial = true
				}
			}
			inside = inside && some
		}
		if inside {
			for _, one := range append(values, text) {
				r.items[one] = true
			}
			if partial {
				r.partial[text] = true
			}
		}
	}
	for _, text := range limits.Items {
		switch {
		case boundaryitem.IsAll(limits.Items):
			r.items[newReadOnly], r.items[newItems] = limits.ReadOnly, !limits.ReadOnly
		case !known[text]:
			r.items[text] = true
		}
	}
	for _, role := range limits.Roles {
		if r.roles[role] = true; boundaryitem.IsAll(limits.Roles) {
			r.roles = map[string]bool{newRoles: true}
		}
		for _, m := range b.Manifests {
			for _, name := range m.order.Names() {
				if m.order.Below(role)&m.order.Bit(name) != 0 || boundaryitem.IsAll(limits.Roles) {
					r.roles[name] = true
				}
			}
		}
	}
	return r
}

// ruledIn returns a func that reports whether values of an argument of a tool have rules.
func ruledIn(set []*Manifest) func(tool, argument string) bool {
	return func(tool, argument string) bool {
		return slices.ContainsFunc(items(set), func(i *Item) bool {
			return i.kind == "tool" && i.id() == tool && slices.Contains(i.ruled(), argument)
		})
	}
}

// knownItems returns all items that a boundary may have: those of manifests.
func knownItems(set []*Manifest) map[string]bool {
	known := map[string]bool{}
	for _, i := range items(set) {
		known[i.text()] = true
		if i.kind == "resource" {
			known["skill:"+i.id()] = true
		}
		for _, name := range i.Catalogs {
			known["catalog:"+name] = true
		}
		for _, argument := range i.ruled() {
			for _, value := range i.listed(argument) {
				known[i.text()+" "+argument+"="+value] = true
			}
		}
	}
	return known
}

// Notes returns a note for each role and item of the boundaries that no manifest has.
func (b Boundaries) Notes() (notes []string) {
	var roles []string
	for _, m := range b.Manifests {
		if len(m.Roles) > 0 {
			roles = append(roles, m.order.Names()...)
		}
	}
	for _, e := range b.entries {
		for _, role := range e.Boundary.Roles {
			if role != boundaryitem.All && !slices.Contains(roles, role) {
				notes = append(notes, fmt.Sprintf("%s: no package has the role %q: %s", e.Boundary.Where,
					role, cureOf(role, roles)))
			}
		}
	}
	return append(notes, unknownItems(b.Manifests, b.entries)...)
}

// unknownItems returns a note for each item of boundaries that no manifest has.
func unknownItems(set []*Manifest, entries []boundaryfile.Entry) (notes []string) {
	known := knownItems(set)
	for _, e := range entries {
		for _, text := range e.Boundary.Items {
			if text == boundaryitem.All || known[text] {
				continue
			}
			note := fmt.Sprintf("%s: no package has %s", e.Boundary.Where, text)
			for _, i := range items(set) {
				name, _, _ := strings.Cut(strings.TrimPrefix(text, "tool:"), " ")
				if slices.Contains(i.Aliases, name) {
					note += fmt.Sprintf(": %s is an alias, write %s", name, i.text())
				}
			}
			notes = append(notes, note)
		}
	}
	return notes
}

// cureOf returns the cure for a name that is not one of the names.
func cureOf(name string, names []string) string {
	if near := editdistance.Nearest(name, names, 2); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return "name the package with the roles too"
	}
	return "write one of " + strings.Join(sorted(names), ", ")
}

// readOnly reports whether a boundary with readonly allows the item.
func (i *Item) readOnly() bool { return i.kind != "tool" || i.Hints.ReadOnly }

// beyond describes what r allows, and another boundary does not.
func (r reach) beyond(other reach, use, role string) (words []string) {
	var items, roles []string
	for _, text := range slices.Sorted(maps.Keys(r.items)) {
		tool, _, isValue := strings.Cut(text, " ")
		switch {
		case other.items[text], !r.items[text], other.items[newItems]:
		case other.items[newReadOnly] && !other.known[text] && r.items[newReadOnly]: // it is a new one
		case isValue && r.items[tool] && !other.items[tool] && !r.partial[tool]: // the tool stands for it
		case !isValue && r.partial[text]: // the values stand for it
		default:
			items = append(items, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.roles)) {
		if !other.roles[name] && !other.roles[newRoles] {
			roles = append(roles, name)
		}
	}
	if len(items) > 0 {
		words = append(words, use+strings.Join(items, ", "))
	}
	if len(roles) > 0 {
		words = append(words, role+strings.Join(roles, ", "))
	}
	return words
}

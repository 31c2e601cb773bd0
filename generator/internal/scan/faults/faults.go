// Package faults makes one finding of all findings with one root cause: a type without a schema, or
// a package without types.
package faults

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Set has the root causes of a run that may have several places, by name and code.
type Set map[[2]string]*Fault

// Fault is a type without a schema, or a package without types.
type Fault struct {
	Declared model.Position  // zero in another module, which the author of the handlers cannot edit
	Fields   map[string]bool // of the type that have the fault, by name

	name  string
	found diag.List // in the places that use the type
}

// Add notes a finding about a type. In another module a type has one fault, whatever its code.
func (f Set) Add(code diag.Code, typ *types.TypeName, found diag.Diagnostic) *Fault {
	key := [2]string{typ.Pkg().Path() + "." + typ.Name(), string(code)}
	return f.note(key, typ.Pkg().Name()+"."+typ.Name(), found)
}

// AddPackage notes a finding about the types of a package.
func (f Set) AddPackage(name string, found diag.Diagnostic) { f.note([2]string{name}, name, found) }

func (f Set) note(key [2]string, name string, found diag.Diagnostic) *Fault {
	if f[key] == nil {
		f[key] = &Fault{name: name, Fields: map[string]bool{}}
	}
	f[key].found = append(f[key].found, found)
	return f[key]
}

// Merge adds the faults of a package.
func (f Set) Merge(of Set) {
	for key, other := range of {
		for _, found := range other.found {
			fault := f.note(key, other.name, found)
			fault.Declared = other.Declared
			maps.Copy(fault.Fields, other.Fields)
		}
	}
}

// List returns one finding a fault, with the number of places and the first of them.
func (f Set) List() diag.List {
	var list diag.List
	for _, fault := range f {
		list = append(list, fault.finding())
	}
	return list // the run sorts its findings
}

// finding stands where the type is declared, or else in the first place that uses it.
func (f *Fault) finding() diag.Diagnostic {
	slices.SortFunc(f.found, func(a, b diag.Diagnostic) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), strings.Compare(string(a.Code), string(b.Code)),
			cmp.Compare(len(a.Message), len(b.Message)), strings.Compare(a.Message, b.Message))
	})
	d := f.found[0]
	if f.Declared.File != "" {
		d.Pos = f.Declared
	}
	if n := len(f.Fields); n > 1 {
		d.Message += fmt.Sprintf("; fields of %s with a fault: %d", f.name, n)
	}
	above := above(d.Pos, f.found)
	var places []string
	count := 0
	for i, other := range f.found {
		if i == 0 || other.Pos != f.found[i-1].Pos {
			count++
		}
		const most = 3
		switch place := from(d.Pos, other.Pos, above); {
		case len(places) > most || slices.Contains(places, place):
		case len(places) == most:
			places = append(places, "…")
		default:
			places = append(places, place)
		}
	}
	if count > 1 || d.Pos == f.Declared {
		d.Message += fmt.Sprintf("; places with %s: %d (%s)",
			f.name, count, strings.Join(places, ", "))
	}
	i := slices.IndexFunc(f.found, func(other diag.Diagnostic) bool {
		return !strings.HasSuffix(d.Suggestion, other.Suggestion)
	})
	if i > 0 {
		d.Suggestion = strings.TrimSuffix(d.Suggestion, ", "+schema.ByHand) +
			"; elsewhere " + f.found[i].Suggestion
	}
	return d
}

// above returns the innermost folder that is above the folders of all places, apart from those in
// the folder of the first one.
func above(here model.Position, places diag.List) string {
	folder := filepath.Dir(here.File)
	for _, place := range places {
		if dir := filepath.Dir(place.Pos.File); dir != filepath.Dir(here.File) {
			for !below(dir, folder) && folder != filepath.Dir(folder) {
				folder = filepath.Dir(folder)
			}
		}
	}
	return folder
}

func below(dir, folder string) bool {
	rel, err := filepath.Rel(folder, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// from is a place as a finding in another place names it: file and line. A place in another folder
// has its path from a folder above all places, so that folders of one name differ.
func from(here, place model.Position, above string) string {
	name := filepath.Base(place.File)
	if dir := filepath.Dir(place.File); dir != filepath.Dir(here.File) {
		if rel, err := filepath.Rel(above, place.File); err == nil {
			name = filepath.ToSlash(rel)
		}
	}
	return fmt.Sprintf("%s:%d", name, place.Line)
}

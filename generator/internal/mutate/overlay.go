package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// choose returns the changes of some files and folders, and a number of others, spread over
// packages and kinds. Changes that have a verdict come first. A hash of the seed and of the key
// orders the others, so that a new place in the source displaces few.
func choose(all []change, count int, whole []string, before map[string]verdict) []change {
	var chosen []change
	of := map[string][]change{}
	for _, c := range all {
		if slices.ContainsFunc(whole, func(path string) bool {
			return strings.HasPrefix(c.file, path)
		}) {
			chosen = append(chosen, c)
		} else {
			of[c.pkg] = append(of[c.pkg], c)
		}
	}
	packages := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(len(of[a])-len(of[b]), strings.Compare(a, b))
	})
	for i, pkg := range packages { // small ones first, so that large ones have their rest
		share := min(count/(len(packages)-i), len(of[pkg]))
		chosen = append(chosen, ordered(of[pkg], before)[:share]...)
		count -= share
	}
	slices.SortFunc(chosen, func(a, b change) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.start-b.start, b.end-a.end)
	})
	for i := range chosen {
		chosen[i].number = i + 1
	}
	return chosen
}

// ordered sorts the changes of a package: those with a verdict, then the first of each kind, then
// the second of each.
func ordered(changes []change, before map[string]verdict) []change {
	shuffle(changes, seed)
	rank, ofKind := map[string]int{}, map[string]int{}
	for _, c := range changes {
		if _, judged := before[c.key()]; !judged {
			ofKind[c.kind]++
			rank[c.key()] = ofKind[c.kind]
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return rank[a.key()] - rank[b.key()] })
	return changes
}

// shuffle sorts changes by a hash of a seed and of their keys.
func shuffle(changes []change, seed string) {
	hash := func(c change) string {
		sum := sha256.Sum256([]byte(seed + c.key()))
		return string(sum[:])
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(hash(a), hash(b)) })
}

// withSwitches returns a copy of a file with changes as switches. Lines keep their numbers.
func (s *source) withSwitches(changes []change) string {
	name := s.files.Position(s.syntax.Name.End()).Offset
	return string(s.text[:name]) + fmt.Sprintf("; import _mutant %q", switches) +
		s.between(name, len(s.text), changes)
}

// between returns a part of the file with changes as switches. An outer change comes before those
// that are inside of it.
func (s *source) between(at, end int, changes []change) string {
	var out strings.Builder
	for len(changes) > 0 {
		c, inner := changes[0], 1
		for inner < len(changes) && changes[inner].start < c.end {
			inner++
		}
		out.Write(s.text[at:c.start])
		out.WriteString(c.both(c.number, s.between(c.start, c.end, changes[1:inner])))
		at, changes = c.end, changes[inner:]
	}
	out.Write(s.text[at:end])
	return out.String()
}

const switches = "github.com/mcpgen/mcpgen/internal/mutant"

// writeOverlay writes copies of the files with switches, and the file that go test -overlay reads.
func (r *run) writeOverlay(sources []*source, chosen []change) (string, error) {
	replace := map[string]string{}
	for _, s := range sources {
		var here []change
		for _, c := range chosen {
			if c.file == s.path {
				here = append(here, c)
			}
		}
		if len(here) == 0 {
			continue // the import would have no use
		}
		file := filepath.Join(r.temp, strings.ReplaceAll(s.path, "/", "_"))
		if err := os.WriteFile(file, []byte(s.withSwitches(here)), 0o666); err != nil {
			return "", err
		}
		replace[s.file] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(r.temp, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o666)
}

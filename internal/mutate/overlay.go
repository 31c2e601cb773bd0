package main

import (
	"bytes"
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

// choose returns a number of changes, spread over packages, kinds and functions. It takes at most
// one of each function, so that no two overlap. Changes that have a verdict come first. A hash of
// the seed and of the key orders the others, so that a new place in the source displaces few.
func choose(all []change, count int, before map[string]verdict) []change {
	of := map[string][]change{}
	for _, c := range all {
		of[c.pkg] = append(of[c.pkg], c)
	}
	packages := slices.Sorted(maps.Keys(of))
	var chosen []change
	taken := map[[2]string]bool{}
	for i, pkg := range packages {
		share := (count + i) / len(packages)
		for _, c := range ordered(of[pkg], before) {
			function := [2]string{c.file, c.function}
			if share > 0 && !taken[function] {
				taken[function] = true
				chosen = append(chosen, c)
				share--
			}
		}
	}
	slices.SortFunc(chosen, func(a, b change) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.start-b.start)
	})
	for i := range chosen {
		chosen[i].number = i + 1
	}
	return chosen
}

// ordered sorts the changes of a package: those with a verdict, then the first of each kind, then
// the second of each.
func ordered(changes []change, before map[string]verdict) []change {
	hash := map[string]string{}
	for _, c := range changes {
		hash[c.key()] = fmt.Sprintf("%x", sha256.Sum256([]byte(seed+c.key())))
	}
	slices.SortFunc(changes, func(a, b change) int {
		return strings.Compare(hash[a.key()], hash[b.key()])
	})
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

// withSwitches returns a copy of a file with changes as switches. Lines keep their numbers.
func (s *source) withSwitches(changes []change) []byte {
	var out bytes.Buffer
	at := s.files.Position(s.syntax.Name.End()).Offset
	out.Write(s.text[:at])
	fmt.Fprintf(&out, "; import _mutant %q", switches)
	for _, c := range changes {
		out.Write(s.text[at:c.start])
		out.WriteString(c.both(c.number, string(s.text[c.start:c.end])))
		at = c.end
	}
	out.Write(s.text[at:])
	return out.Bytes()
}

const switches = "github.com/mcpgen/mcpgen/internal/mutate/mutant"

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
			continue
		}
		file := filepath.Join(r.temp, strings.ReplaceAll(s.path, "/", "_"))
		if err := os.WriteFile(file, s.withSwitches(here), 0o666); err != nil {
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

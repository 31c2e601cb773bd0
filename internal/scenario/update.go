package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conditions are the limits that a written line may have, the widest first.
func conditions(variants []variant) (all []string) {
	all = []string{"", "sessions", "http", "stdio", "2026-07-28"}
	for _, v := range variants {
		all = append(all, v.version)
	}
	all = append(all, "http sessions", "stdio sessions")
	for _, v := range variants {
		all = append(all, v.transport+" "+v.version)
	}
	plain := all
	for _, v := range variants {
		for choice := range strings.FieldsSeq(v.choice) {
			for _, condition := range plain {
				all = append(all, strings.TrimSpace(choice+" "+condition))
			}
		}
		for _, condition := range plain {
			all = append(all, strings.TrimSpace(v.choice+" "+condition))
		}
	}
	return all
}

// merge joins what the variants got for one step: each line once, limited to the variants that
// have it.
func merge(got map[variant][]string) (lines []string) {
	variants := slices.SortedFunc(maps.Keys(got), func(a, b variant) int {
		return strings.Compare(a.version+a.transport+a.choice, b.version+b.transport+b.choice)
	})
	// A line that comes twice is another line.
	texts, holders := map[string]string{}, map[string][]variant{}
	left := map[variant][]string{}
	for _, v := range variants {
		times := map[string]int{}
		for _, text := range got[v] {
			times[text]++
			key := fmt.Sprint(times[text], " ", text)
			texts[key] = text
			holders[key] = append(holders[key], v)
			left[v] = append(left[v], key)
		}
	}
	for {
		key := ""
		for _, v := range variants {
			if len(left[v]) > 0 && (key == "" || isNext(left, left[v][0])) {
				if key = left[v][0]; isNext(left, key) {
					break
				}
			}
		}
		if key == "" {
			return lines
		}
		var of []variant // those whose next line it is
		for _, v := range variants {
			if len(left[v]) > 0 && left[v][0] == key {
				of, left[v] = append(of, v), left[v][1:]
			}
		}
		lines = append(lines, limited(texts[key], of, variants)...)
	}
}

// isNext reports whether a line is the next one of each variant that still has it.
func isNext(left map[variant][]string, key string) bool {
	for _, keys := range left {
		if slices.Index(keys, key) > 0 {
			return false
		}
	}
	return true
}

// limited is a line for some of the variants.
func limited(text string, of, all []variant) (lines []string) {
	for len(of) > 0 {
		for _, condition := range conditions(of) {
			var covered []variant
			for _, v := range all {
				if v.has(condition) {
					covered = append(covered, v)
				}
			}
			inside := !slices.ContainsFunc(covered, func(v variant) bool {
				return !slices.Contains(of, v)
			})
			if !inside || !slices.Contains(covered, of[0]) {
				continue
			}
			if condition != "" {
				condition = "[" + condition + "] "
			}
			lines = append(lines, condition+text)
			of = slices.DeleteFunc(of, func(v variant) bool { return slices.Contains(covered, v) })
			break
		}
	}
	return lines
}

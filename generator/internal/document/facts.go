package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// statesFacts reports whether a service has facts= anywhere. Only then documents have facts.
func statesFacts(s model.Service) bool {
	return slices.ContainsFunc(s.Served(), func(t model.Served) bool { return t.Facts != nil })
}

// factWords describes the facts of a tool.
func factWords(t model.Tool) string {
	counted := slices.DeleteFunc(model.Facts(), func(fact string) bool { return !t.HasFact(fact) })
	switch {
	case t.Facts == nil:
		return "Facts: unstated. It counts as " + sentenceList(counted) + "."
	case len(counted) == 0:
		return "Facts: none."
	}
	return "Facts: " + sentenceList(counted) + "."
}

// radiusRow is the blast radius of an agent that acts for one kind of caller.
type radiusRow struct {
	Caller   string
	Counts   []int // of the items that it reaches, by fact
	AllThree bool
}

// radiusOf returns a row for each caller of the matrix. It is nil for a service without facts.
func radiusOf(s model.Service) (rows []radiusRow) {
	if !statesFacts(s) {
		return nil
	}
	m := matrixOf(s)
	for column, caller := range m.callers {
		r := radiusRow{Caller: caller, AllThree: true}
		for _, fact := range model.Facts() {
			n := 0
			for _, t := range s.Served() {
				row := slices.IndexFunc(m.rows, func(r matrixRow) bool {
					return r.kind == t.Kind && r.tool == t.ID // the row of the item, before its values
				})
				if m.rows[row].may[column] && t.HasFact(fact) {
					n++
				}
			}
			r.Counts, r.AllThree = append(r.Counts, n), r.AllThree && n > 0
		}
		rows = append(rows, r)
	}
	return rows
}

// writeRadius writes the section of MCP.md about the blast radius.
func writeRadius(b *strings.Builder, s model.Service) {
	for i, row := range radiusOf(s) {
		if i == 0 {
			b.WriteString("\n## Blast radius\n\nThe number of tools, prompts and resources that an " +
				"agent of each caller reaches if somebody else controls it, by fact. " +
				"`mcpgen radius` lists them.\n\n| caller | " + strings.Join(model.Facts(), " | ") +
				" | all three |\n|---|--:|--:|--:|:-:|\n")
		}
		fmt.Fprintf(b, "| %s |", cell(row.Caller))
		for _, n := range row.Counts {
			fmt.Fprintf(b, " %d |", n)
		}
		b.WriteString(map[bool]string{true: " ✓ |\n", false: " |\n"}[row.AllThree])
	}
}

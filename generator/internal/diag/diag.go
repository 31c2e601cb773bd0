// Package diag holds mcpgen's findings in source: coded, positioned, sorted, rendered.
package diag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Code is the fixed name of one kind of diagnostic, as in "MCP001". A code is never reused.
type Code string

// Diagnostic is one finding.
type Diagnostic struct {
	Code       Code
	Pos        model.Position
	Message    string // what is wrong, one line, no full stop
	Suggestion string // what to do, one line; may be empty
	// Cause is the message without the way to the place, for places with several ways, and empty
	// elsewhere. A place has one finding a cause.
	Cause string
}

// DidYouMean is the suggestion to write text in place of the present one.
func DidYouMean(text string) string { return before + text + after }

const before, after = "did you mean ", "?"

// Meant returns the text of DidYouMean, if that is the suggestion.
func (d Diagnostic) Meant() (text string, ok bool) {
	text, ok = strings.CutPrefix(d.Suggestion, before)
	if ok {
		text, ok = strings.CutSuffix(text, after)
	}
	return text, ok
}

// List collects the diagnostics of a run. It is not safe for concurrent use.
type List []Diagnostic

// Add appends a finding. suggestion may be empty; the message is formatted.
func (l *List) Add(code Code, pos model.Position, suggestion, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	*l = append(*l, Diagnostic{Code: code, Pos: pos, Suggestion: suggestion, Message: message})
}

// Sort orders the list by file, line, column, code and text, and removes duplicates, so that the
// output does not depend on the order in which the stages read the source. Of findings of one cause
// the one with the shortest message stays.
func (l *List) Sort() {
	slices.SortFunc(*l, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col),
			strings.Compare(string(a.Code), string(b.Code)),
			strings.Compare(a.Cause, b.Cause),
			compareWays(a, b),
			strings.Compare(a.Message, b.Message),
			strings.Compare(a.Suggestion, b.Suggestion),
			cmp.Compare(a.Pos.EndCol, b.Pos.EndCol),
		)
	})
	*l = slices.CompactFunc(*l, func(a, b Diagnostic) bool {
		a.Pos.EndCol, b.Pos.EndCol = 0, 0
		if a.Cause != "" {
			a.Message, b.Message = "", ""
		}
		return a == b
	})
}

// compareWays puts findings of one cause side by side, the shortest message first.
func compareWays(a, b Diagnostic) int {
	if a.Cause == "" {
		return 0
	}
	return cmp.Or(strings.Compare(a.Suggestion, b.Suggestion),
		cmp.Compare(len(a.Message), len(b.Message)))
}

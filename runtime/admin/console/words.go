package console

import (
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// visible is a text in which each character that cannot be seen, or that turns those around it,
// stands as an escape: what a client writes must not look like something else to the administrator
// who decides on it.
func visible(text string) string {
	var b strings.Builder
	for hidden := grant.Hidden(text); hidden != nil; hidden = grant.Hidden(text) {
		b.WriteString(text[:hidden.Offset])
		if hidden.Rune == utf8.RuneError && hidden.Size == 1 {
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[hidden.Offset]), 16))
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(hidden.Rune), "'"))
		}
		text = text[hidden.Offset+hidden.Size:] // in which a mark has no base letter: not the escape
	}
	return b.String() + text
}

// hides reports whether a text has characters that visible shows as escapes.
func hides(text string) bool { return grant.Hidden(text) != nil }

// typable is what a form is filled with: a text of which all can be seen where it is changed, or
// else nothing.
func typable(text string) string {
	if hides(text) {
		return ""
	}
	return text
}

// What is shown of a client's own words: of each line, and how many lines, in a page; and in a row
// of a list.
const (
	quoteRunes = 1000
	quoteLines = 20
	lineRunes  = 160
)

// Quote is what somebody else wrote, in lines, for a page to mark as that.
type quote struct {
	Lines []string
	Cut   bool // there is more than is shown
}

// quoted bounds what a client wrote.
func quoted(text string) (q quote) {
	text, q.Cut = shorten(text, quoteRunes)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if len(q.Lines) == quoteLines {
			q.Cut = true
			break
		}
		q.Lines = append(q.Lines, visible(line))
	}
	return q
}

// oneLine is the beginning of what a client wrote, for a row of a list.
func oneLine(text string) string {
	text, cut := shorten(strings.Join(strings.Fields(text), " "), lineRunes)
	if text = visible(text); cut {
		text += " …"
	}
	return text
}

// shorten cuts a text to a number of characters.
func shorten(text string, runes int) (short string, cut bool) {
	for i := range text {
		if runes--; runes < 0 {
			return text[:i], true
		}
	}
	return text, false
}

// shown writes a name that somebody else chose: all of it can be seen, and lines end between its
// words.
func shown(name string) template.HTML { return breakable(visible(name)) }

// filled are the pairs of name and value whose value is not empty.
func filled(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

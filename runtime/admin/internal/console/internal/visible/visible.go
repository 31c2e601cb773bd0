// Package visible shows texts that others wrote so that an administrator can see all of their
// characters.
package visible

import (
	"html/template"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
)

// Text is a text with an escape for each character that is invisible or changes the direction of
// others: a client's text must not look like something else to the administrator who decides on it.
func Text(text string) string {
	var b strings.Builder
	for hidden := hiddentext.First(text); hidden != nil; hidden = hiddentext.First(text) {
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

// Hides reports whether a text has characters that Text shows as escapes.
func Hides(text string) bool { return hiddentext.First(text) != nil }

// Typable is the value for a form's field: the text if all of it is visible there, or else nothing.
func Typable(text string) string {
	if Hides(text) {
		return ""
	}
	return text
}

// Limits of a client's own text: of each line, and of lines, in a page; and in a row of a list.
const (
	quoteRunes = 1000
	quoteLines = 20
	lineRunes  = 160
)

// Quote is a text of somebody else, in lines, for a page to mark as a quotation.
type Quote struct {
	Lines []string
	Cut   bool // there is more than is shown
}

// Quoted bounds a client's text.
func Quoted(text string) (q Quote) {
	text, q.Cut = shorten(text, quoteRunes)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if len(q.Lines) == quoteLines {
			q.Cut = true
			break
		}
		q.Lines = append(q.Lines, Text(line))
	}
	return q
}

// Line is the beginning of a client's text, for a row of a list.
func Line(text string) string {
	text, cut := shorten(strings.Join(strings.Fields(text), " "), lineRunes)
	if text = Text(text); cut {
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

// Name writes a name that somebody else chose: all of it is visible, and lines end between its
// words. A name with a space at an end has quotation marks.
func Name(name string) template.HTML {
	text := Text(name)
	if strings.Trim(text, " ") != text {
		text = `"` + text + `"`
	}
	return Breakable(text)
}

// joints are the characters between the words of a name.
const joints = "_/.-:"

// Breakable writes a name so that a line may end after a joint, and not within a word.
func Breakable(name string) template.HTML {
	var b strings.Builder
	for name != "" {
		end := strings.IndexAny(name, joints)
		if end < 0 {
			end = len(name)
		}
		for end < len(name) && strings.IndexByte(joints, name[end]) >= 0 {
			end++
		}
		b.WriteString(template.HTMLEscapeString(name[:end]))
		if name = name[end:]; name != "" {
			b.WriteString("<wbr>")
		}
	}
	return template.HTML(b.String()) // every part of it is escaped
}

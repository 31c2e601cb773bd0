// Package hiddentext finds characters that are invisible or look like something else, in texts that
// people decide on.
package hiddentext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxProse is the number of bytes of a reason or a note.
const MaxProse = 1000

// maxMarks is the number of combining marks on one letter: no script in use needs more, and higher
// stacks cover the lines above.
const maxMarks = 4

// blank are the characters that Unicode counts as letters, marks and symbols and that leave no ink:
// BRAILLE PATTERN BLANK, OBJECT REPLACEMENT CHARACTER, EGYPTIAN HIEROGLYPH FULL BLANK and HALF
// BLANK, KHITAN SMALL SCRIPT FILLER and MUSICAL SYMBOL NULL NOTEHEAD.
const blank = "\u2800\ufffc\U00013441\U00013442\U00016fe4\U0001d159"

// Error names a character of a text that is invisible, or looks like something else.
type Error struct {
	Rune         rune // [utf8.RuneError] with a Size of 1 for a byte that is not UTF-8
	Offset, Size int  // in bytes
	Problem      string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Rune == utf8.RuneError && e.Size == 1 {
		return fmt.Sprintf("byte %d %s", e.Offset, e.Problem)
	}
	return fmt.Sprintf("%U at byte %d %s", e.Rune, e.Offset, e.Problem)
}

// First returns the first character of a text that is invisible or looks like something else, or
// nil. It checks the names that people decide on: types, resources, parameters, clients and
// issuers. Letters, marks, numbers, punctuation, symbols and the space U+0020 are visible,
// except:
//
//   - characters that are not drawn by default (Unicode 15, PropList.txt,
//     Other_Default_Ignorable_Code_Point) and variation selectors (Variation_Selector), such as
//     the Hangul fillers, U+034F and U+FE0F;
//   - characters without ink, such as U+2800;
//   - U+FFFD, which replaces invalid text;
//   - a combining mark after a character that is no letter and no number, because it changes
//     that character ("/", or the frame around the text); and the fifth mark on one letter.
//
// Scripts that join letters by U+200D or U+200C must do without them in names.
func First(text string) *Error {
	bare, marks := true, 0 // whether no letter precedes; the number of marks on it
	for at, r := range text {
		if ' ' <= r && r <= '~' {
			bare, marks = !isDigitOrLetter(r), 0
			continue
		}
		problem := ""
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[at:], string(utf8.RuneError)):
			return &Error{r, at, 1, "is not UTF-8: write it in UTF-8"}
		case r == utf8.RuneError:
			problem = "replaces unreadable text: write the original text"
		case unseen(r):
			problem = "is invisible: remove it"
		case !unicode.IsMark(r):
			bare, marks = !unicode.IsLetter(r) && !unicode.IsNumber(r), 0
			continue
		case bare:
			problem = "is a combining mark without a letter: remove it"
		case marks == maxMarks:
			problem = "is one combining mark too many on a letter: remove it"
		default:
			marks++
			continue
		}
		return &Error{r, at, utf8.RuneLen(r), problem}
	}
	return nil
}

func isDigitOrLetter(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// unseen reports whether a character by itself is invisible or not assigned in Unicode.
func unseen(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) || strings.ContainsRune(blank, r)
}

// Prose returns an error for a reason or a note that keepers refuse: more than [MaxProse] bytes,
// or a character that is neither printable nor a line end. It allows more than [First], because
// scripts and emoji need invisible characters and no decision depends on the text. Escape what
// [First] finds when you show it.
func Prose(text string) error {
	if len(text) > MaxProse {
		return fmt.Errorf("%d bytes are more than %d: shorten the text", len(text), MaxProse)
	}
	for at, r := range text {
		switch {
		case r == utf8.RuneError, r == '\r' && !strings.HasPrefix(text[at:], "\r\n"), r != '\n' &&
			r != '\t' && r != '\r' && !unicode.IsPrint(r):
			return First(text[at:]).behind(at)
		}
	}
	return nil
}

// behind is the error in a text that has so many bytes more before it.
func (e *Error) behind(bytes int) *Error {
	e.Offset += bytes
	return e
}

// InJSON returns the first character that [First] finds in the strings and names of a JSON value,
// or nil.
func InJSON(value json.RawMessage) *Error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	for {
		switch token, err := d.Token(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return First(string(value))
		default:
			text, _ := token.(string)
			if hidden := First(text); hidden != nil {
				return hidden
			}
		}
	}
}

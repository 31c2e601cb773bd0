package redact

import "unicode/utf8"

// maxLooked bounds the text that TextWithin searches for secrets, in bytes.
const maxLooked = 4 << 10

// TextWithin masks the secrets in a text and cuts the result to at most n bytes. It masks before it
// cuts, because half a secret no longer looks like one.
func (m Masker) TextWithin(text string, n int) string {
	return Shorten(m.Text(Shorten(text, maxLooked)), n)
}

// Shorten cuts text to at most n bytes, at the edge of a character.
func Shorten[T string | []byte](text T, n int) T {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

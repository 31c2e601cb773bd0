package redact

import (
	"encoding/base64"
	"strings"
)

const (
	minText = 4 // bytes of the shortest of Masker.Texts that counts
	minCut  = 8 // bytes of one at the end of a text that was cut
	// headText are so many bytes of a text that each encoding has minCut bytes of them.
	headText = 12
)

// base64Letters are the characters of both alphabets of base64.
var base64Letters = set(func(c byte) bool { return letter[c] || c == '+' || c == '/' })

// encoder is hexadecimal or base64 behind so many bytes of a group of three.
type encoder struct {
	digits   string
	alphabet *base64.Encoding
	lead     int
}

var encoders = [...]encoder{
	{digits: "0123456789abcdef"}, {digits: "0123456789ABCDEF"},
	{alphabet: base64.RawStdEncoding}, {alphabet: base64.RawURLEncoding},
	{alphabet: base64.RawStdEncoding, lead: 1}, {alphabet: base64.RawURLEncoding, lead: 1},
	{alphabet: base64.RawStdEncoding, lead: 2}, {alphabet: base64.RawURLEncoding, lead: 2},
}

// append appends the characters that encode a text alone (RFC 4648, sections 4, 5 and 8).
func (e encoder) append(b []byte, text string) []byte {
	for i := 0; i < len(text) && e.alphabet == nil; i++ {
		b = append(b, e.digits[text[i]>>4], e.digits[text[i]&0xf])
	}
	if e.alphabet == nil {
		return b
	}
	const bits = 6 // of one character
	group := append(make([]byte, e.lead, 64), text...)
	b = e.alphabet.AppendEncode(b, group)
	return b[(e.lead*8+bits-1)/bits : len(group)*8/bits]
}

// places hides a text in s: as it is, as a query string without other escapes, and encoded together
// with other bytes. The scan of escaped text finds the escaped forms. Its time does not depend on
// the length of a text that is not in s: it then searches the beginnings of the encoded forms only.
func (t *scanner) places(text string) {
	if len(text) < minText {
		return
	}
	t.copies(text, false, false)
	if strings.Contains(text, " ") {
		t.copies(strings.ReplaceAll(text, " ", "+"), false, false)
	}
	var room [64]byte
	for _, e := range encoders {
		head := e.append(room[:0], text[:min(len(text), headText)])
		if strings.Contains(t.s, string(head[:min(len(head), minCut)])) {
			t.copies(string(e.append(nil, text)), e.lead > 0,
				e.alphabet != nil && (e.lead+len(text))%3 > 0)
		}
	}
}

// copies hides a form of a text in s, and one at the end of s that was cut. The characters of
// base64 before and behind it may have bits of the text too.
func (t *scanner) copies(form string, before, behind bool) {
	hide := func(from, to int) {
		if before && base64Letters[at(t.s, from-1)] {
			from--
		}
		if behind && base64Letters[at(t.s, to)] {
			to++
		}
		t.hide(from, to, Mask)
	}
	head := form[:min(minCut, len(form))]
	if t.sources != nil { // the escapes of one character may have minCut bytes
		head = form[:1]
	}
	if !strings.Contains(t.s, head) { // as most texts
		return
	}
	done := 0
	for i := strings.Index(t.s, form); i >= 0; i = strings.Index(t.s[done:], form) {
		hide(done+i, done+i+len(form))
		done += i + len(form)
	}
	for i := max(done, len(t.s)-len(form)+1); i < len(t.s); i++ {
		next := strings.Index(t.s[i:], head)
		if next < 0 || t.source(len(t.s))-t.source(i+next) < minCut {
			return
		}
		if i += next; strings.HasPrefix(form, t.s[i:]) {
			hide(i, len(t.s))
			return
		}
	}
}

// source is the position of s[i] in the text with escapes.
func (t *scanner) source(i int) int {
	if t.sources == nil {
		return i
	}
	return t.sources[i]
}

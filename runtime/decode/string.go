package decode

import (
	"encoding"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"
)

// string reads a string into r.str.
func (r *Reader) string() bool {
	if !r.begin(stringKind, "string") {
		return false
	}
	start := r.pos
	raw, escaped, f := r.lexer.text()
	if f != nil {
		r.fail(f)
		return false
	}
	if escaped {
		raw = unescape(raw)
	}
	r.literal, r.str = r.doc[start:r.pos], string(raw)
	return true
}

// String reads a string.
//
// It is not inlined: a copy for each string of a generated decoder slows down the compiler.
//
//go:noinline
func String[T ~string](r *Reader, v *T) *Text {
	if !r.string() {
		return nil
	}
	*v = T(r.str)
	return (*Text)(r)
}

// Bool reads true or false.
func Bool[T ~bool](r *Reader, v *T) *Truth {
	if r.fault != nil {
		return nil
	}
	k, f := r.kind()
	if f == nil && (k != literalKind || r.doc[r.pos] == 'n') {
		r.mismatch(k, "boolean")
		return nil
	}
	start := r.pos
	if f == nil {
		f = r.lexer.word()
	}
	if f != nil {
		r.fail(f)
		return nil
	}
	r.orNull = false
	r.literal = r.doc[start:r.pos]
	*v = r.literal[0] == 't'
	return (*Truth)(r)
}

// Truth is a boolean that has just been read, or nil for a value that was no boolean.
type Truth Reader

// OneOf requires one of the values of an enum.
func (t *Truth) OneOf(choices ...string) *Truth {
	if t == nil {
		return nil
	}
	for _, choice := range choices {
		if choice == string(t.literal) {
			return t
		}
	}
	(*Reader)(t).report(t.literal, SaysEnum(choices))
	return nil
}

// Bytes reads base64 of RFC 4648, section 4, with padding. Like encoding/json, it skips line
// breaks and ignores trailing bits.
func Bytes[S ~[]byte](r *Reader, v *S) *Text {
	if !r.string() {
		return nil
	}
	b, ok := Base64(r.str)
	if !ok {
		r.report(r.literal, SaysBase64)
	}
	*v = b
	return (*Text)(r)
}

// BytesOf is Bytes for elements of a named byte type.
func BytesOf[S ~[]E, E ~byte](r *Reader, v *S) *Text {
	var b []byte
	text := Bytes(r, &b)
	if text != nil {
		s := make(S, len(b))
		for i := range b {
			s[i] = E(b[i])
		}
		*v = s
	}
	return text
}

// Base64 decodes text with the contentEncoding base64 of a schema.
func Base64(text string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	return b, err == nil
}

// Time reads a time as in RFC 3339, section 5.6, without leap seconds.
func (r *Reader) Time(v *time.Time) *Text {
	if !r.string() {
		return nil
	}
	text := (*Text)(r)
	if !isDateTime(r.str) {
		return text.Format("date-time")
	}
	// time.Time knows neither t nor z.
	if err := v.UnmarshalText([]byte(strings.ToUpper(r.str))); err != nil {
		r.refused(err)
	}
	return text
}

// Unmarshal reads a string into a type with an UnmarshalText method.
func (r *Reader) Unmarshal(v encoding.TextUnmarshaler) *Text {
	if !r.string() {
		return nil
	}
	if err := v.UnmarshalText([]byte(r.str)); err != nil {
		r.refused(err)
	}
	return (*Text)(r)
}

// refused notes the error of a type's own method, unless it could repeat a secret.
func (r *Reader) refused(err error) {
	r.report(r.literal, r.saysRefused(err))
}

func (r *Reader) saysRefused(err error) string {
	if SecretPointer(r.pointer()) {
		return SaysRefused
	}
	return SaysRefused + ": " + Show(err.Error())
}

// Text is a string that has just been read. Its methods report violations of a schema's limits.
// On nil, for a value that was no string, they do nothing. All return the Text, so that calls can
// be chained.
type Text Reader

// MinLength requires at least n characters, which are code points.
func (t *Text) MinLength(n int) *Text {
	if t != nil && len(t.str) < n*utf8.UTFMax {
		if got := utf8.RuneCountInString(t.str); got < n {
			t.says(SaysCount(got, "character", "fewer", "minimum", n))
		}
	}
	return t
}

// MaxLength allows at most n characters.
func (t *Text) MaxLength(n int) *Text {
	if t != nil && len(t.str) > n {
		if got := utf8.RuneCountInString(t.str); got > n {
			t.says(SaysCount(got, "character", "more", "maximum", n))
		}
	}
	return t
}

// Match requires a match of a regular expression anywhere in the text. The expression is compiled
// at its first use.
func (t *Text) Match(expr string) *Text {
	if t != nil && !patternOf(expr).match(t.str) {
		t.says("does not match the pattern " + expr)
	}
	return t
}

// Format requires a format of [Formats].
func (t *Text) Format(name string) *Text {
	if t != nil && !formats[name].is(t.str) {
		t.says(SaysFormat(name))
	}
	return t
}

// OneOf requires one of the values of an enum. Problems with other limits are then left out.
func (t *Text) OneOf(choices ...string) *Text {
	if t == nil {
		return nil
	}
	if t.choices != nil {
		choices = t.choices.narrow((*Reader)(t), choices)
	}
	for _, choice := range choices {
		if choice == t.str {
			return t
		}
	}
	t.says(SaysEnum(quoteAll(choices)))
	return nil
}

func (t *Text) says(says string) { (*Reader)(t).report(t.literal, says) }

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return quoted
}

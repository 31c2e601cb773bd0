package decode

import (
	"encoding"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/format"
	"github.com/mcpgen/mcpgen/runtime/decode/internal/regex"
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
	if slices.Contains(choices, string(t.literal)) {
		return t
	}
	(*Reader)(t).report(t.literal, EnumMessage(choices))
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
		r.report(r.literal, Base64Message)
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

// Formats returns the names of the asserted formats, sorted.
func Formats() []string { return format.Names() }

// IsFormat reports whether a text has a format of [Formats]. The schema validator calls it too,
// so that both decoders accept the same values.
func IsFormat(name, text string) bool { return format.Is(name, text) }

// Time reads a time as in RFC 3339, section 5.6, without leap seconds.
func (r *Reader) Time(v *time.Time) *Text {
	if !r.string() {
		return nil
	}
	text := (*Text)(r)
	if !format.IsDateTime(r.str) {
		return text.Format("date-time")
	}
	// time.Time accepts neither t nor z.
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

// refused reports the error of a type's own method, unless it could repeat a secret.
func (r *Reader) refused(err error) {
	r.report(r.literal, r.describeRefused(err))
}

func (r *Reader) describeRefused(err error) string {
	if SecretPointer(r.pointer()) {
		return RefusedMessage
	}
	return RefusedMessage + ": " + Show(err.Error())
}

// Text is a string that has just been read. Its methods report violations of a schema's limits.
// On nil, for a value that was no string, they do nothing. All return the Text, so that calls can
// be chained.
type Text Reader

// MinLength requires at least n characters, which are code points.
func (t *Text) MinLength(n int) *Text {
	if t != nil && len(t.str) < n*utf8.UTFMax {
		if got := utf8.RuneCountInString(t.str); got < n {
			t.report(CountMessage(got, "character", "fewer", "minimum", n))
		}
	}
	return t
}

// MaxLength allows at most n characters.
func (t *Text) MaxLength(n int) *Text {
	if t != nil && len(t.str) > n {
		if got := utf8.RuneCountInString(t.str); got > n {
			t.report(CountMessage(got, "character", "more", "maximum", n))
		}
	}
	return t
}

// Match requires a match of a regular expression anywhere in the text. The expression is compiled
// at its first use.
func (t *Text) Match(expr string) *Text {
	if t != nil && !regex.Match(expr, t.str) {
		t.report("does not match the pattern " + expr)
	}
	return t
}

// Format requires a format of [Formats].
func (t *Text) Format(name string) *Text {
	if t != nil && !format.Is(name, t.str) {
		t.report(FormatMessage(name))
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
	if slices.Contains(choices, t.str) {
		return t
	}
	t.report(EnumMessage(quoteAll(choices)))
	return nil
}

func (t *Text) report(message string) { (*Reader)(t).report(t.literal, message) }

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return quoted
}

// The string option of a json tag puts a number or a boolean into a string. The functions below
// check the schema's pattern for it themselves: no text that it refuses becomes a value.

// QuotedInt reads an integer in a string.
func QuotedInt[T Signed](r *Reader, v *T, form string) *Text {
	if r.quoted(form) {
		bits := width[T]()
		n, err := strconv.ParseInt(r.str, 10, bits)
		if err != nil {
			r.report([]byte(r.str), RangeMessage(bits, true))
		}
		*v = T(n)
	}
	return r.asText()
}

// QuotedUint is QuotedInt for types without a sign.
func QuotedUint[T Unsigned](r *Reader, v *T, form string) *Text {
	if r.quoted(form) {
		bits := width[T]()
		n, err := strconv.ParseUint(r.str, 10, bits)
		if err != nil {
			r.report([]byte(r.str), RangeMessage(bits, false))
		}
		*v = T(n)
	}
	return r.asText()
}

// QuotedFloat is QuotedInt for floating-point numbers.
func QuotedFloat[T Real](r *Reader, v *T, form string) *Text {
	if r.quoted(form) {
		bits := floatBits[T]()
		f, err := strconv.ParseFloat(r.str, bits)
		if err != nil {
			r.report([]byte(r.str), FloatRangeMessage(bits))
		}
		*v = T(f)
	}
	return r.asText()
}

// QuotedBool reads true or false in a string.
func QuotedBool[T ~bool](r *Reader, v *T) *Text {
	r.literal = nil
	if !r.string() {
		return nil
	}
	*v = r.str == "true"
	return (*Text)(r).OneOf("true", "false")
}

// quoted reads a string and reports whether it has the form. asText returns it for further limits.
func (r *Reader) quoted(form string) bool {
	r.literal = nil
	if !r.string() {
		return false
	}
	if !regex.Match(form, r.str) {
		(*Text)(r).Match(form)
		return false
	}
	return true
}

func (r *Reader) asText() *Text {
	if r.literal == nil {
		return nil
	}
	return (*Text)(r)
}

// width returns the number of bits of an integer type.
func width[T Signed | Unsigned]() int {
	bits := 0
	for one := T(1); one != 0; one <<= 1 {
		bits++
	}
	return bits
}

// floatBits returns the number of bits of a floating-point type.
func floatBits[T Real]() int {
	if odd := float64(1<<24 + 1); float64(T(odd)) != odd {
		return 32
	}
	return 64
}

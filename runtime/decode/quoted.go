package decode

import "strconv"

// The string option of a json tag puts a number or a boolean into a string. What such a string
// must look like is the schema's pattern, which the funcs here ask for themselves: no text that it
// refuses becomes a value.

// QuotedInt reads an integer in a string.
func QuotedInt[T Signed](r *Reader, v *T, form string) *Text {
	if !r.quoted(form) {
		return r.asText()
	}
	bits := width[T]()
	n, err := strconv.ParseInt(r.str, 10, bits)
	if err != nil {
		r.report([]byte(r.str), SaysRange(bits, true))
	}
	*v = T(n)
	return r.asText()
}

// QuotedUint is QuotedInt for types without a sign.
func QuotedUint[T Unsigned](r *Reader, v *T, form string) *Text {
	if !r.quoted(form) {
		return r.asText()
	}
	bits := width[T]()
	n, err := strconv.ParseUint(r.str, 10, bits)
	if err != nil {
		r.report([]byte(r.str), SaysRange(bits, false))
	}
	*v = T(n)
	return r.asText()
}

// QuotedFloat is QuotedInt for floating-point numbers.
func QuotedFloat[T Real](r *Reader, v *T, form string) *Text {
	if !r.quoted(form) {
		return r.asText()
	}
	bits := floatBits[T]()
	f, err := strconv.ParseFloat(r.str, bits)
	if err != nil {
		r.report([]byte(r.str), SaysFloatRange(bits))
	}
	*v = T(f)
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

// quoted reads a string and reports whether it has the form. asText is what there is of it for
// further limits.
func (r *Reader) quoted(form string) bool {
	r.literal = nil
	if !r.string() {
		return false
	}
	if !patternOf(form).match(r.str) {
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

// width is how many bits an integer type has.
func width[T Signed | Unsigned]() int {
	bits := 0
	for one := T(1); one != 0; one <<= 1 {
		bits++
	}
	return bits
}

// floatBits is how many bits a floating-point type has.
func floatBits[T Real]() int {
	if odd := float64(1<<24 + 1); float64(T(odd)) != odd {
		return 32
	}
	return 64
}

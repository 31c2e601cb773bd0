package decode

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/decimal"
)

// Signed is the constraint of signed integers.
type Signed interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// Unsigned is the constraint of unsigned integers.
type Unsigned interface {
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Real is the constraint of floating-point numbers.
type Real interface{ ~float32 | ~float64 }

// numeral reads a number's text.
func (r *Reader) numeral(expected string) bool {
	if !r.begin(numberKind, expected) {
		return false
	}
	literal, f := r.lexer.number()
	if f != nil {
		r.fail(f)
		return false
	}
	r.literal = literal
	return true
}

// whole reads an integer, which JSON Schema accepts in any notation: 1.0, 1e2 and -0 are integers.
// simple is its text as Go writes integers.
func (r *Reader) whole() (simple []byte, ok bool) {
	orNull := r.orNull
	if !r.numeral("integer") {
		return nil, false
	}
	for i, c := range r.literal {
		if c == '.' || c == 'e' || c == 'E' || c == '-' && len(r.literal) == 2 && r.literal[i+1] == '0' {
			d := decimal.Parse(r.literal)
			if !d.IsInteger() {
				expected := []string{"integer", "null"}
				if !orNull {
					expected = expected[:1]
				}
				r.report(r.literal, TypeMessage("number", expected...))
				return nil, false
			}
			return d.Integer(), true
		}
	}
	return r.literal, true
}

// Int reads an integer between least and most, which are the limits of the schema or of the Go
// type. An int may have 32 bits: a value that it cannot hold is a problem.
func Int[T Signed](r *Reader, v *T, least, most int64) *Number {
	text, ok := r.whole()
	if !ok {
		return nil
	}
	n, ok := r.signed(text, least, most)
	if *v = T(n); ok && int64(*v) != n {
		r.report(r.literal, RangeMessage(32, true))
	}
	return (*Number)(r)
}

// signed reports whether a number is within its limits.
func (r *Reader) signed(text []byte, least, most int64) (int64, bool) {
	n, ok := shortInt(text)
	if !ok {
		var err error
		if n, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			// An int64 cannot hold it, so it is beyond every limit. The schema does not have the
			// limits of int64 itself: the message is then about the Go type.
			switch negative := text[0] == '-'; {
			case negative && least == math.MinInt64, !negative && most == math.MaxInt64:
				r.report(r.literal, RangeMessage(64, true))
			case negative:
				r.tooSmall(strconv.FormatInt(least, 10))
			default:
				r.tooLarge(strconv.FormatInt(most, 10))
			}
			return 0, false
		}
	}
	if n < least {
		return 0, r.tooSmall(strconv.FormatInt(least, 10))
	}
	if n > most {
		return 0, r.tooLarge(strconv.FormatInt(most, 10))
	}
	return n, true
}

// shortInt reads up to 18 digits, which cannot overflow.
func shortInt(text []byte) (n int64, ok bool) {
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// Uint reads an integer from least to most, as Int does.
func Uint[T Unsigned](r *Reader, v *T, least, most uint64) *Number {
	text, ok := r.whole()
	if !ok {
		return nil
	}
	n, ok := r.unsigned(text, least, most)
	if *v = T(n); ok && uint64(*v) != n {
		r.report(r.literal, RangeMessage(32, false))
	}
	return (*Number)(r)
}

func (r *Reader) unsigned(text []byte, least, most uint64) (uint64, bool) {
	if text[0] == '-' {
		return 0, r.tooSmall(strconv.FormatUint(least, 10))
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil && most == math.MaxUint64 { // a limit that the schema does not have
		r.report(r.literal, RangeMessage(64, false))
		return 0, false
	}
	if err != nil || n > most {
		return 0, r.tooLarge(strconv.FormatUint(most, 10))
	}
	if n < least {
		return 0, r.tooSmall(strconv.FormatUint(least, 10))
	}
	return n, true
}

func (r *Reader) tooSmall(least string) bool {
	r.report(r.literal, "is less than the minimum "+least)
	return false
}

func (r *Reader) tooLarge(most string) bool {
	r.report(r.literal, "is more than the maximum "+most)
	return false
}

// Float reads a number.
func Float[T Real](r *Reader, v *T) *Number {
	if !r.numeral("number") {
		return nil
	}
	bits := floatBits[T]()
	f, err := strconv.ParseFloat(string(r.literal), bits)
	if err != nil {
		r.report(r.literal, FloatRangeMessage(bits))
	} else {
		*v = T(f)
	}
	return (*Number)(r)
}

// Numeral reads a number as its text.
func (r *Reader) Numeral(v *json.Number) *Number {
	if !r.numeral("number") {
		return nil
	}
	*v = json.Number(r.literal)
	return (*Number)(r)
}

// BigInt reads an integer of any size that the limits of a document allow.
func (r *Reader) BigInt(v *big.Int) *Number {
	text, ok := r.whole()
	if !ok {
		return nil
	}
	v.SetString(string(text), 10)
	return (*Number)(r)
}

// Number is a number that has just been read. Its methods report violations of a schema's limits
// by the text of the number, so that rounding to a float64 hides none. Limits are JSON numbers.
// On nil, for a value that was no such number, the methods do nothing. All return the Number.
type Number Reader

func (n *Number) check(limit string, refused func(c int) bool, message string) *Number {
	if n == nil {
		return nil
	}
	if refused(decimal.Compare(n.literal, limit)) {
		(*Reader)(n).report(n.literal, message+limit)
	}
	return n
}

// Minimum requires at least limit.
//
// It is not inlined, nor are the methods below: each copy would add a func literal to a generated
// decoder.
//
//go:noinline
func (n *Number) Minimum(limit string) *Number {
	return n.check(limit, func(c int) bool { return c < 0 }, "is less than the minimum ")
}

// Maximum requires at most limit.
//
//go:noinline
func (n *Number) Maximum(limit string) *Number {
	return n.check(limit, func(c int) bool { return c > 0 }, "is more than the maximum ")
}

// Above requires more than limit.
//
//go:noinline
func (n *Number) Above(limit string) *Number {
	return n.check(limit, func(c int) bool { return c <= 0 }, "is not more than ")
}

// Below requires less than limit.
//
//go:noinline
func (n *Number) Below(limit string) *Number {
	return n.check(limit, func(c int) bool { return c >= 0 }, "is not less than ")
}

// MultipleOf requires a multiple of limit.
func (n *Number) MultipleOf(limit string) *Number {
	if n != nil && !decimal.Multiple(n.literal, limit) {
		(*Reader)(n).report(n.literal, "is not a multiple of "+limit)
	}
	return n
}

// OneOf requires one of the values of an enum, in any notation.
func (n *Number) OneOf(choices ...string) *Number {
	if n == nil {
		return nil
	}
	d := decimal.Parse(n.literal)
	for _, choice := range choices {
		if d.Compare(decimal.Parse([]byte(choice))) == 0 {
			return n
		}
	}
	(*Reader)(n).report(n.literal, EnumMessage(choices))
	return n
}

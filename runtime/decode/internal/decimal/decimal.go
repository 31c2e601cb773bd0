// Package decimal compares and writes JSON numbers exactly.
package decimal

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// Decimal is the exact value of a JSON number: 0.digits × 10^point. Zero has no digits and is not
// negative. Comparing decimals takes no arithmetic, however large the exponent is.
type Decimal struct {
	negative bool
	digits   []byte // without zeros at either end
	point    int
}

// Parse reads a valid number. Exponents beyond the limits count as infinite.
func Parse(number []byte) Decimal { return parse(number, make([]byte, 0, 24)) }

// parse is Parse with a buffer for the digits.
func parse(number, room []byte) Decimal {
	d := Decimal{digits: room}
	if number[0] == '-' {
		d.negative = true
		number = number[1:]
	}
	mantissa := number
	if i := bytes.IndexAny(number, "eE"); i >= 0 {
		d.point, _ = strconv.Atoi(string(number[i+1:]))
		mantissa = number[:i]
	}
	whole := true
	for _, c := range mantissa {
		switch {
		case c == '.':
			whole = false
			continue
		case c != '0' || len(d.digits) > 0:
			d.digits = append(d.digits, c)
			if whole {
				d.point++
			}
		case !whole:
			d.point--
		}
	}
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		return Decimal{}
	}
	return d
}

// Compare compares two numbers as JSON writes them.
func Compare(number []byte, with string) int {
	if a, m, ok := short(number); ok {
		if b, n, ok := short(with); ok {
			return cmp.Compare(a*powers[n], b*powers[m])
		}
	}
	var room, rooms [32]byte
	return parse(number, room[:0]).Compare(parse([]byte(with), rooms[:0]))
}

// short reads a number of up to nine digits without an exponent as n/10^scale. Two of
// them are brought to one scale without overflow.
func short[T string | []byte](number T) (n int64, scale int, ok bool) {
	if len(number) > 9 {
		return 0, 0, false
	}
	for i := range len(number) {
		switch c := number[i]; {
		case '0' <= c && c <= '9':
			n = n*10 + int64(c-'0')
		case c == '.':
			scale = len(number) - 1 - i
		case c != '-':
			return 0, 0, false
		}
	}
	if number[0] == '-' {
		n = -n
	}
	return n, scale, true
}

var powers = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// Compare returns a negative, zero or positive number if d is below, equal to or above e.
func (d Decimal) Compare(e Decimal) int {
	switch {
	case d.negative != e.negative:
		if d.negative {
			return -1
		}
		return 1
	case d.negative:
		return e.magnitude(d)
	}
	return d.magnitude(e)
}

// magnitude compares without the sign.
func (d Decimal) magnitude(e Decimal) int {
	switch {
	case len(d.digits) == 0 || len(e.digits) == 0:
		return len(d.digits) - len(e.digits)
	case d.point != e.point:
		return d.point - e.point
	}
	return bytes.Compare(d.digits, e.digits)
}

// IsInteger reports whether there is no fraction, however the number is written.
func (d Decimal) IsInteger() bool { return d.point >= len(d.digits) }

// Integer writes the digits of an integer.
func (d Decimal) Integer() []byte {
	if len(d.digits) == 0 {
		return []byte{'0'}
	}
	text := make([]byte, 0, d.point+1)
	if d.negative {
		text = append(text, '-')
	}
	text = append(text, d.digits...)
	for range d.point - len(d.digits) {
		text = append(text, '0')
	}
	return text
}

// Append appends the same form for equal numbers.
func (d Decimal) Append(to []byte) []byte {
	if d.negative {
		to = append(to, '-')
	}
	return strconv.AppendInt(append(append(to, d.digits...), 'e'), int64(d.point), 10)
}

// Multiple reports whether a number is of the form n × of.
func Multiple(number []byte, of string) bool {
	n, err := strconv.ParseInt(string(number), 10, 64)
	if m, errOf := strconv.ParseInt(of, 10, 64); err == nil && errOf == nil && m > 0 {
		return n%m == 0
	}
	x, ok := new(big.Rat).SetString(string(number))
	y, okOf := new(big.Rat).SetString(of)
	return ok && okOf && y.Sign() != 0 && x.Quo(x, y).IsInt()
}

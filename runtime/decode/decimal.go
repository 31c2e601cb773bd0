package decode

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// decimal is the exact value of a JSON number: 0.digits × 10^point. Zero has no digits and is not
// negative. Comparing decimals takes no arithmetic, however large the exponent is.
type decimal struct {
	negative bool
	digits   []byte // without zeros at either end
	point    int
}

// parseDecimal reads a number that the lexer has found sound. Exponents beyond the limits are
// as good as infinite.
func parseDecimal(number []byte) decimal { return readDecimal(number, make([]byte, 0, 24)) }

// readDecimal is parseDecimal with room for the digits given.
func readDecimal(number, room []byte) decimal {
	d := decimal{digits: room}
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
		return decimal{}
	}
	return d
}

// compareNumbers compares two numbers as JSON writes them.
func compareNumbers(number []byte, with string) int {
	if a, m, ok := shortDecimal(number); ok {
		if b, n, ok := shortDecimal(with); ok {
			return cmp.Compare(a*powers[n], b*powers[m])
		}
	}
	var room, rooms [32]byte
	return readDecimal(number, room[:0]).compare(readDecimal([]byte(with), rooms[:0]))
}

// shortDecimal reads a number of up to nine digits without an exponent as n/10^scale. Two of
// them are brought to one scale without overflow.
func shortDecimal[T string | []byte](number T) (n int64, scale int, ok bool) {
	if len(number) > 9 {
		return 0, 0, false
	}
	for i := range len(number) {
		switch c := number[i]; {
		case isDigit(c):
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

// compare is negative, zero or positive as d is below, equal to or above e.
func (d decimal) compare(e decimal) int {
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

// magnitude compares without regard to the sign.
func (d decimal) magnitude(e decimal) int {
	switch {
	case len(d.digits) == 0 || len(e.digits) == 0:
		return len(d.digits) - len(e.digits)
	case d.point != e.point:
		return d.point - e.point
	}
	return bytes.Compare(d.digits, e.digits)
}

// isInteger reports whether there is no fraction, however the number is written.
func (d decimal) isInteger() bool { return d.point >= len(d.digits) }

// integer writes the digits of an integer.
func (d decimal) integer() []byte {
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

// append writes a form that equal numbers have in common.
func (d decimal) append(to []byte) []byte {
	if d.negative {
		to = append(to, '-')
	}
	return strconv.AppendInt(append(append(to, d.digits...), 'e'), int64(d.point), 10)
}

// multiple reports whether a number is of the form n × of.
func multiple(number []byte, of string) bool {
	n, err := strconv.ParseInt(string(number), 10, 64)
	if m, errOf := strconv.ParseInt(of, 10, 64); err == nil && errOf == nil && m > 0 {
		return n%m == 0
	}
	x, ok := new(big.Rat).SetString(string(number))
	y, okOf := new(big.Rat).SetString(of)
	return ok && okOf && y.Sign() != 0 && x.Quo(x, y).IsInt()
}

package validator

import (
	"strconv"
	"strings"
)

// canonicalInteger writes a JSON number the way Go's integers are written: 1.0, 10e-1 and -0 are 1,
// 1 and 0. JSON Schema counts them as integers, encoding/json does not. It is false for a number
// with a fraction. The exponent has been bounded by decode.Scan.
func canonicalInteger(number string) (string, bool) {
	mantissa, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(mantissa[i+1:])
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	if digits == "" {
		return "0", true
	}
	if exponent < 0 {
		significant := strings.TrimRight(digits, "0")
		if len(digits)-len(significant) < -exponent {
			return "", false
		}
		digits = digits[:len(digits)+exponent]
	} else {
		digits += strings.Repeat("0", exponent)
	}
	if negative {
		return "-" + digits, true
	}
	return digits, true
}

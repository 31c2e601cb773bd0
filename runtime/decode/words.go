package decode

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// The words of problems. Package validator says the same, however a decoder is made.

// shownChoices bounds how many values of an enum a message lists.
const shownChoices = 20

// SaysEnum describes an enum, whose values are given as JSON text.
func SaysEnum(choices []string) string {
	shown := make([]string, len(choices))
	for i, choice := range choices {
		shown[i] = Show(choice)
	}
	switch {
	case len(shown) == 1:
		return "is not " + shown[0]
	case len(shown) > shownChoices:
		return fmt.Sprintf("is not one of %s and %d more", strings.Join(shown[:shownChoices], ", "), len(shown)-shownChoices)
	}
	return "is not one of " + strings.Join(shown, ", ")
}

// SaysCount describes a length beyond a limit: "has 1 item, fewer than the minimum 2". The
// comparison is "fewer" with the bound "minimum", or "more" with "maximum".
func SaysCount(got int, unit, comparison, bound string, want int) string {
	return fmt.Sprintf("has %s, %s than the %s %d", Count(got, unit), comparison, bound, want)
}

// Count returns a number with its unit: "1 item", "2 properties".
func Count(n int, unit string) string {
	switch {
	case n == 1:
		return "1 " + unit
	case unit == "property":
		unit = "propertie"
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// SaysFormat describes a format of JSON Schema.
func SaysFormat(name string) string {
	switch example := formats[name].example; {
	case example != "":
		return "is not a valid " + name + ", for example " + example
	case name == "regex":
		return "is not a valid regular expression (RE2 syntax, at most 4096 bytes)"
	}
	return "is not a valid " + name
}

// SaysType describes the type of a value and the allowed ones, named as in JSON Schema: "is null,
// expected a string or an integer".
func SaysType(is string, want ...string) string {
	if is == "number" && len(want) == 1 && want[0] == "integer" {
		return "is not an integer"
	}
	var b strings.Builder
	b.WriteString("is " + withArticle(is) + ", expected ")
	var names []string
	for _, t := range want {
		if !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	for i, t := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(withArticle(t))
	}
	return b.String()
}

func withArticle(jsonType string) string {
	switch jsonType {
	case "null":
		return jsonType
	case "integer", "array", "object":
		return "an " + jsonType
	}
	return "a " + jsonType
}

// SaysUnknown describes an unknown property, and suggests a known one with a similar name.
func SaysUnknown(name string, known iter.Seq[string]) string {
	const tooLong = 64 // no property to suggest, and costly to compare
	if len(name) > tooLong {
		return "unknown property"
	}
	best, distance := "", len(name)/3+1
	lower := []rune(strings.ToLower(name))
	for other := range known {
		d := editDistance(lower, []rune(strings.ToLower(other)))
		if d < distance || d == distance && other < best {
			best, distance = other, d
		}
	}
	if best == "" {
		return "unknown property"
	}
	return "unknown property, did you mean " + Show(quote(best)) + "?"
}

// editDistance counts the runes to insert, delete or replace between two names.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Messages for values that a Go type cannot hold although its schema may allow them, and for
// null.
const (
	SaysBase64   = "is not base64 (RFC 4648, standard alphabet, with padding)"
	SaysRefused  = "cannot be decoded"
	SaysBadIndex = "has a name that is not an integer in range"
	SaysBadName  = "has a name that "
	SaysSameKey  = "has two names that decode to the same key"
	SaysLeaveOut = ": omit it instead" // of null for a property that may be absent
)

// Messages for objects that must have the properties of one of several groups.
const (
	SaysNoForm    = "matches none of the schemas that are allowed"
	SaysManyForms = "matches more than one schema, but must match exactly one"
)

// SaysRange describes the range of an integer type of Go with a width in bits.
func SaysRange(bits int, signed bool) string {
	if !signed {
		return fmt.Sprintf("is beyond the range 0 to %d", ^uint64(0)>>(64-bits))
	}
	high := int64(^uint64(0) >> (65 - bits))
	return fmt.Sprintf("is beyond the range %d to %d", -high-1, high)
}

// SaysFloatRange describes the width of a floating-point type of Go.
func SaysFloatRange(bits int) string {
	return fmt.Sprintf("is beyond the range of a %d-bit number", bits)
}

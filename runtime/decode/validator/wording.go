package validator

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// says is what is wrong with a value, in words that follow it: "is more than the maximum 4094".
func says(v *jsonschema.ValidationError, got any) string {
	switch k := v.ErrorKind.(type) {
	case *kind.Type:
		return saysType(got, k.Want)
	case *kind.Enum:
		return saysEnum(k.Want)
	case *kind.Const:
		return saysEnum([]any{k.Want})
	case *kind.Format:
		return saysFormat(k.Want)
	case *kind.Minimum:
		return "is less than the minimum " + number(k.Want)
	case *kind.Maximum:
		return "is more than the maximum " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "is not more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "is not less than " + number(k.Want)
	case *kind.MultipleOf:
		return "is not a multiple of " + number(k.Want)
	case *kind.MinLength:
		return saysCount(k.Got, "character", "fewer", "minimum", k.Want)
	case *kind.MaxLength:
		return saysCount(k.Got, "character", "more", "maximum", k.Want)
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.MinItems:
		return saysCount(k.Got, "item", "fewer", "minimum", k.Want)
	case *kind.MaxItems:
		return saysCount(k.Got, "item", "more", "maximum", k.Want)
	case *kind.MinProperties:
		return saysCount(k.Got, "property", "fewer", "minimum", k.Want)
	case *kind.MaxProperties:
		return saysCount(k.Got, "property", "more", "maximum", k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal items at %d and %d, which must differ", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "has no item of the kind that it must contain"
	case *kind.MinContains:
		return fmt.Sprintf("has %s of the kind that it must contain, fewer than the minimum %d", count(len(k.Got), "item"), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("has %s of a kind that it may contain, more than the maximum %d", count(len(k.Got), "item"), k.Want)
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Not:
		return "is what the schema rules out"
	}
	return "is not what the schema allows"
}

// saysType tells the type of a value and the wanted ones. Both are in words of JSON Schema.
func saysType(got any, want []string) string {
	wanted := make([]string, len(want))
	for i, t := range want {
		wanted[i] = withArticle(t)
	}
	is := ""
	switch got.(type) {
	case nil:
		is = "null"
	case bool:
		is = "a boolean"
	case json.Number:
		if len(want) == 1 && want[0] == "integer" {
			return "is not an integer"
		}
		is = "a number"
	case string:
		is = "a string"
	case []any:
		is = "an array"
	case map[string]any:
		is = "an object"
	}
	return "is " + is + ", expected " + oneOf(wanted)
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

// shownChoices bounds how many values of an enum a message lists.
const shownChoices = 20

func saysEnum(want []any) string {
	var choices []string
	for _, v := range want {
		if choice, err := text(v); err == nil {
			choices = append(choices, decode.Show(string(choice)))
		}
	}
	switch {
	case len(choices) == 1:
		return "is not " + choices[0]
	case len(choices) > shownChoices:
		more := len(choices) - shownChoices
		return fmt.Sprintf("is not one of %s and %d more", strings.Join(choices[:shownChoices], ", "), more)
	}
	return "is not one of " + strings.Join(choices, ", ")
}

func saysFormat(format string) string {
	switch example := formatExamples[format]; {
	case example != "":
		return "is not a valid " + format + ", as in " + example
	case format == "regex":
		return "is not a valid regular expression (RE2 syntax)"
	}
	return "is not a valid " + format
}

func saysCount(got int, unit, comparison, bound string, want int) string {
	return fmt.Sprintf("has %s, %s than the %s %d", count(got, unit), comparison, bound, want)
}

func count(n int, unit string) string {
	switch {
	case n == 1:
		return "1 " + unit
	case unit == "property":
		unit = "propertie"
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

// saysIntegerRange tells the range of a Go integer type, which a schema may have left open.
func saysIntegerRange(t reflect.Type) string {
	bits := uint(t.Bits())
	if isUnsigned(t) {
		return fmt.Sprintf("is beyond the range 0 to %d", ^uint64(0)>>(64-bits))
	}
	high := int64(^uint64(0) >> (65 - bits))
	return fmt.Sprintf("is beyond the range %d to %d", -high-1, high)
}

// number is a limit of the schema in the shortest exact writing, or the nearest float64.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

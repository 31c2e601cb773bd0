package validator

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// describe returns a message that follows the value: "is more than the maximum 4094".
func describe(v *jsonschema.ValidationError, got any) string {
	switch k := v.ErrorKind.(type) {
	case *kind.Type:
		return describeType(got, k.Want)
	case *kind.Enum:
		return describeEnum(k.Want)
	case *kind.Const:
		return describeEnum([]any{k.Want})
	case *kind.Format:
		return decode.FormatMessage(k.Want)
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
		return decode.CountMessage(k.Got, "character", "fewer", "minimum", k.Want)
	case *kind.MaxLength:
		return decode.CountMessage(k.Got, "character", "more", "maximum", k.Want)
	case *kind.Pattern:
		return "does not match the pattern " + k.Want
	case *kind.MinItems:
		return decode.CountMessage(k.Got, "item", "fewer", "minimum", k.Want)
	case *kind.MaxItems:
		return decode.CountMessage(k.Got, "item", "more", "maximum", k.Want)
	case *kind.MinProperties:
		return decode.CountMessage(k.Got, "property", "fewer", "minimum", k.Want)
	case *kind.MaxProperties:
		return decode.CountMessage(k.Got, "property", "more", "maximum", k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("has equal items at %d and %d, which must differ",
			k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "has no item that matches contains"
	case *kind.MinContains:
		return fmt.Sprintf("has %s that match contains, fewer than the minimum %d",
			decode.Count(len(k.Got), "item"), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("has %s that match contains, more than the maximum %d",
			decode.Count(len(k.Got), "item"), k.Want)
	case *kind.FalseSchema:
		return "is not allowed here"
	case *kind.Not:
		return "matches a schema that is not allowed"
	}
	return "does not match the schema"
}

// describeType describes the type of a value and the allowed ones.
func describeType(got any, want []string) string {
	is := "null"
	switch got.(type) {
	case bool:
		is = "boolean"
	case json.Number:
		is = "number"
	case string:
		is = "string"
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	}
	return decode.TypeMessage(is, want...)
}

func describeEnum(want []any) string {
	var choices []string
	for _, v := range want {
		if choice, err := text(v); err == nil {
			choices = append(choices, string(choice))
		}
	}
	return decode.EnumMessage(choices)
}

// number returns a limit of the schema in the shortest exact notation, or the nearest float64.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

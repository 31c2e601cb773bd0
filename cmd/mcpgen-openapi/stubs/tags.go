package stubs

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// tagName is what a json tag can name.
var tagName = regexp.MustCompile(`^[A-Za-z0-9_$@+:/.-]{1,100}$`)

// tag is one element of a jsonschema tag, or nothing if no tag can hold the value.
func tag(name, value string) []string {
	if extension.Visible(value) != value || strings.HasSuffix(value, `\`) {
		return nil
	}
	return []string{name + "=" + strings.ReplaceAll(value, ",", `\,`)}
}

// formats are those that the decoder of a tool knows.
var formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time",
	"uri", "uri-reference", "uuid"}

func (w *writer) textTags(s *openapi3.Schema) (tags []string) {
	if len(s.Enum) > 0 || s.Const != nil {
		return enumTags(s, func(value any) (string, bool) {
			text, ok := value.(string)
			return text, ok
		})
	}
	if slices.Contains(formats, s.Format) {
		tags = append(tags, "format="+s.Format)
	}
	tags = append(tags, countTags("Length", s.MinLength, s.MaxLength)...)
	common := extension.Pattern(s.Pattern)
	pattern := tag("pattern", common)
	switch {
	case s.Pattern == "":
		return tags
	case common == "" || len(pattern) == 0:
		w.note("left out a pattern that Go and JavaScript do not read alike: %+q", s.Pattern)
		return tags
	case common != s.Pattern:
		w.note("wrote the pattern %+q as %+q", s.Pattern, common)
	}
	return append(tags, pattern...)
}

// enumTags are the values of an enum, or none if a value has another type.
func enumTags(s *openapi3.Schema, text func(any) (string, bool)) (tags []string) {
	list := s.Enum
	if s.Const != nil {
		list = []any{s.Const}
	}
	known := map[string]bool{}
	for _, value := range list {
		if value == nil {
			continue
		}
		written, ok := text(value)
		one := tag("enum", written)
		if !ok || len(one) == 0 {
			return nil
		}
		if !known[one[0]] {
			known[one[0]] = true
			tags = append(tags, one[0])
		}
	}
	return tags
}

// exact is the largest number that all clients keep.
const exact = 1<<53 - 1

func countTags(what string, least uint64, most *uint64) (tags []string) {
	if most != nil && least > *most {
		return nil
	}
	if least > 0 && least <= exact {
		tags = append(tags, fmt.Sprintf("min%s=%d", what, least))
	}
	if most != nil && *most <= exact {
		tags = append(tags, fmt.Sprintf("max%s=%d", what, *most))
	}
	return tags
}

func listTags(s *openapi3.Schema) []string {
	tags := countTags("Items", s.MinItems, s.MaxItems)
	if s.UniqueItems {
		tags = append(tags, "uniqueItems=true")
	}
	return tags
}

// written is a number in a tag, or nothing if some clients cannot keep it.
func written(n float64, integer bool) (string, bool) {
	if math.IsNaN(n) || math.Abs(n) > exact || integer && n != math.Trunc(n) {
		return "", false
	}
	return strconv.FormatFloat(n, 'f', -1, 64), true
}

// number is a number as the loader has it.
func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	}
	return 0, false
}

// numberTags is the Go type of a number, and its limits.
func numberTags(s *openapi3.Schema, kind string) (goType string, tags []string) {
	integer := kind == "integer"
	goType = "float64"
	if integer {
		goType = "int64"
	}
	if tags = enumTags(s, func(value any) (string, bool) {
		n, ok := number(value)
		if !ok {
			return "", false
		}
		return written(n, integer)
	}); len(tags) > 0 {
		return goType, tags
	}
	low, high := math.Inf(-1), math.Inf(1)
	bound := func(name string, n *float64, exclusive openapi3.ExclusiveBound, limit *float64) {
		short := strings.ToLower(name)
		if exclusive.Value != nil {
			n, short = exclusive.Value, "exclusive"+name
		} else if exclusive.Bool != nil && *exclusive.Bool {
			short = "exclusive" + name
		}
		if n == nil {
			return
		}
		if text, ok := written(*n, integer); ok {
			*limit = *n
			tags = append(tags, short+"="+text)
		}
	}
	bound("Minimum", s.Min, s.ExclusiveMin, &low)
	bound("Maximum", s.Max, s.ExclusiveMax, &high)
	if low > high || low == high && strings.Contains(strings.Join(tags, ","), "exclusive") {
		tags, low, high = nil, math.Inf(-1), math.Inf(1)
	}
	if integer && s.Format == "int32" && (low >= math.MinInt32 || math.IsInf(low, -1)) &&
		(high <= math.MaxInt32 || math.IsInf(high, 1)) {
		goType = "int32"
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		if text, ok := written(*s.MultipleOf, integer); ok {
			tags = append(tags, "multipleOf="+text)
		}
	}
	return goType, tags
}

// defaultTag is the default of a boolean, a number or an enum, if it is sure to fit. The handler
// sends it. Other texts are left to the API: in many documents they are no values.
func defaultTag(s *openapi3.Schema, in shape) string {
	var text string
	switch value := s.Default.(type) {
	case bool:
		if in.goType == "bool" {
			return "default=" + strconv.FormatBool(value)
		}
		return ""
	case string:
		if in.goType != "string" || len(s.Enum) == 0 {
			return ""
		}
		text = value
	default:
		n, ok := number(value)
		if !ok || in.goType != "int64" && in.goType != "int32" && in.goType != "float64" {
			return ""
		}
		if text, ok = written(n, in.goType != "float64"); !ok {
			return ""
		}
	}
	one := tag("default", text)
	if len(one) == 0 || len(in.tags) > 0 && !fits(in, text) {
		return ""
	}
	return one[0]
}

// fits reports whether a default fits the limits in the tag. Limits in other schemas, as of allOf,
// are left to the API: their number can double with each level.
func fits(in shape, text string) bool {
	enum := false
	number, _ := new(big.Rat).SetString(text)
	for _, one := range in.tags {
		name, value, _ := strings.Cut(one, "=")
		if name == "enum" {
			if enum = true; strings.ReplaceAll(value, `\,`, ",") == text {
				return true
			}
			continue
		}
		limit, ok := new(big.Rat).SetString(value)
		if number == nil || !ok {
			return false
		}
		order := number.Cmp(limit)
		if name == "minimum" && order < 0 || name == "exclusiveMinimum" && order <= 0 ||
			name == "maximum" && order > 0 || name == "exclusiveMaximum" && order >= 0 ||
			name == "multipleOf" && !number.Quo(number, limit).IsInt() {
			return false
		}
	}
	return !enum
}

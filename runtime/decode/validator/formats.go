package validator

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// formats replace those of the validator: a value is judged alike whether its decoder is this
// package or generated, and the validator reads the numbers in some of them with strconv.Atoi and
// so takes +1:00:00Z for a time and 1.2.3.+4 for an address.
var formats = func() []jsonschema.Format {
	var all []jsonschema.Format
	for _, name := range decode.Formats() {
		all = append(all, jsonschema.Format{Name: name, Validate: stringFormat(func(s string) bool { return decode.IsFormat(name, s) })})
	}
	return all
}()

var errFormat = errors.New("not of the format")

// stringFormat applies a format to strings; other values have no format.
func stringFormat(is func(string) bool) func(any) error {
	return func(v any) error {
		if s, ok := v.(string); ok && !is(s) {
			return errFormat
		}
		return nil
	}
}

package validator

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// formats replace the validator's, so that generated decoders and this package accept the same
// values. The validator's use strconv.Atoi, which accepts +1:00:00Z as a time and 1.2.3.+4 as an
// address.
var formats = func() []jsonschema.Format {
	var all []jsonschema.Format
	for _, name := range decode.Formats() {
		all = append(all, jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !decode.IsFormat(name, s) {
				return errFormat
			}
			return nil // other values have no format
		}})
	}
	return all
}()

var errFormat = errors.New("not of the format")

package toolset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// guardedFields returns the sorted names of the guarded fields in the schemas of the tools: the
// values of their keyword x-mcpgen-field.
func (g Generated) guardedFields() (fields []string, errs []error) {
	for _, t := range g.Tools {
		for _, schema := range []string{t.Input, t.Output, t.Guarded} {
			if !strings.Contains(schema, "x-mcpgen-field") {
				continue
			}
			shape, err := decode.ParseShape(schema)
			if err != nil {
				errs = append(errs, fmt.Errorf(
					"the guarded fields of tool %q cannot be read (%w): run go generate", t.Name, err))
			}
			fields = append(fields, shape.Fields()...)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields), errs
}

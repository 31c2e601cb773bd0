package dcim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/capability"
)

// errScope is the error if this package cannot apply a constraint of the host. It does not contain
// the constraint, which is internal to the host.
var errScope = errors.New("the server cannot apply the constraint of your permission")

// coveredDevices returns the constraints of the running handler's permission as a condition in SQL,
// with its arguments. The permission covers a device that meets at least one constraint. A
// constraint that this package cannot apply is an error.
func coveredDevices(ctx context.Context) (condition string, args []any, err error) {
	constraints := capability.Constraints(ctx)
	if len(constraints) == 0 {
		return "TRUE", nil, nil
	}
	var conditions []string
	for _, c := range constraints {
		one, of, err := deviceFilter(c)
		if err != nil {
			return "", nil, err
		}
		conditions, args = append(conditions, one), append(args, of...)
	}
	return "(" + strings.Join(conditions, " OR ") + ")", args, nil
}

// deviceFilter translates one constraint: an object of fields of a device with their values. A name
// that ends in "__in" has a list of values.
func deviceFilter(c capability.Constraint) (condition string, args []any, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c, &fields); err != nil || fields == nil {
		return "", nil, fmt.Errorf("%w: it is not an object", errScope)
	}
	conditions := []string{"TRUE"}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, of := strings.CutSuffix(name, "__in")
		if !slices.Contains([]string{"name", "site", "role", "status"}, field) {
			return "", nil, fmt.Errorf("%w: a device has no such field", errScope)
		}
		values := make([]*string, 1)
		var problem error
		if of {
			problem = json.Unmarshal(fields[name], &values)
		} else {
			problem = json.Unmarshal(fields[name], &values[0])
		}
		if problem != nil || slices.Contains(values, nil) ||
			bytes.Equal(fields[name], []byte("null")) {
			return "", nil, fmt.Errorf("%w: a value is not a string", errScope)
		}
		conditions = append(conditions, field+" IN (NULL"+strings.Repeat(", ?", len(values))+")")
		for _, v := range values {
			args = append(args, *v)
		}
	}
	return "(" + strings.Join(conditions, " AND ") + ")", args, nil
}

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

// errScope says that the host holds the caller to something that this package cannot apply.
// It does not say to what: that is the host's affair.
var errScope = errors.New("the condition under which you hold the permission cannot be applied here")

// coveredDevices is the condition in SQL under which a device is the caller's to work on, with its
// arguments: it meets any one of the constraints that the host puts on the permission of the
// running handler. A constraint that is not understood denies.
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

// deviceFilter spells one constraint: an object of fields of a device, all of which must be as it
// says, or with "__in" one of a list.
func deviceFilter(c capability.Constraint) (condition string, args []any, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c, &fields); err != nil || fields == nil {
		return "", nil, fmt.Errorf("%w: it is no object", errScope)
	}
	conditions := []string{"TRUE"}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, of := strings.CutSuffix(name, "__in")
		if !slices.Contains([]string{"name", "site", "role", "status"}, field) {
			return "", nil, fmt.Errorf("%w: it is about a field that devices do not have", errScope)
		}
		values := make([]*string, 1)
		var problem error
		if of {
			problem = json.Unmarshal(fields[name], &values)
		} else {
			problem = json.Unmarshal(fields[name], &values[0])
		}
		if problem != nil || slices.Contains(values, nil) || bytes.Equal(fields[name], []byte("null")) {
			return "", nil, fmt.Errorf("%w: it compares a field with something that is no text", errScope)
		}
		conditions = append(conditions, field+" IN (NULL"+strings.Repeat(", ?", len(values))+")")
		for _, v := range values {
			args = append(args, *v)
		}
	}
	return "(" + strings.Join(conditions, " AND ") + ")", args, nil
}

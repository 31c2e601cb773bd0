package reflection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// place is one place at which two schemas differ.
type place struct{ pointer, walker, reflector string }

// most is the number of places that are reported for one type: the rest mostly follows from the
// first.
const most = 10

// compare returns where two schemas differ; equal bytes differ nowhere.
func compare(walker, reflector json.RawMessage) []place {
	if bytes.Equal(walker, reflector) {
		return nil
	}
	var a, b any
	errA, errB := json.Unmarshal(walker, &a), json.Unmarshal(reflector, &b)
	if errA != nil || errB != nil {
		return []place{{"", shown(walker), shown(reflector)}}
	}
	found := differences("", a, b)
	if len(found) == 0 {
		return []place{{"", "the same members in another order", "the same members in another order"}}
	}
	return found[:min(len(found), most)]
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func differences(at string, a, b any) []place {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(a)
		maps.Copy(names, b)
		var found []place
		for _, name := range slices.Sorted(maps.Keys(names)) {
			inA, hasA := a[name]
			inB, hasB := b[name]
			below := at + "/" + escape.Replace(name)
			if hasA && hasB {
				found = append(found, differences(below, inA, inB)...)
				continue
			}
			p := place{below, "nothing", "nothing"}
			if hasA {
				p.walker = written(inA)
			} else {
				p.reflector = written(inB)
			}
			found = append(found, p)
		}
		return found
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		var found []place
		for i := range a {
			found = append(found, differences(fmt.Sprintf("%s/%d", at, i), a[i], b[i])...)
		}
		return found
	default:
		if a == b {
			return nil
		}
	}
	return []place{{at, written(a), written(b)}}
}

func written(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return shown(text)
}

// shown shortens a JSON text to a line of a message.
func shown(text []byte) string {
	const length = 120
	if r := []rune(string(text)); len(r) > length {
		return string(r[:length]) + "…"
	}
	return string(text)
}

package stubs

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxChain is a bound of the references that lead to each other. The loader needs quadratic time.
const maxChain = 100

// references follows the references of a document.
type references struct {
	root   any
	chains map[string]int // lengths, by reference
}

// plain is a value of YAML with texts as keys, as in JSON.
func plain(value any) any {
	switch v := value.(type) {
	case map[any]any:
		texts := make(map[string]any, len(v))
		for key, member := range v {
			texts[fmt.Sprint(key)] = plain(member)
		}
		return texts
	case map[string]any:
		for key, member := range v {
			v[key] = plain(member)
		}
	case []any:
		for i, element := range v {
			v[i] = plain(element)
		}
	}
	return value
}

// check is an error if a chain of references in the value is too long.
func (r *references) check(value any) error {
	if ref, ok := reference(value); ok && r.chain(ref, maxChain+1) > maxChain {
		return fmt.Errorf("more than %d $ref lead to each other: use the last one", maxChain)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			if err := r.check(member); err != nil {
				return err
			}
		}
	case []any:
		for _, element := range v {
			if err := r.check(element); err != nil {
				return err
			}
		}
	}
	return nil
}

// reference is the $ref of an object.
func reference(value any) (ref string, ok bool) {
	object, _ := value.(map[string]any)
	ref, ok = object["$ref"].(string)
	return ref, ok
}

// chain is the number of references from one to the first value that is none, or at most a number.
func (r *references) chain(ref string, most int) int {
	length, known := r.chains[ref]
	if !known && most > 0 {
		length = 1
		if next, ok := reference(r.target(ref)); ok {
			length += r.chain(next, most-1)
		}
		r.chains[ref] = length
	}
	return length
}

// target is the value that a reference names, or nil.
func (r *references) target(ref string) any {
	pointer, err := url.PathUnescape(ref)
	if err != nil || !strings.HasPrefix(pointer, "#/") {
		return nil
	}
	value := r.root
	for token := range strings.SplitSeq(pointer[2:], "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[escapes.Replace(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// escapes are those of JSON Pointer (RFC 6901).
var escapes = strings.NewReplacer("~1", "/", "~0", "~")

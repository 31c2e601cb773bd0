package decode

import (
	"cmp"
	"strings"
)

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// Pointer appends a property name or an array index to a JSON Pointer, escaped by RFC 6901,
// section 3, and shortened to MaxShown bytes.
func Pointer(pointer, name string) string {
	return pointer + "/" + pointerEscapes.Replace(shorten(name))
}

// comparePointers orders pointers as one reads a document: a value before what it holds,
// properties by name, items by number (/2 before /10).
func comparePointers(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = cutSegment(a)
		y, b = cutSegment(b)
		if x == y {
			continue
		}
		if isIndex(x) && isIndex(y) && len(x) != len(y) {
			return cmp.Compare(len(x), len(y))
		}
		return strings.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// cutSegment splits "/a/b" into "a" and "/b".
func cutSegment(pointer string) (segment, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:]
	}
	return pointer, ""
}

// isIndex reports whether a segment is an array index as RFC 6901 writes it.
func isIndex(segment string) bool {
	if segment == "" || segment[0] == '0' && segment != "0" {
		return false
	}
	for i := range len(segment) {
		if segment[i] < '0' || segment[i] > '9' {
			return false
		}
	}
	return true
}

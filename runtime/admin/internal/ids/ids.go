// Package ids has the spelling of the ids of organisations, teams, catalogs and other items of the
// store in requests and responses.
package ids

import "strconv"

// Of returns the number of an id, or 0, which no item has. An id has one spelling.
func Of(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 || Text(id) != text {
		return 0
	}
	return id
}

// Text returns the id with a number.
func Text(id int64) string { return strconv.FormatInt(id, 10) }

// IsNumber reports whether a JSON value is a number, which is another spelling of an id in a body.
func IsNumber(value []byte) bool { return value[0] == '-' || value[0] >= '0' && value[0] <= '9' }

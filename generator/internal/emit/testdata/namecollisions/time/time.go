// Package time is not the standard library's.
package time

// Clock shows hours.
type Clock struct {
	Hour int8 `json:"hour"`
}

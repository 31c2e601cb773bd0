// Package odd lives in a directory whose name has a dot.
package odd

// Part is named from far away.
type Part struct {
	ID string `json:"id"`
}

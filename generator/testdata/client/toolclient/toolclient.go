// Package toolclient has the name of a package that typed clients import.
package toolclient

// Session has the name of a type of that package.
type Session struct {
	ID string `json:"id"`
}

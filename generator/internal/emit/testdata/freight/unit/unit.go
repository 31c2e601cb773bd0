// Package unit has types that more than one package speaks of.
package unit

// Mass is a weight in grams.
type Mass int

// Remark is what somebody wrote.
type Remark struct {
	Text   string `json:"text"`
	Author Author `json:"author"`
}

// Author wrote it; the name's text is the author's own business.
type Author struct {
	name string
}

// MarshalText is the author's name.
func (a Author) MarshalText() ([]byte, error) { return []byte(a.name), nil }

// UnmarshalText reads a name.
func (a *Author) UnmarshalText(text []byte) error { a.name = string(text); return nil }

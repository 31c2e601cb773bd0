// Package txtar reads and writes archives in the txtar format of golang.org/x/tools, for tests. A
// requirement of that module in the root module would raise its version for all users.
package txtar

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
)

// An Archive is a comment with files.
type Archive struct {
	Comment []byte
	Files   []File
}

// A File has a name and a text.
type File struct {
	Name string
	Data []byte
}

var marker = regexp.MustCompile(`(?m)^-- (.+) --\n`)

// ParseFile reads an archive.
func ParseFile(name string) (*Archive, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	found := marker.FindAllSubmatchIndex(text, -1)
	if len(found) == 0 {
		return &Archive{Comment: text}, nil
	}
	a := &Archive{Comment: text[:found[0][0]]}
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		a.Files = append(a.Files, File{string(text[at[2]:at[3]]), text[at[1]:end:end]})
	}
	return a, nil
}

// Format returns the text of an archive. Its texts end with a newline.
func Format(a *Archive) []byte {
	var b bytes.Buffer
	b.Write(a.Comment)
	for _, f := range a.Files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.Name, f.Data)
	}
	return b.Bytes()
}

package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Read reads a file of at most [MaxBytes] and then [Parse]s it. name is that of the file. larger is
// the cure for a larger one.
func Read(name string, open func() (fs.File, error), larger string,
	read func(Value, *Problems)) error {
	data, err := bytesOf(open, larger)
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err // which names the file once more
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return Parse(name, data, read)
}

func bytesOf(open func() (fs.File, error), larger string) ([]byte, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err == nil && len(data) > MaxBytes {
		err = fmt.Errorf("is larger than %d MiB: %s", MaxBytes>>20, larger)
	}
	return data, err
}

// Parse parses the text of a file whose name ends in .yaml, .yml or .json. read gets the document,
// and adds the problems of its content. The error has all problems.
func Parse(file string, data []byte, read func(Value, *Problems)) error {
	bad := &Problems{File: file}
	var doc Value
	switch filepath.Ext(file) {
	case ".yaml", ".yml":
		doc = ReadYAML(data, bad)
	case ".json":
		doc = ReadJSON(data, bad)
	default:
		return fmt.Errorf("%s: the file name ends in neither .yaml, .yml nor .json: rename it",
			file)
	}
	if doc.Kind == "" {
		return bad.Err()
	}
	before := len(bad.All)
	read(doc, bad)
	bad.Once(before)
	return bad.Err()
}

// Field is a name that a mapping may have, and what reads its value.
type Field struct {
	Name string
	Read func(v Value, at string)
}

// Fields reads the members of a mapping in the order of fields, and refuses all others.
func (p *Problems) Fields(v Value, at string, fields []Field) {
	if !p.Is(v, at, Mapping) {
		return
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
		for _, m := range v.Members {
			if m.Name == f.Name {
				f.Read(m.Value, Pointer(at, m.Name))
			}
		}
	}
	for _, m := range v.Members {
		if !slices.Contains(names, m.Name) {
			p.Add(m.Line, Pointer(at, m.Name), "is not a known key: use %s",
				strings.Join(names, ", "))
		}
	}
}

// Texts reads a list of texts, each once and none that something is wrong with.
func (p *Problems) Texts(v Value, at string, wrong func(text string) string) (list []string) {
	if !p.Is(v, at, List) {
		return nil
	}
	seen := map[string]bool{}
	for i, item := range v.Items {
		at := Pointer(at, strconv.Itoa(i))
		if !p.Is(item, at, Text) {
			continue
		}
		if fault := wrong(item.Text); fault != "" {
			p.Add(item.Line, at, "%s", fault)
		} else if seen[item.Text] {
			p.Add(item.Line, at, "is in its list twice: remove one")
		} else {
			seen[item.Text] = true
			list = append(list, item.Text)
		}
	}
	return list
}

// Truth reads true or false.
func (p *Problems) Truth(v Value, at string, b *bool) {
	if p.Is(v, at, Truth) {
		*b = v.Text == "true"
	}
}

// Is reports whether a value is of a kind, and adds a problem where it is not.
func (p *Problems) Is(v Value, at string, want Kind) bool {
	if v.Kind == want {
		return true
	}
	p.Add(v.Line, at, "is %s: write %s", v.Kind, want)
	return false
}

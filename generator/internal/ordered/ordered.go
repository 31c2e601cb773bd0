// Package ordered reads and writes JSON objects in the order of their members.
package ordered

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
)

// Object is a JSON object in the order of its text.
type Object []Member

// Member is a name of an object with its value.
type Member struct {
	Key   string
	Value json.RawMessage // compact
	At    int             // where the name begins in the text that was read
}

var errNoObject = errors.New("not a JSON object")

// Read reads a JSON object. A repeated name is as many members.
func Read(text []byte) (Object, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, cmp.Or(err, errNoObject)
	}
	o := Object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Key: key.(string), At: int(d.InputOffset()) - 1}
		m.At = max(0, bytes.LastIndexByte(text[:m.At], '"'))
		var value json.RawMessage
		var b bytes.Buffer
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if err := json.Compact(&b, value); err != nil {
			return nil, err
		}
		m.Value = b.Bytes()
		o = append(o, m)
	}
	return o, nil
}

// Find returns the value of a member, or nil.
func (o Object) Find(key string) json.RawMessage {
	for _, m := range o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Text writes the object as compact JSON.
func (o Object) Text() []byte {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(m.Key) // a string has no error
		b = append(append(append(b, key...), ':'), m.Value...)
	}
	return append(b, '}')
}

package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/ordered"
)

// Digest returns the SHA-256 of a manifest as "sha256:" and hexadecimal digits. It hashes the JSON
// without white space and with sorted keys, so the format of the file does not count. If an object
// has a key twice, both values count: readers of such a file may see either.
func Digest(manifest []byte) (string, error) {
	// It bounds the depth, and reports text after the value.
	if err := json.Unmarshal(manifest, new(any)); err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(manifest))
	decoder.UseNumber()
	text, err := canonical(decoder)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// canonical reads a JSON value, and returns it in its canonical form.
func canonical(d *json.Decoder) ([]byte, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	opening, ok := token.(json.Delim)
	if !ok {
		return encoded(token)
	}
	var members ordered.Object
	for d.More() {
		var m ordered.Member
		if opening == '{' {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			m.Key, _ = key.(string) // encoding/json has no other token here
		}
		if m.Value, err = canonical(d); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	closing, err := d.Token()
	if err != nil {
		return nil, err
	}
	// Items of an array have no key, and keep their order.
	slices.SortStableFunc(members, func(a, b ordered.Member) int { return cmp.Compare(a.Key, b.Key) })
	text := []byte(opening.String())
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		if opening == '{' {
			key, err := encoded(m.Key)
			if err != nil {
				return nil, err
			}
			text = append(append(text, key...), ':')
		}
		text = append(text, m.Value...)
	}
	return append(text, closing.(json.Delim).String()...), nil
}

// encoded is a text, number, truth value or null as JSON.
func encoded(token any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(token)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

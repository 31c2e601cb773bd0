package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// JSON returns a JSON document with its secrets masked, or the document itself if it has none.
// Text that is not JSON is masked as a whole.
func (m Masker) JSON(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	tree, ok := treeOf(doc)
	if !ok {
		return json.RawMessage(`"` + Mask + `"`)
	}
	shown := m.Any(tree)
	if reflect.DeepEqual(shown, tree) {
		return doc
	}
	var masked bytes.Buffer
	encoder := json.NewEncoder(&masked)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(shown) != nil {
		return json.RawMessage(`"` + Mask + `"`)
	}
	return bytes.TrimSuffix(masked.Bytes(), []byte{'\n'})
}

// treeOf is a JSON document as maps, lists and texts, and whether it is one.
func treeOf(doc []byte) (tree any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	ok = decoder.Decode(&tree) == nil
	return tree, ok
}

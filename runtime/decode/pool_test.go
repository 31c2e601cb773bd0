package decode

import (
	"reflect"
	"testing"
)

// A Reader that was released refers to nothing of its document, however that has ended.
func TestReleasedReaderHasNothingOfItsDocument(t *testing.T) {
	for _, doc := range []string{`{}`, `{"a":{"b":[1,"x"]}}`, `{"a":{"b":`, `{"a":{"b":[nul`, `7`,
		`{"a":1,"a":2}`} {
		r := Begin([]byte(doc))
		for o := r.Object(0); o.Next(); {
			r.at = append(r.at, step{name: []byte("of another place")})
			r.report([]byte(doc), "is wrong")
			r.at = r.at[:len(r.at)-1]
		}
		r.str, r.list = doc, []byte(doc)
		_ = r.Finish()
		for _, s := range r.at[:cap(r.at)] {
			if s.name != nil || s.index != 0 || s.optional {
				t.Errorf("%s: the step %q stays", doc, s.name)
			}
		}
		if len(r.at) != 0 || !reflect.DeepEqual(*r, Reader{at: r.at}) {
			t.Errorf("%s: the Reader has %+v", doc, *r)
		}
	}
}

package decode

import "fmt"

// elements iterates over the items of an array.
type elements struct {
	r     *Reader
	start int
	n     int
	began bool
}

func (r *Reader) array() (elements, bool) {
	if !r.begin(arrayKind, "array") {
		return elements{}, false
	}
	start := r.pos
	if f := r.open(); f != nil {
		r.fail(f)
		return elements{}, false
	}
	r.at = append(r.at, step{})
	return elements{r: r, start: start}, true
}

// next steps to the next item. At the end it keeps the array's text for the limits.
func (e *elements) next() bool {
	r := e.r
	if r.fault != nil {
		return false
	}
	if e.began {
		e.n++
	}
	top := len(r.at) - 1
	r.at[top].index = e.n
	more, f := r.more(']', !e.began)
	e.began = true
	if f != nil {
		r.fail(f)
		return false
	}
	if !more {
		r.at = r.at[:top]
		r.list, r.items = r.doc[e.start:r.pos], e.n
	}
	return more
}

// firstItems is the initial capacity of a slice: most lists are short, and many empty lists of a
// hostile document should not cost much more than their text.
const firstItems = 4

// Slice reads an array, each item by read. An empty array is an empty slice, not nil.
func Slice[S ~[]E, E any](r *Reader, v *S, read func(*Reader, *E)) *List {
	items, ok := r.array()
	if !ok {
		return nil
	}
	s := S{}
	for items.next() {
		if s == nil || cap(s) == 0 {
			s = make(S, 0, firstItems)
		}
		var item E
		s = append(s, item)
		read(r, &s[len(s)-1])
	}
	*v = s
	return r.asList()
}

// Array reads an array into a Go array, passed as a slice of it. Items beyond its end are read
// and dropped: the limits on the length report them.
func Array[E any](r *Reader, v []E, read func(*Reader, *E)) *List {
	items, ok := r.array()
	if !ok {
		return nil
	}
	clear(v) // remove a default
	for items.next() {
		if items.n < len(v) {
			read(r, &v[items.n])
			continue
		}
		var beyond E
		read(r, &beyond)
	}
	return r.asList()
}

// List is an array that has just been read. Its methods report violations of a schema's limits.
// On nil, for a value that was no array, they do nothing. All return the List, so that calls can
// be chained.
type List Reader

func (r *Reader) asList() *List {
	if r.fault != nil {
		return nil
	}
	return (*List)(r)
}

// MinItems requires at least n items.
func (l *List) MinItems(n int) *List {
	if l != nil && l.items < n {
		(*Reader)(l).report(nil, CountMessage(l.items, "item", "fewer", "minimum", n))
	}
	return l
}

// MaxItems allows at most n items.
func (l *List) MaxItems(n int) *List {
	if l != nil && l.items > n {
		(*Reader)(l).report(nil, CountMessage(l.items, "item", "more", "maximum", n))
	}
	return l
}

// Unique requires that all items differ. Equality is that of JSON Schema: numbers by value,
// strings without regard to escapes, objects without regard to the order of their names.
func (l *List) Unique() *List {
	if l == nil || l.items < 2 {
		return l
	}
	if i, j, equal := equalItems(l.list, l.items); equal {
		(*Reader)(l).report(nil, fmt.Sprintf("has equal items at %d and %d, which must differ", i, j))
	}
	return l
}

// equalItems finds two equal items in a valid array of n.
func equalItems(array []byte, n int) (i, j int, equal bool) {
	l := &lexer{doc: array, limits: unlimited}
	l.pos++
	if n <= fewItems {
		if i, j, equal, ok := equalTexts(*l); ok {
			return i, j, equal
		}
		return equalFew(l)
	}
	met := make(map[string]int, n)
	for j := 0; ; j++ {
		if more, f := l.more(']', j == 0); f != nil || !more {
			return 0, 0, false
		}
		text := string(canonical(l, nil))
		if i, ok := met[text]; ok {
			return i, j, true
		}
		met[text] = j
	}
}

// fewItems is the size up to which comparing all pairs is faster than a map.
const fewItems = 8

// equalTexts compares a few strings without escapes. It is not ok if an item is anything else.
func equalTexts(l lexer) (i, j int, equal, ok bool) {
	var items [fewItems][]byte
	for j := 0; ; j++ {
		if more, f := l.more(']', j == 0); f != nil || !more {
			return 0, 0, false, f == nil
		}
		if kind, f := l.kind(); f != nil || kind != stringKind {
			return 0, 0, false, false
		}
		raw, escaped, f := l.text()
		if f != nil || escaped {
			return 0, 0, false, false
		}
		for i, item := range items[:j] {
			if string(item) == string(raw) {
				return i, j, true, true
			}
		}
		items[j] = raw
	}
}

func equalFew(l *lexer) (i, j int, equal bool) {
	var (
		room [256]byte
		ends [fewItems + 1]int // of the items' consecutive canonical forms
	)
	forms := room[:0]
	for j := 0; ; j++ {
		if more, f := l.more(']', j == 0); f != nil || !more {
			return 0, 0, false
		}
		forms = canonical(l, forms)
		ends[j+1] = len(forms)
		for i := range j {
			if string(forms[ends[i]:ends[i+1]]) == string(forms[ends[j]:]) {
				return i, j, true
			}
		}
	}
}

package decode

import "strings"

// Properties are the names that an object of a schema may have. It may have no others.
type Properties struct {
	Required []string
	Optional []string
}

func (p *Properties) count() int { return len(p.Required) + len(p.Optional) }

func (p *Properties) name(i int) string {
	if i < len(p.Required) {
		return p.Required[i]
	}
	return p.Optional[i-len(p.Required)]
}

// Object is one object while it is read:
//
//	o := r.Object(&siteProperties)
//	for o.Next() {
//		switch o.Name {
//		case "id":
//			decode.Int(r, &v.ID, 1, 4094)
//		}
//	}
//
// Every name that Next stops at is one of the properties, once.
type Object struct {
	Name string

	r       *Reader // nil after the last property
	of      *Properties
	began   bool
	depth   int // of r.at around the object
	next    int // where the name most likely stands: documents tend to keep the schema's order
	seen    uint64
	further []uint64 // seen, beyond the first 64 properties
	unknown nameSet
}

// Object begins an object. Of another value, which is a problem, Next finds no properties.
func (r *Reader) Object(of *Properties) Object {
	if !r.begin(objectKind, "an object") {
		return Object{}
	}
	if f := r.open(); f != nil {
		r.fail(f)
		return Object{}
	}
	return Object{r: r, of: of, depth: len(r.at)}
}

// Next steps to the next known property, whose value is to be read then. At the end it
// notes which required ones were absent.
func (o *Object) Next() bool {
	r := o.r
	if r == nil {
		return false
	}
	r.at = r.at[:o.depth]
	for r.fault == nil {
		more, f := r.more('}', !o.began)
		if f != nil {
			r.fail(f)
			break
		}
		if !more {
			o.end()
			break
		}
		o.began = true
		name, f := r.name()
		if f != nil {
			r.fail(f)
			break
		}
		i := o.find(name)
		if new := i >= 0 && o.mark(i) || i < 0 && o.unknown.add(name); !new {
			r.fail(twice(name))
			break
		}
		r.at = append(r.at, step{name: name})
		if i >= 0 {
			o.Name = o.of.name(i)
			return true
		}
		if f := skip(&r.lexer); f != nil {
			r.fail(f)
			break
		}
		r.at = r.at[:o.depth]
		r.reportMember(name, "unknown property"+nearestName(o.of, string(name)))
	}
	o.r = nil
	return false
}

func twice(name []byte) *fault {
	return (&fault{rule: duplicate, says: "stands twice in its object"}).within(string(name))
}

// find is the number of a property, or -1.
func (o *Object) find(name []byte) int {
	n := o.of.count()
	for range n {
		if o.next >= n {
			o.next = 0
		}
		i := o.next
		o.next++
		if o.of.name(i) == string(name) {
			return i
		}
	}
	return -1
}

// mark notes that a property was there, and reports whether it was for the first time.
func (o *Object) mark(i int) bool {
	word := &o.seen
	if i >= 64 {
		if o.further == nil {
			o.further = make([]uint64, (o.of.count()-1)/64)
		}
		word = &o.further[i/64-1]
	}
	bit := uint64(1) << (i % 64)
	known := *word&bit != 0
	*word |= bit
	return !known
}

func (o *Object) has(i int) bool {
	if i < 64 {
		return o.seen&(1<<i) != 0
	}
	return o.further != nil && o.further[i/64-1]&(1<<(i%64)) != 0
}

// end notes the required properties that were absent.
func (o *Object) end() {
	if n := len(o.of.Required); n < 64 && o.seen&(1<<n-1) == 1<<n-1 {
		return
	}
	for i, name := range o.of.Required {
		if !o.has(i) {
			o.r.reportMember([]byte(name), "is required")
		}
	}
}

// nearestName suggests the property that an unknown name may have been meant to be.
func nearestName(of *Properties, name string) string {
	const tooLong = 64 // no property to suggest, and costly to compare
	if len(name) > tooLong {
		return ""
	}
	best, distance := "", len(name)/3+1
	for i := range of.count() {
		known := of.name(i)
		d := editDistance([]rune(strings.ToLower(name)), []rune(strings.ToLower(known)))
		if d < distance || d == distance && known < best {
			best, distance = known, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + Show(quote(best)) + "?"
}

// editDistance counts the runes to insert, delete or replace between two names.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

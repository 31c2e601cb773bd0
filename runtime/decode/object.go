package decode

import "slices"

// Object is one object while it is read:
//
//	o := r.Object(1, "id", "name") // id is required
//	for o.Next() {
//		switch o.Property {
//		case 0: // id
//			decode.Int(r, &v.ID, 1, 4094)
//		case 1: // name
//			decode.String(r, &v.Name)
//		}
//	}
//
// Property is the position of the property's name in the list. Next stops at each property at most
// once. A name that is not in the list is a problem.
type Object struct {
	Property int

	// OneOf and AnyOf are groups of properties. An object must have all properties of exactly one
	// group, or of at least one. They are set before the first Next.
	OneOf, AnyOf [][]string

	r        *Reader // nil after the last property
	names    []string
	required int // the number of required names, which come first
	began    bool
	depth    int // of r.at around the object
	next     int // the likely next name: most documents keep the schema's order
	seen     uint64
	further  []uint64 // seen, beyond the first 64 properties
	unknown  *nameSet
	hidden   []hiddenProperty
}

// hiddenProperty is a property that does not exist for the caller.
type hiddenProperty struct {
	at    int    // in Object.names
	field string // of its Go type
}

// Object begins an object that may have the properties in names and no others. The first ones, as
// many as required, must be present. If the value is no object, that is a problem, and Next finds
// no properties.
func (r *Reader) Object(required int, names ...string) Object {
	if !r.begin(objectKind, "object") {
		return Object{}
	}
	if f := r.open(); f != nil {
		r.fail(f)
		return Object{}
	}
	return Object{r: r, names: names, required: required, depth: len(r.at)}
}

// Guard hides a property from callers who may not see its field, which is the name of a rule in
// access.Table.Fields. For them the property is an unknown one: an object that has it gets the same
// problem, with the same work, as an object with a name that is not in the list. Call it before the
// first Next.
func (o *Object) Guard(property int, field string) {
	if o.r != nil && o.r.choices != nil && slices.Contains(o.r.choices.Hidden, field) {
		o.hidden = append(o.hidden, hiddenProperty{property, field})
	}
}

// hides reports whether a property is hidden from the caller.
func (o *Object) hides(i int) bool {
	for _, h := range o.hidden {
		if h.at == i {
			return true
		}
	}
	return false
}

// known yields the names of the properties that exist for the caller.
func (o *Object) known(yield func(string) bool) {
	for i, name := range o.names {
		if !o.hides(i) && !yield(name) {
			return
		}
	}
}

// noteSent records, for the audit, that a document has a hidden property.
func (o *Object) noteSent(name []byte) {
	for _, h := range o.hidden {
		if sent := &o.r.choices.Sent; o.names[h.at] == string(name) && !slices.Contains(*sent, h.field) {
			*sent = append(*sent, h.field)
		}
	}
}

// Next advances to the next known property, whose value must be read next. At the end it reports
// absent required properties.
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
		if new := i >= 0 && o.mark(i) || i < 0 && o.addUnknown(name); !new {
			r.fail(twice(name))
			break
		}
		r.at = append(r.at, step{name: name, optional: i >= o.required && !o.demands(name)})
		if i >= 0 {
			o.Property = i
			return true
		}
		if f := skip(&r.lexer); f != nil {
			r.fail(f)
			break
		}
		r.at = r.at[:o.depth]
		o.noteSent(name)
		r.reportMember(name, UnknownPropertyMessage(string(name), o.known))
	}
	o.r = nil
	return false
}

// find returns the index of a property, or -1.
func (o *Object) find(name []byte) int {
	n := len(o.names)
	for range n {
		if o.next >= n {
			o.next = 0
		}
		i := o.next
		o.next++
		// Each name is looked up, so that a hidden one takes as long as an unknown one.
		if (o.hidden == nil || !o.hides(i)) && o.names[i] == string(name) {
			return i
		}
	}
	return -1
}

// mark marks a property as present, and reports whether it was absent before.
func (o *Object) mark(i int) bool {
	word := &o.seen
	if i >= 64 {
		if o.further == nil {
			o.further = make([]uint64, (len(o.names)-1)/64)
		}
		word = &o.further[i/64-1]
	}
	bit := uint64(1) << (i % 64)
	known := *word&bit != 0
	*word |= bit
	return !known
}

// addUnknown marks an unknown name as present, and reports whether it was absent before.
func (o *Object) addUnknown(name []byte) bool {
	if o.unknown == nil {
		o.unknown = &nameSet{}
	}
	return o.unknown.add(name)
}

// forms reports missing groups of properties.
func (o *Object) forms() {
	if full := o.complete(o.OneOf); full > 1 {
		o.r.report(nil, ManyMatchesMessage)
	} else if full == 0 && len(o.OneOf) > 0 {
		o.noForm(o.OneOf)
	}
	if len(o.AnyOf) > 0 && o.complete(o.AnyOf) == 0 {
		o.noForm(o.AnyOf)
	}
}

// complete counts the complete groups.
func (o *Object) complete(groups [][]string) int {
	n := 0
	for _, group := range groups {
		if !slices.ContainsFunc(group, o.lacks) {
			n++
		}
	}
	return n
}

func (o *Object) noForm(groups [][]string) {
	if len(groups) > 1 {
		o.r.report(nil, NoMatchMessage)
		return
	}
	for _, name := range groups[0] {
		if o.lacks(name) {
			o.r.reportMember([]byte(name), "is required")
		}
	}
}

func (o *Object) lacks(name string) bool {
	i := slices.Index(o.names, name)
	return i < 0 || !o.has(i)
}

func (o *Object) has(i int) bool {
	if i < 64 {
		return o.seen&(1<<i) != 0
	}
	return o.further != nil && o.further[i/64-1]&(1<<(i%64)) != 0
}

// end reports the absent required properties.
func (o *Object) end() {
	o.forms()
	o.chosen()
	if n := o.required; n < 64 && o.seen&(1<<n-1) == 1<<n-1 {
		return
	}
	for i, name := range o.names[:o.required] {
		if !o.has(i) && !o.hides(i) {
			o.r.reportMember([]byte(name), "is required")
		}
	}
}

// Choices narrow the enums of an object's own properties to the values that one caller may send.
// Other values of the enum are refused like values that the enum does not have. They also hide
// properties, in all objects. A Choices is for one document.
type Choices struct {
	// Hidden are the fields that the caller may not see; see [Object.Guard].
	Hidden []string
	// Sent are those of Hidden that the document has, each once. They are for the audit, never for
	// the caller.
	Sent []string

	Of []Choice
	// Refused contains the refused values, and the defaults of absent properties. They are for the
	// audit, never for the caller. Values that the enum does not have are included, so that both
	// take the same time.
	Refused []Refused
}

// Choice is one property of Choices.
type Choice struct {
	Property string
	Values   []string
	// Refused is the default of the property if it is not among Values. The property is required
	// then. It is nil otherwise.
	Refused *string
}

// Refused is a value that a caller may not send.
type Refused struct {
	Property, Value string
	Known           bool // the enum has it
}

// Choose narrows the enums of the arguments and returns r. Call it before the first read.
func (r *Reader) Choose(choices *Choices) *Reader {
	if r.choices = choices; choices != nil {
		choices.Sent = slices.Grow(choices.Sent, len(choices.Hidden)) // whatever the document has
	}
	return r
}

// of returns the choice of a property, or nil.
func (c *Choices) of(property string) *Choice {
	for i := range c.Of {
		if c.Of[i].Property == property {
			return &c.Of[i]
		}
	}
	return nil
}

// narrow returns the allowed values of an enum for the value at hand.
func (c *Choices) narrow(r *Reader, enum []string) []string {
	if len(r.at) != 1 {
		return enum
	}
	choice := c.of(string(r.at[0].name))
	if choice == nil {
		return enum
	}
	refused := func(value string) bool { return !slices.Contains(choice.Values, value) }
	if refused(r.str) {
		known := slices.Contains(enum, r.str)
		c.Refused = append(c.Refused, Refused{choice.Property, r.str, known})
	}
	return slices.DeleteFunc(slices.Clone(enum), refused)
}

// demands reports whether a property is required by the choices.
func (o *Object) demands(name []byte) bool {
	if o.r.choices == nil || o.depth > 0 {
		return false
	}
	choice := o.r.choices.of(string(name))
	return choice != nil && choice.Refused != nil
}

// chosen records the absent properties that the choices require.
func (o *Object) chosen() {
	if o.r.choices == nil || o.depth > 0 {
		return
	}
	for _, choice := range o.r.choices.Of {
		if choice.Refused != nil && o.lacks(choice.Property) {
			o.r.reportMember([]byte(choice.Property), "is required")
			o.r.choices.Refused = append(o.r.choices.Refused,
				Refused{choice.Property, *choice.Refused, true})
		}
	}
}

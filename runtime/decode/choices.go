package decode

import "slices"

// Choices narrow the enums of an object's own properties to the values that one caller may send.
// Other values of the enum are refused like values that the enum does not have. A Choices is for
// one document.
type Choices struct {
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

// ArgumentsOf is [Arguments] with choices, which may be nil.
func ArgumentsOf[T any](arguments []byte, choices *Choices, read func(*Reader, *T)) (T, error) {
	var value, zero T
	r := Begin(arguments).Choose(choices)
	read(r, &value)
	if err := r.Finish(); err != nil {
		return zero, err
	}
	return value, nil
}

// Choose narrows the enums of the arguments and returns r. Call it before the first read.
func (r *Reader) Choose(choices *Choices) *Reader {
	r.choices = choices
	return r
}

// of returns the choice of a property, or nil. A nil Choices has none.
func (c *Choices) of(property string) *Choice {
	if c == nil {
		return nil
	}
	for i := range c.Of {
		if c.Of[i].Property == property {
			return &c.Of[i]
		}
	}
	return nil
}

// narrow returns the values of an enum that the value at hand may have.
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

// chosen notes the absent properties that the choices require.
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

package decode

// Members calls yield with the name, unescaped, and the text of each member of the object
// doc, in its order. Both are valid as long as doc is. Where doc is no object, or is one that [Scan]
// refuses, the error says why, and yield may have been called for some of its members.
func Members(doc []byte, limits Limits, yield func(name, value []byte)) error {
	if f := members(doc, limits, yield); f != nil {
		return NewError([]Problem{f.problem()})
	}
	return nil
}

func members(doc []byte, limits Limits, yield func(name, value []byte)) *fault {
	l, f := newLexer(doc, limits)
	if f != nil {
		return f
	}
	kind, f := l.kind()
	if f != nil {
		return f
	}
	if kind != objectKind {
		return l.broken("an object")
	}
	if f := l.open(); f != nil {
		return f
	}
	var names nameSet
	for first := true; ; first = false {
		more, f := l.more('}', first)
		if f != nil {
			return f
		}
		if !more {
			return l.end()
		}
		name, f := l.name()
		if f != nil {
			return f
		}
		if !names.add(name) {
			return (&fault{rule: duplicate, says: "is twice in its object"}).within(string(name))
		}
		value, f := l.value()
		if f != nil {
			return f.within(string(name))
		}
		yield(name, value)
	}
}

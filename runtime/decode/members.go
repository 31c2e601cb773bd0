package decode

// Members calls yield with the unescaped name and the text of each member of the object doc, in
// order. Both are valid as long as doc is. If doc is no object, or [Scan] refuses it, the error
// reports the problem; yield may have been called for some members before.
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

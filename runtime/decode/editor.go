package decode

// editor copies one document with changes. Without changes it copies nothing.
type editor struct {
	lexer
	out    []byte
	copied int // how much of doc is in out
}

// replace writes text in place of doc[from:to], behind every place that was replaced before.
func (e *editor) replace(from, to int, text string) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.doc))
	}
	e.out = append(append(e.out, e.doc[e.copied:from]...), text...)
	e.copied = to
}

// text returns the document with the changes.
func (e *editor) text() []byte {
	if e.copied == 0 {
		return e.doc
	}
	return append(e.out, e.doc[e.copied:]...)
}

// list reads the list that begins here, each item with a func.
func (e *editor) list(item func(i int) *fault) *fault {
	if f := e.open(); f != nil {
		return f
	}
	for i := 0; ; i++ {
		more, f := e.more(']', i == 0)
		if f != nil || !more {
			return f
		}
		if f := item(i); f != nil {
			return f
		}
	}
}

// object reads the object that begins here, the value of each member with a func. It leaves out the
// members that drop reports.
func (e *editor) object(drop func(name []byte) (bool, *fault), value func() *fault) *fault {
	if f := e.open(); f != nil {
		return f
	}
	kept := false
	for first := true; ; first = false {
		end := e.pos // of the member before
		more, f := e.more('}', first)
		if f != nil || !more {
			return f
		}
		begin := e.pos
		name, f := e.name()
		if f != nil {
			return f
		}
		dropped, f := drop(name)
		if f != nil {
			return f
		}
		if dropped {
			if f := skip(&e.lexer); f != nil {
				return f
			}
			e.replace(end, e.pos, "") // with the comma before it
			continue
		}
		if !kept && !first {
			e.replace(end, begin, "") // the comma after members that were left out
		}
		kept = true
		if f := value(); f != nil {
			return f
		}
	}
}

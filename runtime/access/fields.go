package access

// Hidden returns those of the fields that a principal may not see, in their order. A field without a
// rule is one of them. It is nil if the principal may see all. It does not decide about tools: the
// rule of a field holds in addition to the rule of its tool.
func (t Table) Hidden(p Principal, fields []string) (hidden []string) {
	if len(fields) == 0 {
		return nil
	}
	part := t.part(t.Fields, Fields)
	held := part.mask(&p)
	for _, field := range fields {
		var d Decision
		e, known := part.lookup(field)
		if known {
			part.decideRule(e, &p, held, &d)
		}
		if !d.Allowed {
			hidden = append(hidden, field)
		}
	}
	return hidden
}

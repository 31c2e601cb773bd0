package model

import "slices"

// The facts of a tool, prompt or resource, which its blast radius is computed from.
const (
	Private   = "private"   // it returns data that outsiders must not see
	Untrusted = "untrusted" // it returns text that outsiders wrote
	Egress    = "egress"    // it can send data out
)

// Facts returns all facts, in the order of documents.
func Facts() []string { return []string{Private, Untrusted, Egress} }

// HasFact reports whether a fact counts for a tool. Without facts= all count, except that
// openworld=false removes egress.
func (t Tool) HasFact(fact string) bool {
	if t.Facts != nil {
		return slices.Contains(t.Facts, fact)
	}
	return fact != Egress || t.Hints.OpenWorld == nil || *t.Hints.OpenWorld
}

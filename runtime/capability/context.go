package capability

import "context"

type constraintsKey struct{}

// WithConstraints returns a context that carries the constraints under which a handler runs.
// A server makes it for handlers marked constrained; tests of such handlers make their own.
func WithConstraints(ctx context.Context, constraints []Constraint) context.Context {
	return context.WithValue(ctx, constraintsKey{}, constraints)
}

// Constraints returns the conditions under which the caller holds the permission of the running
// handler. A handler marked constrained applies them in its own query: an object that meets any
// one of them is the caller's to work on. None means all objects.
//
// Without permission-aware discovery a server knows no constraints, and there are none.
func Constraints(ctx context.Context) []Constraint {
	constraints, _ := ctx.Value(constraintsKey{}).([]Constraint)
	return constraints
}

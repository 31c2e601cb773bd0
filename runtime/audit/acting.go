package audit

import "context"

// actingKey is the key of the caller's event in a context.
type actingKey struct{}

// Acting returns a context with the caller's event: Issuer, Principal, Client, Role, RequestID
// and Arguments. A keeper records a change with these fields, because the change itself contains
// a name only.
func Acting(ctx context.Context, by Event) context.Context {
	return context.WithValue(ctx, actingKey{}, by)
}

// WhoActs returns the event that [Acting] put into a context, and whether there is one.
func WhoActs(ctx context.Context) (Event, bool) {
	by, found := ctx.Value(actingKey{}).(Event)
	return by, found
}

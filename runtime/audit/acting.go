package audit

import "context"

// actingKey is where a context has who acts.
type actingKey struct{}

// Acting returns a context with the event of whoever acts: Issuer, Principal, Client, Role, RequestID and Arguments. A
// keeper that is asked for a change records it by that, where the change itself says no more than a name.
func Acting(ctx context.Context, by Event) context.Context {
	return context.WithValue(ctx, actingKey{}, by)
}

// WhoActs returns the event that [Acting] put into a context, and whether there is one.
func WhoActs(ctx context.Context) (Event, bool) {
	by, found := ctx.Value(actingKey{}).(Event)
	return by, found
}

package front

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// What a refused caller lacks, for the audit.
const (
	NeedsAdmin   = "requires the role of an admin"
	NeedsManager = "requires owner, admin or lead"
	NeedsClient  = "requires a client of admin.Options.Clients, and no actor"
	NeedsMember  = "requires membership"
	NeedsAsker   = "must be the requesting client"
)

// By is the event of a request's caller.
func By(p access.Principal, id string) audit.Event {
	e := audit.Event{RequestID: id, Issuer: p.Issuer, Principal: p.Subject, Client: p.ClientID(),
		Roles: p.Roles}
	if p.Actor.Subject != "" {
		e.Actor = new(p.Actor)
	}
	return e
}

// Refused records a refused request: the caller from by, the action, the object and the missing
// right. It records no other input of the caller. If recording fails, the request stays refused
// and the error is logged. A nil sink records nothing.
func Refused(ctx context.Context, sink audit.Sink, log *slog.Logger, by audit.Event, action, object,
	missing string) {
	if sink == nil {
		return
	}
	by.Arguments = nil
	by.Time, by.Type = time.Now(), audit.AdminRequest
	by.End(audit.Denied)
	by.Action, by.Object, by.Missing = action, object, missing
	// The caller may be gone, or their credential ended: that makes it no less worth knowing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := sink.Record(ctx, by); err != nil {
		log.ErrorContext(ctx, "a refused request could not be recorded", "request_id", by.RequestID,
			"error", err)
	}
}

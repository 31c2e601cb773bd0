package front

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// What a refused caller lacks, for the audit.
const (
	NeedsAdmin   = "requires the role of an admin"
	NeedsManager = "requires owner, admin or lead"
	NeedsMember  = "requires membership"
	NeedsAsker   = "must be the requesting client"
)

// Refused records that somebody has asked for what they may not do: who, by the fields of by, and
// how, on what and for the lack of what. Nothing is recorded of what else they sent. It stays
// refused where that cannot be recorded, which is logged. A nil sink records nothing.
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runtime.DefaultAuditTimeout)
	defer cancel()
	if err := sink.Record(ctx, by); err != nil {
		log.ErrorContext(ctx, "a refused request could not be recorded", "request_id", by.RequestID,
			"error", err)
	}
}

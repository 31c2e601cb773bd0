package front

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// Change runs do, which changes grants, and has the change recorded. A [grant.Recorder] records
// it with the caller from the context. For another registry, Change records it at once. do
// returns the action and its object, or nothing if it changed nothing.
//
// An error after do means a change without a record. It is logged.
func Change(ctx context.Context, registry grant.Registry, sink audit.Sink, log *slog.Logger,
	by audit.Event, do func(context.Context) (action, object string, err error)) error {
	action, object, err := do(audit.Acting(ctx, by))
	if err != nil || action == "" || sink == nil {
		return err
	}
	if r, ok := registry.(grant.Recorder); ok && r.RecordsChanges() {
		return nil
	}
	by.Type, by.Status, by.Action, by.Object = audit.Changed, audit.Success, action, object
	if err := record(context.WithoutCancel(ctx), sink, by); err != nil {
		log.ErrorContext(ctx, "a change was made, but could not be recorded", "request_id",
			by.RequestID, "action", action, "object", object, "error", err)
		return err
	}
	return nil
}

// ClearWorkspace clears a client's workspace, and records it as [Change] does.
func ClearWorkspace(ctx context.Context, spaces isolate.Workspaces, sink audit.Sink,
	log *slog.Logger, by audit.Event, client isolate.Client) (found bool, err error) {
	var failed error // with a new workspace for the client, though parts of the old one are left
	err = Change(ctx, nil, sink, log, by, func(ctx context.Context) (string, string, error) {
		if found, failed = spaces.ClearWorkspace(ctx, client); !found {
			return "", "", failed
		}
		return "clear workspace", "workspace of " + AboutClient(client.Issuer, client.ID), nil
	})
	return found, cmp.Or(err, failed)
}

// Reads records a read of the audit trail before it happens, with the filters of the query by name,
// size and digest. If that fails, the trail must not be read. A nil sink records nothing.
func Reads(ctx context.Context, sink audit.Sink, by audit.Event, query url.Values,
	action, object string) error {
	if sink == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(name)
		by.Arguments = append(by.Arguments, audit.Argument{Name: name[:min(len(name), 64)],
			Bytes: len(value), Digest: audit.DigestOf([]byte(value))})
	}
	by.Type, by.Status, by.Action, by.Object = audit.AdminRequest, audit.Success, action, object
	return record(ctx, sink, by)
}

// recordTimeout bounds one record.
const recordTimeout = 5 * time.Second

func record(ctx context.Context, sink audit.Sink, e audit.Event) error {
	e.Time = cmp.Or(e.Time, time.Now())
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	return sink.Record(ctx, e)
}

package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// maxLoggedFailure bounds what a line of the log holds of an error, in bytes.
const maxLoggedFailure = 4 << 10

// logRefused writes a line for what was denied.
func (s *Server) logRefused(ctx context.Context, rec *record, event *audit.Event) {
	if event.Status != audit.Denied {
		return
	}
	message, about := "call refused", []slog.Attr{slog.String("tool", event.Tool)}
	if event.Type != audit.ToolCall {
		message = "request refused"
		about = []slog.Attr{slog.String("event_type", string(event.Type)), slog.String("prompt", event.Prompt), slog.String("resource", event.Resource)}
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, message, append(about,
		slog.String("principal", rec.principal.Subject), slog.String("role", rec.principal.Role),
		slog.String("axis", event.Axis), slog.String("missing", event.Missing), rec.ids())...)
}

// logFailed writes a line for what was allowed and failed: with the words of its handler's error, and without those about what is
// wrong with arguments, which repeat them. What was denied, has panicked or cannot be sent has a line already.
func (s *Server) logFailed(ctx context.Context, rec *record, event *audit.Event, err error) {
	level := slog.LevelInfo
	switch event.Status {
	case audit.Failed, audit.Limited:
	case audit.Timeout:
		level = slog.LevelWarn
	case audit.Invalid:
		level = slog.LevelDebug
	default:
		return
	}
	if errors.Is(err, errAbandoned) { // refusal says so, and what was abandoned may still write to rec
		return
	}
	failure := rec.failure
	if failure == nil {
		var rpc *jsonrpc.Error
		if failure = err; err != nil && !errors.As(err, &rpc) && !errors.Is(err, context.Canceled) {
			return // refusal says so
		}
	}
	misfit := new(decode.Error)
	unfit := event.Status == audit.Invalid || errors.As(failure, &misfit)
	if unfit {
		level = slog.LevelDebug
	}
	if !s.log.Enabled(ctx, level) {
		return
	}
	text := event.Missing // of a credential that ended
	switch {
	case unfit:
		text = "the arguments did not fit"
	case failure != nil:
		text = shortened(s.masked(withoutValues{failure}), maxLoggedFailure)
	}
	attrs := []slog.Attr{slog.String("event_type", string(event.Type)), slog.String(rec.doing.kind, rec.doing.name),
		slog.String("principal", rec.principal.Subject), slog.String("status", string(event.Status))}
	if rec.told.Limit != "" {
		attrs = append(attrs, slog.String("limit", rec.told.Limit))
	}
	s.log.LogAttrs(ctx, level, "call failed", append(attrs, rec.ids(), slog.String("error", text))...)
}

// withoutValues is an error without the values that it could not decode, such as a client's answer to an elicitation.
type withoutValues struct{ error }

func (e withoutValues) Error() string {
	text := e.error.Error()
	var misfit *json.UnmarshalTypeError
	if errors.As(e.error, &misfit) {
		text = strings.ReplaceAll(text, misfit.Error(), fmt.Sprintf("a value that does not fit a %v (field %q)", misfit.Type, misfit.Field))
	}
	return text
}

// failureOf is what an answer says of why a call has failed, nil where it says nothing.
func failureOf(err error, res *mcp.CallToolResult) error {
	if err != nil || res == nil || !res.IsError {
		return err
	}
	var said []string
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok && text != nil {
			said = append(said, text.Text)
		}
	}
	return errors.New(strings.Join(said, "\n"))
}

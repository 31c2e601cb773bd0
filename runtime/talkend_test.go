package runtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is over takes nothing more: go-sdk would refuse it as well, but not for every transport at the same time.
func TestTalkThatIsOverTakesNothing(t *testing.T) {
	over := &talk{ctx: context.Background()}
	over.end()
	over.say(slog.LevelError, json.RawMessage(`{}`))
	over.report(&mcp.ProgressNotificationParams{Progress: 1})
	if over.unsent != nil || over.progress != nil || over.wake != nil || over.dropped != 0 {
		t.Errorf("it has %d messages, progress %v, and a sender: %v", len(over.unsent), over.progress, over.wake != nil)
	}
}

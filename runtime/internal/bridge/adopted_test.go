package bridge

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// A list request does not wait for ever for an adopted server, whether it heeds its context or not,
// nor for a list without an end.
func TestAdoptedServerHasATimeToList(t *testing.T) {
	synctest.Test(t, testTimeToList)
}

func testTimeToList(t *testing.T) {
	for name, next := range map[string]mcp.MethodHandler{
		"it heeds the context": func(ctx context.Context, _ string,
			_ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"it hangs": func(context.Context, string, mcp.Request) (mcp.Result, error) {
			time.Sleep(time.Hour)
			return nil, errors.New("late")
		},
		"it always has another page": func(context.Context, string,
			mcp.Request) (mcp.Result, error) {
			return &mcp.ListToolsResult{NextCursor: "more"}, nil
		},
	} {
		pool := worker.NewPool()
		b := New(Config{Server: mcp.NewServer(&mcp.Implementation{Name: "s"}, nil),
			Guard: guard.New(guard.Config{Log: slog.New(slog.DiscardHandler), Pool: pool})})
		began := time.Now()
		items, err := b.listed(t.Context(), next, "tools/list", &mcp.ListToolsRequest{
			Params: &mcp.ListToolsParams{}, Extra: &mcp.RequestExtra{}})
		if items != nil && items.Tools != nil || err == nil ||
			!strings.Contains(err.Error(), "did not list") {
			t.Errorf("%s: %+v %v", name, items, err)
		}
		if took := time.Since(began); took > maxListing+time.Second {
			t.Errorf("%s: %s", name, took)
		}
		time.Sleep(time.Hour) // until the late run has ended
		pool.Close()
	}
}

package peers

import (
	"context"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/testdata/peers/freight"
)

func BenchmarkHand(b *testing.B) {
	ts := runtime.NewToolset(runtime.Generated{Package: "x", Server: runtime.ServerInfo{Name: "x"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{{Tool: toolName, MinRole: 1}}},
		Tools: []runtime.Tool{{Name: toolName, Input: bookingSchema, Output: receiptSchema, Call: func(ctx context.Context, call runtime.Call) (runtime.Result, error) {
			return runtime.Structured(freight.Book(ctx, freight.Booking{Parcel: "ABC-123456", Depot: 1042, Labels: []string{"fragile", "this side up"}}))
		}}}})
	call := guardedChain(b, ts)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := call("tools/call", callParams); err != nil {
			b.Fatal(err)
		}
	}
}

package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

// BenchmarkCallParts measures what one call through the chain cannot do without, each part alone.
// Their sum is the floor under BenchmarkCall/through=chain/peer=mcpgen: what is above it is the
// guard.
func BenchmarkCallParts(b *testing.B) {
	b.Run("part=go-sdk", func(b *testing.B) { // its own chain, around a handler that does nothing
		server := mcp.NewServer(&mcp.Implementation{Name: "freight"}, nil)
		res := &mcp.CallToolResult{}
		server.AddTool(&mcp.Tool{Name: toolName, InputSchema: json.RawMessage(bookingSchema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil })
		handler, session, extra := taken(b, server)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := handler(context.Background(), "tools/call", request("tools/call", callParams, session, extra)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part=handoff", func(b *testing.B) { // to a goroutine that waits, and back
		there, back := make(chan struct{}, 1), make(chan struct{}, 1)
		go func() {
			for range there {
				back <- struct{}{}
			}
		}()
		defer close(there)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		b.ReportAllocs()
		for b.Loop() {
			there <- struct{}{}
			select {
			case <-back:
			case <-ctx.Done():
			}
		}
	})
	b.Run("part=decode", func(b *testing.B) { // and validate, by the public calls that generated code makes
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decode.Arguments(arguments, readBooking); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part=digests", func(b *testing.B) { // of the arguments, for the audit
		b.ReportAllocs()
		for b.Loop() {
			err := decode.Members(arguments, decode.Limits{}, func(_, value []byte) {
				digest = sha256.Sum256(value)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("part=answer", func(b *testing.B) { // marshalled, and put into a result as content and as text
		in, err := bookingByHand(arguments)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			out, _ := freight.Book(context.Background(), in)
			body, err := json.Marshal(out)
			if err != nil {
				b.Fatal(err)
			}
			text, err := json.Marshal(string(body))
			if err != nil {
				b.Fatal(err)
			}
			finished = append(append(append(append(make([]byte, 0, 512),
				`{"content":[{"type":"text","text":`...), text...), `}],"structuredContent":`...), body...)
			finished = append(finished, '}')
		}
	})
}

// What is measured is kept, so that it is not optimised away.
var (
	digest   [sha256.Size]byte
	finished []byte
)

var (
	bookingProperties = decode.Properties{Required: []string{"parcel", "depot", "weight", "speed", "labels"}}
	parcelPattern     = decode.Pattern{Expr: `^[A-Z]+-[0-9]+$`}
)

// readBooking is freight's generated decoder, which is not exported.
func readBooking(r *decode.Reader, v *freight.Booking) {
	o := r.Object(&bookingProperties)
	for o.Next() {
		switch o.Name {
		case "parcel":
			decode.String(r, &v.Parcel).MinLength(3).MaxLength(32).Match(&parcelPattern)
		case "depot":
			decode.Int(r, &v.Depot, 1, 4094)
		case "weight":
			decode.Float(r, &v.Weight).Minimum("0").Maximum("1000")
		case "speed":
			decode.String(r, &v.Speed).OneOf("slow", "fast", "express")
		case "labels":
			decode.Slice(r, &v.Labels, func(r *decode.Reader, v *string) {
				decode.String(r, v)
			}).MinItems(1).MaxItems(8).Unique()
		}
	}
}

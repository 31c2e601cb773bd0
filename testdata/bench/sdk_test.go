package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

// bookingSchema is what mcpgen generates for freight.Booking.
const bookingSchema = `{"properties":{"parcel":{"type":"string","maxLength":32,"minLength":3,"pattern":"^[A-Z]+-[0-9]+$"},` +
	`"depot":{"type":"integer","maximum":4094,"minimum":1},"weight":{"type":"number","maximum":1000,"minimum":0},` +
	`"speed":{"type":"string","enum":["slow","fast","express"]},` +
	`"labels":{"items":{"type":"string"},"type":"array","maxItems":8,"minItems":1,"uniqueItems":true}},` +
	`"additionalProperties":false,"type":"object","required":["parcel","depot","weight","speed","labels"]}`

// bookGeneric is go-sdk's mcp.AddTool[In, Out], given the same schema.
func bookGeneric() *mcp.Server {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(bookingSchema), &schema); err != nil {
		panic(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "freight"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: toolName, InputSchema: &schema},
		func(ctx context.Context, req *mcp.CallToolRequest, in freight.Booking) (*mcp.CallToolResult, freight.Receipt, error) {
			if !decided(req) {
				return nil, freight.Receipt{}, errRefused
			}
			out, err := freight.Book(ctx, in)
			return nil, out, err
		})
	return server
}

// bookRaw is go-sdk's Server.AddTool with everything else written by hand.
func bookRaw() *mcp.Server { return bookBy(decided) }

func bookBy(decided func(mcp.Request) bool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "freight"}, nil)
	server.AddTool(&mcp.Tool{Name: toolName, InputSchema: json.RawMessage(bookingSchema)},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if !decided(req) {
				return nil, errRefused
			}
			in, err := bookingByHand(req.Params.Arguments)
			if err != nil {
				return failed(err), nil
			}
			out, err := freight.Book(ctx, in)
			if err != nil {
				return failed(err), nil
			}
			body, err := json.Marshal(out)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{
				StructuredContent: json.RawMessage(body),
				Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
			}, nil
		})
	return server
}

func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

var parcelNumber = regexp.MustCompile(`^[A-Z]+-[0-9]+$`)

// bookingByHand is what an author in a hurry would write: encoding/json, then the limits.
func bookingByHand(raw json.RawMessage) (freight.Booking, error) {
	var in freight.Booking
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, err
	}
	if n := utf8.RuneCountInString(in.Parcel); n < 3 || n > 32 || !parcelNumber.MatchString(in.Parcel) {
		return in, fmt.Errorf("parcel is wrong")
	}
	if in.Depot < 1 || in.Depot > 4094 {
		return in, fmt.Errorf("depot is wrong")
	}
	if in.Weight < 0 || in.Weight > 1000 {
		return in, fmt.Errorf("weight is wrong")
	}
	switch in.Speed {
	case freight.Slow, freight.Fast, freight.Express:
	default:
		return in, fmt.Errorf("speed is wrong")
	}
	if len(in.Labels) < 1 || len(in.Labels) > 8 {
		return in, fmt.Errorf("labels are wrong")
	}
	for i, label := range in.Labels {
		for _, other := range in.Labels[:i] {
			if label == other {
				return in, fmt.Errorf("labels are wrong")
			}
		}
	}
	return in, nil
}

// decided asks for the role. Without a token, on a pipe, the caller is the program's owner.
func decided(req mcp.Request) bool {
	extra := req.GetExtra()
	if extra == nil || extra.TokenInfo == nil {
		return true
	}
	role, _ := extra.TokenInfo.Extra["role"].(string)
	return role == "Member"
}

func verify(_ context.Context, bearer string, _ *http.Request) (*auth.TokenInfo, error) {
	if bearer != token {
		return nil, auth.ErrInvalidToken
	}
	return &auth.TokenInfo{UserID: "mel", Extra: map[string]any{"role": "Member"}, Expiration: time.Now().Add(time.Hour)}, nil
}

func sdkPeer(name string, fresh func() *mcp.Server) peer {
	return peer{
		name: name,
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return fresh().Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
		},
		web: func(version string) (http.Handler, error) {
			server := fresh()
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: version == stateless})
			mux := http.NewServeMux()
			mux.Handle("/mcp", auth.RequireBearerToken(verify, nil)(handler))
			return mux, nil
		},
	}
}

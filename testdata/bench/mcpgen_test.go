package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var member = access.Principal{Issuer: "bench", Subject: "mel", Role: "Member"}

func options() runtime.Options {
	return runtime.Options{
		Identity: identity.Static(map[string]access.Principal{identity.HashToken(token): member}),
		Logger:   slog.New(slog.DiscardHandler),
	}
}

func mcpgenPeer(tools func() toolset.Toolset) peer {
	return peer{
		name: "mcpgen",
		chain: func(t testing.TB) func(string, json.RawMessage) ([]byte, error) {
			return guardedChain(t, tools())
		},
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			server, err := runtime.New(options(), tools())
			if err != nil {
				return err
			}
			defer server.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is under way
			return server.RunIO(ctx, in, out, member)
		},
		web: func(t testing.TB, _ string) http.Handler {
			server, err := runtime.New(options(), tools())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
			return server.Handler()
		},
	}
}

// guardedChain takes hold of the whole chain, guard included, by a middleware outside of it, and of
// the session and the carrier of a real call, without which the guard serves nothing. What stands
// outside of the guard is not for users: the server behind it is not handed out, and a
// benchmark takes it by force.
func guardedChain(t testing.TB, toolset toolset.Toolset) func(string, json.RawMessage) ([]byte, error) {
	o := options()
	o.SDKOnly = true // otherwise calls do not pass go-sdk's middleware
	server, err := runtime.New(o, toolset)
	if err != nil {
		t.Fatal(err)
	}
	hidden := reflect.ValueOf(server).Elem().FieldByName("bridge")
	if hidden.IsValid() {
		hidden = hidden.Elem().FieldByName("Server")
	}
	if !hidden.IsValid() || hidden.Type() != reflect.TypeFor[*mcp.Server]() {
		t.Fatal("runtime.Server keeps its *mcp.Server elsewhere now")
	}
	sdk := *(**mcp.Server)(unsafe.Pointer(hidden.UnsafeAddr()))
	var (
		once    sync.Once
		handler mcp.MethodHandler
		session *mcp.ServerSession
		extra   *mcp.RequestExtra
	)
	sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok {
				once.Do(func() { handler, session, extra = next, r.Session, r.Extra })
			}
			return next(ctx, method, req)
		}
	})
	w := dial(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return server.RunIO(ctx, in, out, member)
	})
	w.call(t, "tools/call", callParams)
	return func(method string, params json.RawMessage) ([]byte, error) {
		res, err := handler(context.Background(), method, request(method, params, session, extra))
		if err != nil {
			return nil, err
		}
		return bytesOf(res)
	}
}

// request is what go-sdk makes of a message before its middleware sees it.
func request(method string, params json.RawMessage, session *mcp.ServerSession, extra *mcp.RequestExtra) mcp.Request {
	if method == "tools/list" {
		return &mcp.ListToolsRequest{Session: session, Params: &mcp.ListToolsParams{}, Extra: extra}
	}
	p := mcp.CallToolParamsRaw{Name: toolName, Arguments: arguments}
	if string(params) != string(callParams) {
		p.Arguments = nil
		if err := json.Unmarshal(params, &p); err != nil {
			panic(err)
		}
	}
	return &mcp.CallToolRequest{Session: session, Params: &p, Extra: extra}
}

var errRefused = errors.New("refused")

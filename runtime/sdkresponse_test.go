package runtime_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Some errors of 2026-07-28 have an HTTP status of their own, unless an event stream has begun.
func TestErrorBehindALogIsAnEventOfItsStream(t *testing.T) {
	for _, code := range []int64{jsonrpc.CodeInvalidParams, jsonrpc.CodeMethodNotFound,
		jsonrpc.CodeInternalError, -32022, -32021, -32001, 5} {
		s := newServer(t, runtime.Options{},
			oneTool("work", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				runtime.Logger(ctx).Info("hello")
				runtime.Progress(ctx).Report(1, 2, "half")
				var none toolset.Result
				return none, &jsonrpc.Error{Code: code, Message: "no"}
			}))
		url := serve(t, s)
		for _, era := range eras {
			for name, wants := range map[string]struct{ level, meta string }{"nothing": {},
				"logs": {level: "info"}, "progress": {meta: `"progressToken":1`}} {
				l := overHTTP(t, url, tokens["Member"], era)
				if wants.meta != "" {
					l.wants(t, wants.level, wants.meta)
				} else {
					l.wants(t, wants.level)
				}
				got := l.call(t, "work", `{}`)
				if answer := got.response(t); answer.Error == nil || answer.Error.Code != code ||
					(len(got) > 1) != (name != "nothing") {
					t.Errorf("%s, code %d, a client that wants %s: %s", era, code, name, got)
				}
			}
		}
	}
}

// What waits for a client that does not read is dropped, and the answer cut off, so that nothing is
// left of it.
func TestClientThatNeverReadsIsLetGo(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		log := runtime.Logger(ctx)
		for ctx.Err() == nil { // more than the connection holds
			log.Info(strings.Repeat("x", 60<<10))
		}
	}))
	s.Hasten(100 * time.Millisecond)
	web := httptest.NewUnstartedServer(s.Handler())
	web.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if err := conn.(*net.TCPConn).SetWriteBuffer(4096); err != nil {
			t.Error(err)
		}
		return ctx
	}
	web.Start()
	defer web.Close()
	host := strings.TrimPrefix(web.URL, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug"}}}`
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: work\r\nContent-Length: %d\r\n\r\n%s", host, tokens["Member"], len(body), body)
	if _, err := conn.Read(make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("the server cannot end for a client that does not read: %v", err)
	}
}

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

// peer is one way to serve. Each peer verifies a token over HTTP and decides by the caller's role;
// of a call it also reads and validates the arguments. None has an audit.
type peer struct {
	name string
	// serve answers one message a line until the input ends.
	serve func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
	// web answers over HTTP at /mcp, in the given protocol version.
	web func(version string) (http.Handler, error)
}

// peersOf are the peers with so many tools, or with the package freight.
func peersOf(tools int) []peer {
	if tools > 0 {
		return manyPeers(tools)
	}
	return append(callPeers(), serverPeer(changing, changingServer))
}

// callPeers are those that are measured with calls. The first one is mcpgen.
func callPeers() []peer {
	return []peer{
		mcpgenPeer(freight.Toolset),
		serverPeer("nonblocking", nonBlocking),
		sdkPeer("raw", bookRaw), sdkPeer("generic", bookGeneric),
		mcpgoPeer("mcp-go", bookMCPGo), serverPeer("adopted", adopted),
		serverPeer("shape", func() (*runtime.Server, error) {
			return runtime.New(options(), shapeToolset())
		}),
	}
}

const (
	toolName = freight.ToolBook
	token    = "a-token-of-the-benchmark"
)

var arguments = json.RawMessage(`{"parcel":"ABC-123456","depot":1042,"weight":12.5,"speed":"fast","labels":["fragile","this side up"]}`)

var callParams = json.RawMessage(`{"name":"` + toolName + `","arguments":` + string(arguments) + `}`)

// wrong are arguments that break every one of the five limits.
var wrongParams = json.RawMessage(`{"name":"` + toolName + `","arguments":{"parcel":"x","depot":5000,"weight":-1,"speed":"idle","labels":["a","a"]}}`)

// checkResponse fails where bytes are not the response to a call that went well.
func checkResponse(t testing.TB, body []byte) {
	t.Helper()
	if !bytes.Contains(body, []byte(`"number":"R-ABC-123456"`)) || !bytes.Contains(body, []byte(`"structuredContent"`)) {
		t.Fatalf("not the answer: %s", body)
	}
}

func line(id int, method string, params json.RawMessage) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
}

var initializeParams = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)

const statelessMeta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}` + "\n"

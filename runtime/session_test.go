package runtime_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
)

const handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// opening tries to open a session and returns the answer.
func opening(t *testing.T, url, token string) reply {
	t.Helper()
	c := &raw{url: url, token: token, client: http.Client{Timeout: 20 * time.Second}}
	return c.send(t, "POST", handshake, nil)
}

// opensAgain waits until a session can be opened: its room is given back behind the answer.
func opensAgain(t *testing.T, url, token string) {
	t.Helper()
	soon(t, "a session opens", func() bool {
		return opening(t, url, token).status == http.StatusOK
	})
}

func TestHandshakesAreBounded(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	long := strings.Replace(handshake, `"raw"`, `"`+strings.Repeat("n", 64<<10)+`"`, 1)
	if got := c.send(t, "POST", long, map[string]string{"Mcp-Session-Id": "",
		"Mcp-Protocol-Version": ""}); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%s", got)
	}
	if got := c.call(t, "get_by_id", `,"arguments":{"id":"`+strings.Repeat("n", 64<<10)+`"}`,
		nil); got.status != 200 {
		t.Errorf("a call on a session: %d", got.status)
	}
}

// TestUncheckedHostsAreWarnedOf calls a handler as over a public address, and as over loopback.
func TestUncheckedHostsAreWarnedOf(t *testing.T) {
	for _, test := range []struct {
		name    string
		options runtime.Options
		local   bool
		warned  bool
	}{
		{"anonymous callers over any address", runtime.Options{Anonymous: true}, false, true},
		{"anonymous callers over loopback", runtime.Options{Anonymous: true}, true, false},
		{"listed hosts", runtime.Options{Anonymous: true,
			HTTP: runtime.HTTPOptions{Hosts: []string{"example.com"}}},
			false, false},
		{"no anonymous callers", runtime.Options{}, false, false},
	} {
		var log journal
		test.options.Logger = log.logger()
		h := newServer(t, test.options, directory(&desk{})).Handler()
		for range 2 {
			if test.local {
				ts := httptest.NewServer(h)
				c := &raw{url: ts.URL + "/mcp"}
				c.send(t, "GET", "", nil)
				ts.Close()
				continue
			}
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "http://example.com/mcp",
				nil))
		}
		want := 0
		if test.warned {
			want = 1
		}
		if n := strings.Count(log.String(), "Options.HTTP.Hosts"); n != want {
			t.Errorf("%s: warned %d times:\n%s", test.name, n, log.String())
		}
	}
}

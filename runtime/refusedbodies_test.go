package runtime_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
)

// sent sends a request whose head ends before the header of its length, with a body, on its own
// connection. It returns how much of the body the server has read, which a pipe has none of, and
// the response.
func sent(t *testing.T, address, head string, body []byte, chunked bool) (read int, status string,
	retry bool) {
	t.Helper()
	conn, err := memnet.Dialer{}.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	if chunked {
		length = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n", len(body))
	}
	written := make(chan int)
	go func() {
		n := 0
		if _, err := io.WriteString(conn, head+length); err == nil {
			n, _ = conn.Write(body)
		}
		if n == len(body) && chunked {
			_, _ = io.WriteString(conn, "\r\n0\r\n\r\n")
		}
		written <- n
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = conn.Close()
	return <-written, response.Status[:3], response.Header.Get("Retry-After") != ""
}

// The bytes of a caller's refused bodies that the server reads are bounded in number and in rate.
func TestRefusedLargeBodiesHaveARate(t *testing.T) {
	t.Parallel()
	const (
		most, rate = 16 << 20, 64 << 10
		requests   = 200
		slack      = 32 << 10 // of one request: what net/http has read with the head
	)
	large := []byte(strings.Repeat("x", 200<<10))
	post := func(path, headers string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
			"Accept: application/json, text/event-stream\r\n" + headers
	}
	admin := "Authorization: Bearer " + tokens["Admin"] + "\r\n"
	modern := "Mcp-Protocol-Version: 2026-07-28\r\n"
	for name, c := range map[string]struct{ head, status, later string }{
		"nobody":        {post("/mcp", ""), "401", "401"},
		"a wrong token": {post("/mcp", "Authorization: Bearer x\r\n"), "401", "429"},
		"another site":  {post("/mcp", "Origin: https://evil.example\r\n"), "403", "403"},
		"another path":  {post("/nothing", ""), "404", "404"},
		"a probe":       {post("/healthz", ""), "405", "405"},
		"no console":    {post("/api/v1/orgs", ""), "404", "404"},
		"no JSON":       {post("/mcp", admin+modern), "400", "429"},
		"no session":    {post("/mcp", admin+"Mcp-Session-Id: x\r\n"), "400", "429"},
		"a handshake":   {post("/mcp", admin), "413", "429"},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprint(name, chunked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, runtime.Options{}, directory(&desk{}))
					address := strings.TrimSuffix(strings.TrimPrefix(serve(t, s), "http://"),
						runtime.PathMCP)
					defer time.Sleep(time.Second) // until net/http has closed the connections
					start, total := time.Now(), 0
					for i := range requests {
						read, status, retry := sent(t, address, c.head, large, chunked)
						if total += read; status != c.status && status != c.later ||
							retry != (status == "429") {
							t.Fatalf("request %d: %s, Retry-After %t", i, status, retry)
						}
					}
					bound := most + len(large) + requests*slack +
						int(time.Since(start).Seconds()*rate)
					if total > bound {
						t.Errorf("the server read %d of %d bytes, want at most %d", total,
							requests*len(large), bound)
					}
					// Small bodies are served, and large ones again after a while.
					call := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":` +
						`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
					_, small, _ := sent(t, address, post("/mcp", admin+modern), []byte(call), chunked)
					time.Sleep(time.Hour)
					_, later, _ := sent(t, address, c.head, large, chunked)
					if small == "429" || later != c.status {
						t.Errorf("a small body gets %s, and after a while the large one %s", small, later)
					}
				})
			})
		}
	}
}

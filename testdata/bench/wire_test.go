package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// wire is a client on a pair of pipes, one message a line. It does as little as it can, so that
// what is measured is the server.
type wire struct {
	out io.Writer
	in  *bufio.Reader
	id  int
}

// dial connects a client to a server that is served over pipes, and shakes hands.
func dial(t testing.TB, serve func(context.Context, io.ReadCloser, io.WriteCloser) error) *wire {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The pipes are torn down below, of which some servers make an error.
		_ = serve(ctx, fromClient, toClient)
	}()
	t.Cleanup(func() {
		cancel()
		_ = toServer.Close()
		_ = fromServer.Close()
		<-done
	})
	w := &wire{out: toServer, in: bufio.NewReaderSize(fromServer, 4<<20)}
	w.call(t, "initialize", initializeParams)
	if _, err := io.WriteString(toServer, initialized); err != nil {
		t.Fatal(err)
	}
	return w
}

// call sends one request and returns the line that answers it, which the next call overwrites.
func (w *wire) call(t testing.TB, method string, params json.RawMessage) []byte {
	w.id++
	if _, err := w.out.Write(line(w.id, method, params)); err != nil {
		t.Fatal(err)
	}
	for {
		answer, err := w.in.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(answer, []byte(`"id":`)) {
			return answer
		}
	}
}

// visit is a client over HTTP.
type visit struct {
	client  *http.Client
	url     string
	session string
	id      int
}

func visiting(t testing.TB, handler http.Handler) *visit {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	v := &visit{client: web.Client(), url: web.URL + "/mcp"}
	t.Cleanup(v.client.CloseIdleConnections)
	v.post(t, line(0, "initialize", initializeParams))
	v.post(t, []byte(initialized))
	return v
}

func (v *visit) call(t testing.TB, method string, params json.RawMessage) []byte {
	v.id++
	return v.post(t, line(v.id, method, params))
}

func (v *visit) post(t testing.TB, body []byte) []byte {
	req, err := http.NewRequest(http.MethodPost, v.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	if v.session != "" {
		req.Header.Set("Mcp-Session-Id", v.session)
	}
	res, err := v.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 300 {
		t.Fatalf("%s: %s", res.Status, answer)
	}
	if session := res.Header.Get("Mcp-Session-Id"); session != "" {
		v.session = session
	}
	return answer
}

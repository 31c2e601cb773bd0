package runtime_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
)

// pipedHTTP serves HTTP over net.Pipe until the test ends, so that it works inside
// testing/synctest. The client sends a token.
func pipedHTTP(t testing.TB, s *runtime.Server, token string) (url string, client *http.Client) {
	t.Helper()
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	web := &http.Server{Handler: s.Handler()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = web.Serve(l) // ends with the test
	}()
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = web.Close()
		<-ended
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	return "http://localhost" + s.Path(), &http.Client{Transport: withToken{transport, token}}
}

// withToken sends a token.
type withToken struct {
	http.RoundTripper
	token string
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.RoundTripper.RoundTrip(r)
}

// pipeListener is a net.Listener of connections by net.Pipe.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

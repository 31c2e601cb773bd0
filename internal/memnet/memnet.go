// Package memnet is a network without sockets, for tests: its connections are those of net.Pipe.
// Servers and clients of net/http work on it inside a bubble of testing/synctest, where time passes
// only while every goroutine waits.
package memnet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// Listener is a net.Listener whose connections come from [Dialer].
type Listener struct {
	conns     chan net.Conn
	closed    chan struct{}
	close     func()
	addr      *net.TCPAddr
	transport *http.Transport // of clients, in the listener's bubble
}

var (
	ports     atomic.Uint32
	listeners sync.Map // by address
)

// Listen returns a listener with a port that no other open listener has. A port is used again as
// late as possible: clients of a closed listener may still dial it.
func Listen() *Listener {
	l := &Listener{conns: make(chan net.Conn), closed: make(chan struct{}),
		addr:      address(nil, 0),
		transport: &http.Transport{DialContext: Dialer{}.DialContext}}
	for taken := true; taken; {
		l.addr.Port = 1 + int(ports.Add(1)-1)%65535
		_, taken = listeners.LoadOrStore(l.addr.String(), l)
	}
	l.close = sync.OnceFunc(func() {
		listeners.Delete(l.addr.String())
		l.transport.CloseIdleConnections()
		close(l.closed)
	})
	return l
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It never fails.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return l.addr }

// Dialer connects to listeners of this package.
type Dialer struct {
	From net.IP // the address of the client, 127.0.0.1 by default
}

// DialContext is as that of net.Dialer.
func (d Dialer) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	found, ok := listeners.Load(addr)
	if !ok {
		return nil, fmt.Errorf("memnet: no listener at %s", addr)
	}
	l, from := found.(*Listener), address(d.From, 1)
	client, server := net.Pipe()
	select {
	case l.conns <- conn{server, l.addr, from}:
		return conn{client, from, l.addr}, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func address(ip net.IP, port int) *net.TCPAddr {
	if ip == nil {
		ip = net.IPv4(127, 0, 0, 1)
	}
	return &net.TCPAddr{IP: ip, Port: port}
}

// conn has the addresses that audit records and limits by address need.
type conn struct {
	net.Conn
	local, remote net.Addr
}

func (c conn) LocalAddr() net.Addr  { return c.local }
func (c conn) RemoteAddr() net.Addr { return c.remote }

// Transport sends HTTP requests to the listeners of this package. Each listener has connections of
// its own, so that Transport may be used in and outside of bubbles.
type Transport struct {
	Other http.RoundTripper // for other hosts, or nil
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if l, ok := listeners.Load(r.URL.Host); ok {
		return l.(*Listener).transport.RoundTrip(r)
	}
	if t.Other == nil {
		return nil, fmt.Errorf("memnet: no listener at %s", r.URL.Host)
	}
	return t.Other.RoundTrip(r)
}

// Start serves HTTP until the test ends, and returns the URL without a path.
func Start(t testing.TB, web *http.Server) string {
	l := Listen()
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	t.Cleanup(func() {
		_ = web.Close() // the error is that of the listener, which never fails
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving in memory: %v", err)
		}
	})
	return "http://" + l.addr.String()
}

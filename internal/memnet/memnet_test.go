package memnet_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
)

// peer answers with the address of the client.
var peer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, r.RemoteAddr)
})

func get(t *testing.T, transport http.RoundTripper, url string) string {
	t.Helper()
	client := http.Client{Transport: transport}
	res, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestURLsLeadToTheirServers(t *testing.T) {
	first := memnet.Start(t, &http.Server{Handler: peer})
	second := memnet.Start(t, &http.Server{Handler: http.NotFoundHandler()})
	elsewhere := &http.Transport{DialContext: memnet.Dialer{From: net.IPv4(10, 0, 0, 1)}.DialContext}
	defer elsewhere.CloseIdleConnections()
	const unknown = "http://127.0.0.1:65535"
	for _, test := range []struct {
		transport http.RoundTripper
		url, want string
	}{
		{memnet.Transport{}, first, "127.0.0.1:1"},
		{memnet.Transport{}, second, "404 page not found\n"},
		{elsewhere, first, "10.0.0.1:1"},
		{memnet.Transport{}, unknown, "no listener at 127.0.0.1:65535"},
		{elsewhere, unknown, "no listener at 127.0.0.1:65535"},
		{memnet.Transport{Other: http.NewFileTransport(http.Dir("testdata"))}, unknown + "/none",
			"404 page not found\n"},
	} {
		if got := get(t, test.transport, test.url); !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %q", test.url, got)
		}
	}
}

func TestClosedListenerHasNoConnections(t *testing.T) {
	l := memnet.Listen()
	dialed := make(chan error)
	go func() {
		_, err := memnet.Dialer{}.DialContext(t.Context(), "tcp", l.Addr().String())
		dialed <- err
	}()
	l.Close()
	if err := <-dialed; err == nil {
		t.Error("a connection")
	}
	if _, err := l.Accept(); err != net.ErrClosed {
		t.Errorf("Accept: %v", err)
	}
}

func TestPortsAreThoseOfNoOpenListener(t *testing.T) {
	open := memnet.Listen()
	defer open.Close()
	for range 1 << 16 {
		l := memnet.Listen()
		l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		if port < 1 || port > 65535 || port == open.Addr().(*net.TCPAddr).Port {
			t.Fatalf("port %d, and %v is open", port, open.Addr())
		}
	}
}

func TestTimeIsThatOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Hour
		url := memnet.Start(t, &http.Server{Handler: peer, ReadHeaderTimeout: limit})
		conn, err := memnet.Dialer{}.DialContext(t.Context(), "tcp",
			strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := io.ReadAll(conn); err != nil || time.Since(start) != limit {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
	})
}

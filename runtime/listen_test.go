//go:build unix

package runtime_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

// serving serves on a free port, and returns the base URL and the result of Serve.
func serving(t *testing.T, ctx context.Context, s *runtime.Server,
	opts ...runtime.ListenOption) (url string, ended chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- runtime.Serve(ctx, l, s, opts...) }()
	return "http://" + l.Addr().String(), ended
}

func statusOf(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	got, err := client.Get(url)
	if err != nil {
		return 0
	}
	got.Body.Close()
	return got.StatusCode
}

func toSelf(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}

// A signal or the end of the context lets the running call end, while new messages get 503.
func TestServeEndsAfterItsRunningCalls(t *testing.T) {
	for name, end := range map[string]func(*testing.T, context.CancelFunc){
		"SIGINT":  func(t *testing.T, _ context.CancelFunc) { toSelf(t, syscall.SIGINT) },
		"SIGTERM": func(t *testing.T, _ context.CancelFunc) { toSelf(t, syscall.SIGTERM) },
		"context": func(_ *testing.T, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeld()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url, ended := serving(t, ctx, newServer(t, runtime.Options{}, h.tools()))
			c := newRaw(t, url+"/mcp", tokens["Member"], "2026-07-28")
			ready := http.Client{Timeout: time.Minute}
			if got := statusOf(t, &ready, url+"/readyz"); got != 200 {
				t.Fatal(got)
			}
			running := c.later(t, "hold")
			<-h.started
			end(t, cancel)
			for statusOf(t, &ready, url+"/readyz") != 503 { // until the signal has arrived
			}
			if got := c.call(t, "hold", "", nil); got.status != 503 {
				t.Errorf("a new call: %s", got)
			}
			h.release <- struct{}{}
			if got := <-running; got.status != 200 || strings.Contains(got.body, "isError") {
				t.Errorf("the running call: %s", got)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := statusOf(t, &ready, url+"/readyz"); got != 0 {
				t.Errorf("the listener is open: %d", got)
			}
		})
	}
}

func TestSecondSignalEndsServeAtOnce(t *testing.T) {
	for _, signals := range []bool{false, true} {
		ctx := t.Context()
		if signals { // the context ends at the first signal
			var stop func()
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
		}
		h := newHeld()
		s := newServer(t, runtime.Options{}, h.tools())
		url, ended := serving(t, ctx, s, runtime.ShutdownTimeout(time.Hour))
		client := connectHTTP(t, url+"/mcp", tokens["Member"], "2026-07-28")
		running := make(chan error)
		go func() {
			_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "hold"})
			running <- err
		}()
		<-h.started
		toSelf(t, syscall.SIGTERM)
		for statusOf(t, http.DefaultClient, url+"/readyz") != 503 { // until the signal has arrived
		}
		toSelf(t, syscall.SIGINT)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "second interrupt") {
			t.Error(err)
		}
		if err := <-running; err == nil {
			t.Error("the call has an answer")
		}
		h.release <- struct{}{}
	}
}

func TestCallsAreCancelledAfterTheShutdownTimeout(t *testing.T) {
	t.Parallel()
	h := newHeld()
	ctx, cancel := context.WithCancel(t.Context())
	url, ended := serving(t, ctx, newServer(t, runtime.Options{}, h.tools()),
		runtime.ShutdownTimeout(time.Millisecond))
	running := newRaw(t, url+"/mcp", tokens["Member"], "2026-07-28").later(t, "hold")
	<-h.started
	cancel()
	if err := <-h.ended; err == nil {
		t.Error("the context of the call has not ended")
	}
	if err := <-ended; err != context.DeadlineExceeded {
		t.Error(err)
	}
	<-running
}

func TestListenErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, newHeld().tools())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().String()
	ok := http.NotFoundHandler()
	for _, test := range []struct {
		addr, want string
		opts       []runtime.ListenOption
	}{
		{taken, "the MCP server cannot listen: listen tcp " + taken +
			": bind: address already in use",
			nil},
		{"127.0.0.1:0", "runtime.TLSFiles: open no.pem: no such file",
			[]runtime.ListenOption{runtime.TLSFiles("no.pem", "no.key")}},
		{"127.0.0.1:0", "runtime.Mount: ", []runtime.ListenOption{runtime.Mount("GET /", ok),
			runtime.Mount("a b c", ok)}},
	} {
		err := runtime.ListenAndServe(t.Context(), test.addr, s, test.opts...)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

func TestMountedHandlerIsServedBesideMCP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, runtime.Options{HTTP: runtime.HTTPOptions{Path: "/tools"}}, newHeld().tools())
	urls, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- runtime.ListenAndServe(ctx, "127.0.0.1:0", s, runtime.Mount("GET /metrics",
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) })),
			runtime.OnListen(func(url string) { urls <- url }))
	}()
	url := <-urls
	base, found := strings.CutSuffix(url, "/tools")
	if !found {
		t.Error(url)
	}
	for path, want := range map[string]int{"/metrics": 299, "/readyz": 200, "/tools": 401,
		"//tools": 404, "/x/../tools": 404} {
		if got := statusOf(t, http.DefaultClient, base+path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// certificate is a certificate and its key in PEM.
func certificate(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := &x509.Certificate{SerialNumber: big.NewInt(serial),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}}}
	der, err := x509.CreateCertificate(rand.Reader, text, text, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// A client without a credential can fail any number of handshakes, so they are no warnings.
func TestFailedHandshakesAreLoggedForDebugging(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certText, keyText := certificate(t, 1)
	for name, text := range map[string][]byte{cert: certText, key: keyText} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log lines
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelDebug)}, newHeld().tools())
	urls := make(chan string, 1)
	_, ended := serving(t, ctx, s, runtime.TLSFiles(cert, key),
		runtime.OnListen(func(url string) { urls <- url }))
	address, err := url.Parse(<-urls)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("no handshake\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the server ends the connection
	conn.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "TLS handshake error") {
			if !strings.Contains(line, `"level":"DEBUG"`) {
				t.Errorf("%s", line)
			}
			return
		}
	}
	t.Errorf("no handshake failed: %s", log.String())
}

func TestCertificateIsReadAgainWhenItsFilesChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	// replace renames: a server reads an old or a new file, never a part of one.
	replace := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(name+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	certs, keys := [3][]byte{}, [3][]byte{}
	for i := range certs {
		certs[i], keys[i] = certificate(t, int64(i+1))
	}
	replace(cert, certs[0])
	replace(key, keys[0])
	var log lines
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo)}, newHeld().tools())
	urls := make(chan string, 1)
	_, ended := serving(t, ctx, s, runtime.TLSFiles(cert, key),
		runtime.OnListen(func(url string) { urls <- url }))
	url := strings.TrimSuffix(<-urls, "/mcp") + "/healthz"
	served := func(want int64) {
		t.Helper()
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		got, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if n := got.TLS.PeerCertificates[0].SerialNumber.Int64(); n != want {
			t.Errorf("certificate %d, want %d", n, want)
		}
	}
	served(1)
	const kept = "the changed TLS certificate cannot be used; the server keeps the old one"
	replace(cert, certs[1]) // without its key
	served(1)
	served(1)
	replace(key, keys[1])
	served(2)
	replace(key, []byte("no key"))
	served(2)
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	served(2)
	replace(cert, certs[2])
	replace(key, keys[2])
	served(3)
	if n := len(log.of(t, kept)); n != 3 || strings.Contains(log.String(), "PRIVATE KEY") {
		t.Errorf("%d errors in the log: %s", n, log.String())
	}
	if n := len(log.of(t, "the TLS certificate was read again")); n != 2 {
		t.Errorf("%d changes in the log", n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A flood of connections without a valid credential, whatever they send, closes the oldest of them,
// and no connection of an authenticated caller. A new caller is admitted during the flood.
func TestConnectionsWithoutAnAuthenticatedRequestHaveAShare(t *testing.T) {
	t.Parallel()
	const most = 4
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certText, keyText := certificate(t, 1)
	for name, text := range map[string][]byte{cert: certText, key: keyText} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for scheme, opts := range map[string][]runtime.ListenOption{
		"http": nil, "https": {runtime.TLSFiles(cert, key)},
	} {
		var log lines
		s := newServer(t, runtime.Options{Logger: log.at(slog.LevelWarn)}, newHeld().tools())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		url, ended := serving(t, ctx, s, append(opts, runtime.Strangers(most))...)
		address := strings.TrimPrefix(url, "http://")
		// reused is whether a call has used a connection of an earlier one.
		call := func(client *http.Client, token string) (status int, reused bool) {
			t.Helper()
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+address+"/mcp",
				strings.NewReader(handshake))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"*/*"},
				"Authorization": {"Bearer " + token}}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			return response.StatusCode, reused
		}
		client := func() *http.Client {
			own := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
			t.Cleanup(own.CloseIdleConnections)
			return &http.Client{Transport: own, Timeout: time.Minute}
		}
		known := client()
		if status, _ := call(known, tokens["Member"]); status != http.StatusOK {
			t.Fatal(scheme, status)
		}
		var flood []net.Conn
		for i := range 5 * most {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			sent := []string{"", "POST /mcp HTTP/1.1\r\nHost: x\r\n",
				"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n"}[i%3]
			if scheme == "https" {
				sent = "" // no handshake
			}
			if _, err := io.WriteString(conn, sent); err != nil {
				t.Fatal(err)
			}
			flood = append(flood, conn)
			if i%most != 0 {
				continue
			}
			if status, _ := call(client(), tokens["Admin"]); status != http.StatusOK {
				t.Errorf("%s: a new caller gets %d", scheme, status)
			}
		}
		for _, conn := range flood[:len(flood)-most] {
			_, _ = io.Copy(io.Discard, conn) // until the server has closed it
		}
		if status, reused := call(known, tokens["Member"]); status != http.StatusOK || !reused {
			t.Errorf("%s: the authenticated caller gets %d, on its connection: %t", scheme, status,
				reused)
		}
		if got := strings.Count(log.String(), "connections without an authenticated request"); got != 1 {
			t.Errorf("%s: %d lines in the log:\n%s", scheme, got, log.String())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

package runtime

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/internal/descriptors"
	"github.com/mcpgen/mcpgen/runtime/internal/keypair"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
)

// A ListenOption is a setting of [ListenAndServe] and [Serve].
type ListenOption func(*listenConfig)

type listenConfig struct {
	certFile, keyFile string
	beside            map[string]http.Handler
	grace             time.Duration
	listening         func(url string)
	strangers         int // connections without an authenticated request
}

// TLSFiles serves HTTPS with a certificate and its key, both in PEM. The server reads the files
// again when they have changed. If the new ones cannot be used, it keeps the old ones and logs
// that.
func TLSFiles(certFile, keyFile string) ListenOption {
	return func(c *listenConfig) { c.certFile, c.keyFile = certFile, keyFile }
}

// Mount serves another handler beside the MCP endpoint, such as one of metrics. The pattern is one
// of [http.ServeMux]. mcpgen neither authenticates nor limits the requests of this handler.
func Mount(pattern string, handler http.Handler) ListenOption {
	return func(c *listenConfig) {
		if c.beside == nil {
			c.beside = map[string]http.Handler{}
		}
		c.beside[pattern] = handler
	}
}

// ShutdownTimeout is how long a shutdown waits for running calls. The default is 20 seconds.
// Kubernetes kills a process 30 seconds after SIGTERM, and Docker after 10 seconds, by default.
func ShutdownTimeout(d time.Duration) ListenOption {
	return func(c *listenConfig) { c.grace = d }
}

// OnListen calls a function with the URL of the MCP endpoint as soon as the server accepts
// connections. With port 0 the URL has the port that the system chose.
func OnListen(f func(url string)) ListenOption {
	return func(c *listenConfig) { c.listening = f }
}

// ListenAndServe serves [Server.Handler] on a TCP address until ctx ends or the process gets
// SIGINT or SIGTERM. It then shuts down in this order, and returns nil if that succeeds:
//
//  1. /readyz and new messages get 503 ([Server.Shutdown]).
//  2. Running calls end, at most for [ShutdownTimeout]. Those that have not ended are cancelled.
//  3. All sessions and streams are closed.
//  4. The listener and all connections are closed.
//
// At the second signal it closes all connections and returns an error at once.
//
// Headers of a request may take 10 seconds, and a connection without a request is closed after two
// minutes. On Unix, connections that have carried no authenticated request have half of the file
// descriptors of the process. For one more, the server closes the oldest of them. There is no
// timeout for responses, which may be streams: see [Server.Handler]. What handlers use, such as a
// database, is closed by the caller after ListenAndServe has returned.
func ListenAndServe(ctx context.Context, addr string, s *Server, opts ...ListenOption) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("the MCP server cannot listen: %w", err)
	}
	return Serve(ctx, listener, s, opts...)
}

// Serve is [ListenAndServe] for a listener that exists already. It closes the listener.
func Serve(ctx context.Context, listener net.Listener, s *Server, opts ...ListenOption) error {
	defer listener.Close()
	c := listenConfig{grace: 20 * time.Second, strangers: descriptors.Limit() / 2}
	for _, set := range opts {
		set(&c)
	}
	web, err := c.webServer(s)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	url := "http://" + listener.Addr().String() + s.Path()
	if web.TLSConfig != nil {
		url = strings.Replace(url, "http", "https", 1)
	}
	s.opts.Logger.Info("listening", "url", url)
	if c.listening != nil {
		c.listening(url)
	}
	failed := make(chan error, 1)
	go func() {
		if web.TLSConfig != nil {
			failed <- web.ServeTLS(listener, "", "")
		} else {
			failed <- web.Serve(listener)
		}
	}()
	received := 0
	select {
	case err := <-failed:
		return errors.Join(err, c.shutdown(ctx, s, web, signals, 1))
	case <-signals:
		received++
	case <-ctx.Done():
	}
	return c.shutdown(ctx, s, web, signals, received)
}

// webServer mounts all handlers.
func (c *listenConfig) webServer(s *Server) (_ *http.Server, err error) {
	web := &http.Server{Handler: s.Handler(),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: log.New(webLog{s.opts.Logger}, "", 0)}
	limitStrangers(web, c.strangers, s.opts.Logger)
	if len(c.beside) > 0 {
		mux := http.NewServeMux()
		defer func() {
			if p := recover(); p != nil { // of ServeMux.Handle, which has no error
				err = fmt.Errorf("runtime.Mount: %v", p)
			}
		}()
		own := web.Handler
		mux.Handle("/", own)
		for pattern, handler := range c.beside {
			mux.Handle(pattern, handler)
		}
		web.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, pattern := mux.Handler(r); pattern == "/" {
				own.ServeHTTP(w, r) // without the redirects of the mux
				return
			}
			mux.ServeHTTP(w, r)
		})
	}
	if c.certFile != "" || c.keyFile != "" {
		pair := &keypair.Files{CertFile: c.certFile, KeyFile: c.keyFile, Log: s.opts.Logger}
		if _, err := pair.Certificate(nil); err != nil {
			return nil, fmt.Errorf("runtime.TLSFiles: %w", err)
		}
		web.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.Certificate}
	}
	return web, nil
}

// webLog logs what net/http reports. A client without a credential can cause any number of failed
// TLS handshakes, so these have the level debug.
type webLog struct{ log *slog.Logger }

func (w webLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	level := slog.LevelWarn
	if strings.HasPrefix(text, "http: TLS handshake error") {
		level = slog.LevelDebug
	}
	w.log.Log(context.Background(), level, text)
	return len(line), nil
}

// shutdown ends the server. received is the number of signals that came before; the ctx that ended
// may be one of [signal.NotifyContext], so that the first signal comes here only.
func (c *listenConfig) shutdown(ctx context.Context, s *Server, web *http.Server,
	signals <-chan os.Signal, received int) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.grace)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := s.Shutdown(grace)
		// The rest are connections without a request. net/http waits five seconds for one that
		// never had a request.
		idle, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer stop()
		if web.Shutdown(idle) != nil {
			err = errors.Join(err, web.Close())
		}
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return err
		case sig := <-signals:
			if received++; received > 1 {
				return cmp.Or(web.Close(),
					fmt.Errorf("the shutdown did not complete: the process received a second %s", sig))
			}
		}
	}
}

// strangers are the open connections that have carried no authenticated request. Their number is
// bounded: one more connection closes the oldest of them, also during a request. So
// a flood of connections leaves descriptors for authenticated callers, and each new connection has
// time to authenticate.
type strangers struct {
	most int
	log  *slog.Logger

	mu     sync.Mutex
	order  list.List // of net.Conn, the oldest first
	at     map[net.Conn]*list.Element
	logged time.Time
}

// limitStrangers bounds the connections of a server; 0 is no bound.
func limitStrangers(web *http.Server, most int, log *slog.Logger) {
	if most <= 0 {
		return
	}
	s := &strangers{most: most, log: log, at: map[net.Conn]*list.Element{}}
	web.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		s.add(c)
		return principal.OnAuthenticated(ctx, sync.OnceFunc(func() { s.remove(c) }))
	}
	web.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			s.remove(c)
		}
	}
}

func (s *strangers) add(c net.Conn) {
	s.mu.Lock()
	s.at[c] = s.order.PushBack(c)
	var oldest net.Conn
	report := false
	if s.order.Len() > s.most {
		oldest = s.order.Remove(s.order.Front()).(net.Conn)
		delete(s.at, oldest)
		if report = time.Since(s.logged) > time.Minute; report {
			s.logged = time.Now()
		}
	}
	s.mu.Unlock()
	if secure, ok := oldest.(*tls.Conn); ok {
		oldest = secure.NetConn() // whose Close waits for nobody
	}
	if oldest != nil {
		_ = oldest.Close() // its goroutine ends
	}
	if report {
		s.log.Warn("too many connections without an authenticated request: the oldest are closed",
			"most", s.most)
	}
}

func (s *strangers) remove(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.at[c]; e != nil {
		s.order.Remove(e)
		delete(s.at, c)
	}
}

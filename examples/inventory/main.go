// Command inventory serves devices, DNS records and addresses. Each caller may use what its user
// may use in a host: a Django, or an application with NetBox's permissions. Callers have tokens of
// an OpenID provider over HTTP. Over stdio the caller is one user of the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpgen/mcpgen/runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "inventory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	s, err := parse(args, out)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if s.verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if s.seed {
		made, err := seed(ctx, s.file)
		if err != nil {
			return err
		}
		if !made {
			logger.Info(
				"-seed: the file contains a host, which stays as it is; remove the file for a "+
					"new demonstration", "file", s.file)
		}
	}
	switch {
	case s.addr != "":
		return serveHTTP(ctx, out, s, logger)
	case s.stdio:
		app, err := open(ctx, s, nil, logger)
		if err != nil {
			return err
		}
		defer app.close()
		return app.server.RunStdio(ctx, app.settings.principal(s.as))
	case s.doctor:
		app, err := open(ctx, s, nil, logger)
		if err != nil {
			return err
		}
		defer app.close()
		return app.doctor(ctx, out)
	}
	return nil
}

// serveHTTP serves until ctx ends, and then lets running calls finish.
func serveHTTP(ctx context.Context, out io.Writer, s settings, logger *slog.Logger) error {
	// Without -audience, the address of the listener is the audience of tokens.
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if s.audience == "" {
		if s.audience, err = audience(listener.Addr()); err != nil {
			return err
		}
	}
	source, err := s.identity(ctx, logger)
	if err != nil {
		return err
	}
	app, err := open(ctx, s, source, logger)
	if err != nil {
		return err
	}
	defer app.close()
	// SIGHUP drops the cached permissions, and notifies clients whose lists have changed.
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGHUP)
	defer signal.Stop(changed)
	go func() {
		for {
			select {
			case <-changed:
				app.server.InvalidateCapabilities(nil)
				logger.InfoContext(ctx,
					"SIGHUP: the cached permissions are dropped")
			case <-ctx.Done():
				return
			}
		}
	}()
	return runtime.Serve(ctx, listener, app.server,
		runtime.OnListen(func(url string) { fmt.Fprintln(out, "serving", url) }))
}

// audience returns the URL of a server on a loopback address. Clients on other machines use another
// URL, and the audience of a token must be equal to it.
func audience(addr net.Addr) (string, error) {
	if tcp, ok := addr.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return "",
			fmt.Errorf(
				"-http %s needs -audience: the URL of the server as clients write it, such as "+
					"https://NAME%s", addr, runtime.PathMCP)
	}
	return "http://" + addr.String() + runtime.PathMCP, nil
}

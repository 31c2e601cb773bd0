// Command inventory serves devices, DNS records and addresses, and lets each caller see and do what
// a host lets its user see and do: a Django, or one with NetBox's permissions. It serves callers
// with tokens of an OpenID provider over HTTP, or a user of the host over stdio.
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
				"-seed: the file has a host already, whose users and permissions are left as "+
					"they are; remove the file for a fresh demonstration", "file", s.file)
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
	// The address is taken first: tokens must be for it, where nothing else is said.
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
	// The signal reports a change of permissions in the host. It drops those that -cache keeps, and
	// has clients notified at once whose lists have changed.
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGHUP)
	defer signal.Stop(changed)
	go func() {
		for {
			select {
			case <-changed:
				app.server.InvalidateCapabilities(nil)
				logger.InfoContext(ctx,
					"SIGHUP: the next request of each caller reads the host anew")
			case <-ctx.Done():
				return
			}
		}
	}()
	return runtime.Serve(ctx, listener, app.server,
		runtime.OnListen(func(url string) { fmt.Fprintln(out, "serving", url) }))
}

// audience is the URL of a server on an address, as far as the address tells it: clients elsewhere
// use another, and what a token is for is compared letter by letter.
func audience(addr net.Addr) (string, error) {
	if tcp, ok := addr.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return "",
			fmt.Errorf(
				"-http %s does not say what URL clients use, which tokens must be for: name it, "+
					"-audience https://NAME%s", addr, runtime.PathMCP)
	}
	return "http://" + addr.String() + runtime.PathMCP, nil
}

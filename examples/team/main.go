// Command team serves a team directory: over HTTP to users with tokens, or over stdio.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "team:", err)
		os.Exit(1)
	}
}

// timed logs how long each allowed message took.
func timed(logger *slog.Logger) intercept.Middleware {
	return func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			start := time.Now()
			defer func() {
				logger.DebugContext(ctx, "served", "method", m.Method, "took", time.Since(start),
					"request_id", runtime.RequestID(ctx))
			}()
			return next(ctx, m)
		}
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("team", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8080",
		"`address` to serve HTTP on; port 0 takes a free one")
	file := flags.String("db", "team.db", "SQLite `file` of the directory")
	denial := flags.String("denial", "conceal", "how a refusal looks: conceal or forbid")
	listAll := flags.Bool("list-all", false,
		"list all tools, prompts and resources to every caller, and refuse as -denial forbid does")
	path := flags.String("path", runtime.PathMCP, "`path` of the MCP endpoint")
	anonymous := flags.Bool("anonymous", false, "admit callers without a token to the public tools")
	kept := flags.String("store", "",
		"`URL` of the database of catalogs, switches and the audit trail: sqlite:FILE or postgres://USER@HOST/DATABASE; with it there are the admin API and the console")
	strict := flags.Bool("strict", false, "refuse lists that ask for a catalog which there is not")
	stdio := flags.String("stdio", "",
		"serve over stdio as the user with this `name`: vera, mel, mara, ada, or nobody")
	debug := flags.Bool("debug", false,
		"serve the debug tools to admins as well: environment, server, headers and claims, without secrets")
	otlp := flags.String("otlp", "",
		"`URL` of an OpenTelemetry collector to export traces and metrics to by OTLP over HTTP, as in http://127.0.0.1:4318")
	verbose := flags.Bool("v", false,
		"log at debug level: what each list was filtered to, and how long each message took")
	if err := flags.Parse(args); err != nil {
		return err
	}

	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))

	dir, err := directory.Open(ctx, "Orange", *file)
	if err != nil {
		return err
	}
	defer dir.Close()

	options := runtime.Options{
		Identity:      identity.Static(tokens()),
		Audit:         audit.Slog(logger),
		Anonymous:     *anonymous,
		ListAll:       *listAll,
		Path:          *path,
		Logger:        logger,
		CatalogStrict: *strict,
	}
	if *verbose {
		options.Interceptors = []intercept.Middleware{timed(logger)}
	}
	if *otlp != "" {
		observer, flush, err := exporting(ctx, *otlp, *anonymous, logger)
		if err != nil {
			return err
		}
		defer flush()
		options.Observer = observer
	}
	if *kept != "" {
		s, err := store.Open(ctx, *kept)
		if err != nil {
			return err
		}
		defer s.Close()
		source := stored.New(s, stored.Stored)
		console, err := admin.New(source, admin.Options{Logger: logger})
		if err != nil {
			return err
		}
		options.Audit = audit.Multi(options.Audit, s.Audit())
		options.Catalogs, options.Admin = source, console.Handler
		options.Readiness = map[string]func(context.Context) error{"store": s.Ping}
	}
	switch *denial {
	case "conceal":
		options.Denial = access.Conceal
	case "forbid":
		options.Denial = access.Forbid
	default:
		return fmt.Errorf("-denial %s: want conceal or forbid", *denial)
	}
	toolsets := []toolset.Toolset{directory.Toolset(dir)}
	if *debug {
		toolsets = append(toolsets, debugtools.Toolset(debugtools.New(debugtools.Options{})))
	}
	server, err := runtime.New(options, toolsets...)
	if err != nil {
		return err
	}
	if *stdio != "" {
		user, ok := users[*stdio]
		if !ok && *stdio != "nobody" {
			return fmt.Errorf("-stdio %s: no such user", *stdio)
		}
		return server.RunStdio(ctx, user)
	}
	return serve(ctx, server, *addr)
}

// serve serves HTTP until ctx ends, and then lets running calls finish.
func serve(ctx context.Context, server *runtime.Server, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("serving http://%s%s\n", listener.Addr(), server.Path())
	if server.Catalogs() != nil {
		fmt.Printf("console at http://%s/console\n", listener.Addr())
	}
	return runtime.Serve(ctx, listener, server)
}

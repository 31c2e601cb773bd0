// Command team serves a team directory: over HTTP to users with tokens, or over stdio.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	_ "modernc.org/sqlite" // the database/sql driver of the directory, in Go alone

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
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatalln("team:", err)
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
	var o runtime.Options
	flags := flag.NewFlagSet("team", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:8080",
		"`address` to serve HTTP on; port 0 takes a free one")
	file := flags.String("db", "team.db", "SQLite `file` of the directory")
	denial := flags.String("denial", "conceal", "denial `mode`: conceal or forbid")
	flags.BoolVar(&o.Lists.ListAll, "list-all", false,
		"list all tools, prompts and resources to every caller, and deny as -denial forbid does")
	flags.StringVar(&o.HTTP.Path, "path", runtime.PathMCP, "`path` of the MCP endpoint")
	flags.BoolVar(&o.Anonymous, "anonymous", false,
		"admit callers without a token to the public tools")
	kept := flags.String("store", "",
		"`URL` of a database of catalogs, switches and the audit trail, with the admin API and "+
			"the console: sqlite:FILE or postgres://USER@HOST/DATABASE")
	flags.BoolVar(&o.Catalogs.Strict, "strict", false,
		"refuse a list if the requested catalog does not exist")
	stdio := flags.String("stdio", "",
		"serve over stdio as the user with this `name`: vera, mel, mara, olga, ada, or nobody")
	debug := flags.Bool("debug", false, "add the debug tools, for admins: environment, server, "+
		"headers and claims, without secrets")
	otlp := flags.String("otlp", "", "export traces and metrics by OTLP over HTTP to the "+
		"collector at this `URL`, such as http://127.0.0.1:4318")
	verbose := flags.Bool("v", false,
		"log at debug level: what each list was filtered to, and how long each message took")
	if err := flags.Parse(args); err != nil {
		return err
	}

	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	o.Identity, o.Audit.Sink = identity.Static(tokens()), audit.Slog(o.Logger)
	switch *denial {
	case "conceal":
	case "forbid":
		o.Access.Denial = access.Forbid
	default:
		return fmt.Errorf("-denial %s: want conceal or forbid", *denial)
	}
	if *verbose {
		o.Interceptors = []intercept.Middleware{timed(o.Logger)}
	}
	if *otlp != "" {
		observer, flush, err := exporting(ctx, *otlp, o.Anonymous, o.Logger)
		if err != nil {
			return err
		}
		defer flush()
		o.Observe.Observer = observer
	}
	if *kept != "" {
		s, err := store.Open(ctx, *kept)
		if err != nil {
			return err
		}
		defer s.Close()
		source := stored.New(s, stored.Stored)
		console, err := admin.New(source, admin.Options{Logger: o.Logger})
		if err != nil {
			return err
		}
		o.Audit.Sink = audit.Multi(o.Audit.Sink, s.Audit())
		o.Catalogs.Source, o.Admin = source, console.Handler
		o.Observe.Readiness = map[string]func(context.Context) error{"store": s.Ping}
	}
	dir, err := directory.Open(ctx, "Orange", *file)
	if err != nil {
		return err
	}
	defer dir.Close()
	toolsets := []toolset.Toolset{directory.Toolset(dir)}
	if *debug {
		toolsets = append(toolsets, debugtools.Toolset(debugtools.New(debugtools.Options{})))
	}
	server, err := runtime.New(o, toolsets...)
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
	return runtime.ListenAndServe(ctx, *addr, server,
		runtime.OnListen(func(url string) { fmt.Println("serving", url) }))
}

// Command workspace serves files, commands and web pages to agents: each may use what it has been
// granted, for as long as it is granted.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mcpgen/mcpgen/examples/workspace/desk"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/permissionrequest"
	kept "github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/sandbox"
	"github.com/mcpgen/mcpgen/runtime/sandbox/workspacetools"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func main() {
	sandbox.Main() // first: isolated calls run in processes of this program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "workspace:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	addr, data, store, stdio, key string
	offer, bestEffort             bool
	logger                        *slog.Logger
}

func run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("workspace", flag.ContinueOnError)
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080",
		"`address` to serve HTTP on; port 0 takes a free one")
	flags.StringVar(&s.data, "data", "workspace",
		"`directory` of the folders public and files, of the agents' workspaces, and of the database unless -store names one; made where it is not there")
	flags.StringVar(&s.store, "store", "",
		"`URL` of the database of grants, requests and the audit trail: sqlite:FILE or postgres://USER@HOST/DATABASE")
	flags.StringVar(&s.stdio, "stdio", "",
		"serve over stdio as the user with this `name`: robin, kim or olga")
	flags.StringVar(&s.key, "trail-key", "",
		"`file` with the key, of 32 random bytes or more, that seals the audit trail: mcpgen audit verify finds what was done to it. Checkpoints go to checkpoints.jsonl below -data")
	flags.BoolVar(&s.offer, "offer", false,
		"have refusals offer to ask an administrator, to clients that support elicitation")
	flags.BoolVar(&s.bestEffort, "best-effort", false,
		"start where the system lacks a part of what isolates processes, and say which")
	verbose := flags.Bool("v", false, "log at debug level")
	if err := flags.Parse(args); err != nil {
		return err
	}
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	s.logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	return s.serve(ctx)
}

// serve serves until ctx ends.
func (s settings) serve(ctx context.Context) (err error) {
	var closing []func() error
	defer func() {
		for _, c := range slices.Backward(closing) {
			err = errors.Join(err, c())
		}
	}()
	folders := map[string]string{"public": filepath.Join(s.data, "public"),
		"files": filepath.Join(s.data, "files")}
	for _, dir := range folders {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	roots, err := grant.OpenRoots(folders)
	if err != nil {
		return err
	}
	closing = append(closing, roots.Close)
	db, err := store.Open(ctx, cmp.Or(s.store, "sqlite:"+filepath.Join(s.data, "workspace.db")))
	if err != nil {
		return err
	}
	closing = append(closing, db.Close)
	trail := db.Audit()
	if s.key != "" {
		sealed, err := s.sealed(ctx, db)
		if err != nil {
			return err
		}
		trail = sealed
		closing = append(closing, func() error { return sealed.Close(context.WithoutCancel(ctx)) })
	}
	box, err := sandbox.New(sandbox.Options{Workspaces: filepath.Join(s.data, "workspaces")})
	if err != nil {
		return err
	}
	closing = append(closing, box.Close)

	grants := kept.New(db, kept.Options{})
	catalogs := stored.New(db, stored.Stored)
	office, err := admin.New(catalogs, admin.Options{Logger: s.logger, Grants: grants})
	if err != nil {
		return err
	}
	defaults := grant.Minimal("public")
	defaults[0].Unrestricted = true // read_file and list_files are not isolated
	server, err := runtime.New(runtime.Options{
		Identity:          identity.Static(tokens()),
		Audit:             audit.Multi(audit.Slog(s.logger), trail),
		Logger:            s.logger,
		Catalogs:          catalogs,
		Admin:             office.Handler,
		Grants:            grants,
		GrantDefaults:     defaults,
		OfferRequests:     s.offer,
		Roots:             roots,
		Sandbox:           box,
		SandboxBestEffort: s.bestEffort,
	}, desk.Toolset(), permissionrequest.Toolset(permissionrequest.New(grants, defaults...)),
		workspacetools.Tools(box))
	if err != nil {
		return err
	}
	if s.stdio != "" {
		user, ok := users[s.stdio]
		if !ok {
			return fmt.Errorf("-stdio %s: no such user", s.stdio)
		}
		return server.RunStdio(ctx, user)
	}
	return listen(ctx, server, s.addr)
}

// sealed is the chain that the records of this process are in, before they are in the store.
func (s settings) sealed(ctx context.Context, db *store.Store) (*chain.Chain, error) {
	key, err := chain.ReadKey(s.key)
	if err != nil {
		return nil, err
	}
	last, err := db.LastEvent(ctx, replica)
	if err != nil {
		return nil, err
	}
	sealed, err := chain.New(db.Audit(), chain.Options{
		Key: key, Replica: replica, Last: last, Logger: s.logger,
		Checkpoints: chain.CheckpointFile(filepath.Join(s.data, "checkpoints.jsonl")),
	})
	if err != nil {
		return nil, err
	}
	db.SealBy(sealed)
	return sealed, nil
}

// replica names the process in the trail. Several on one store would each have a name of its own.
const replica = "workspace"

// listen serves HTTP until ctx ends, and then lets running calls finish.
func listen(ctx context.Context, server *runtime.Server, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("serving http://%s/mcp\nconsole at http://%s/console\n", listener.Addr(),
		listener.Addr())
	return runtime.Serve(ctx, listener, server)
}

// Command workspace serves files, commands and web pages to agents. Each agent may use what its
// grants allow, until they expire or are revoked.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
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
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatalln("workspace:", err)
	}
}

func run(ctx context.Context, args []string) (failed error) {
	var o runtime.Options
	flags := flag.NewFlagSet("workspace", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:8080",
		"`address` to serve HTTP on; port 0 takes a free one")
	data := flags.String("data", "workspace",
		"`directory` of the folders public and files, of the agents' workspaces, and of the "+
			"database without -store; created if it does not exist")
	database := flags.String("store", "", "`URL` of the database of grants, requests and the "+
		"audit trail: sqlite:FILE or postgres://USER@HOST/DATABASE")
	stdio := flags.String("stdio", "",
		"serve over stdio as the user with this `name`: robin, kim or olga")
	key := flags.String("trail-key", "", "`file` with the key, of at least 32 random bytes, that "+
		"seals the audit trail for mcpgen audit verify. Checkpoints go to checkpoints.jsonl "+
		"below -data")
	flags.BoolVar(&o.Grants.Offer, "offer", false, "let denials offer a permission request, to "+
		"clients that support elicitation")
	bestEffort := flags.Bool("best-effort", false,
		"start even if the system lacks a part of the isolation, and log which")
	verbose := flags.Bool("v", false, "log at debug level")
	if err := flags.Parse(args); err != nil {
		return err
	}
	level := slog.LevelInfo
	if *verbose {
		level = slog.LevelDebug
	}
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))

	folders := map[string]string{"public": filepath.Join(*data, "public"),
		"files": filepath.Join(*data, "files")}
	for _, dir := range folders {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	roots, err := grant.OpenRoots(folders)
	if err != nil {
		return err
	}
	defer roots.Close()
	db, err := store.Open(ctx, cmp.Or(*database, "sqlite:"+filepath.Join(*data, "workspace.db")))
	if err != nil {
		return err
	}
	defer db.Close()
	trail := db.Audit()
	if *key != "" {
		sealed, err := sealedTrail(ctx, db, *key, *data, o.Logger)
		if err != nil {
			return err
		}
		trail = sealed
		defer func() { // sends the last checkpoint
			failed = errors.Join(failed, sealed.Close(context.WithoutCancel(ctx)))
		}()
	}
	box, err := sandbox.New(sandbox.Options{Workspaces: filepath.Join(*data, "workspaces"),
		BestEffort: *bestEffort})
	if err != nil {
		return err
	}
	defer box.Close()

	grants := kept.New(db, kept.Options{})
	catalogs := stored.New(db, stored.Stored)
	console, err := admin.New(catalogs, admin.Options{Logger: o.Logger, Grants: grants})
	if err != nil {
		return err
	}
	defaults := grant.Minimal("public")
	defaults[0].Unrestricted = true // read_file and list_files are not isolated
	o.Identity = identity.Static(tokens())
	o.Audit.Sink = audit.Multi(audit.Slog(o.Logger), trail)
	o.Catalogs.Source, o.Admin = catalogs, console.Handler
	o.Grants.Source, o.Grants.Defaults, o.Grants.Roots, o.Sandbox = grants, defaults, roots, box
	server, err := runtime.New(o, desk.Toolset(), workspacetools.Tools(box),
		permissionrequest.Toolset(permissionrequest.New(grants, defaults...)))
	if err != nil {
		return err
	}
	if *stdio != "" {
		user, ok := users[*stdio]
		if !ok {
			return fmt.Errorf("-stdio %s: no such user", *stdio)
		}
		return server.RunStdio(ctx, user)
	}
	return runtime.ListenAndServe(ctx, *addr, server,
		runtime.OnListen(func(url string) { fmt.Println("serving", url) }))
}

// sealedTrail returns a chain in front of the store. It seals each record before the store gets it.
func sealedTrail(ctx context.Context, db *store.Store, keyFile, data string,
	logger *slog.Logger) (*chain.Chain, error) {
	// The replica names this process in the trail. Each server on one store needs its own name.
	const replica = "workspace"
	key, err := chain.ReadKey(keyFile)
	if err != nil {
		return nil, err
	}
	last, err := db.LastEvent(ctx, replica)
	if err != nil {
		return nil, err
	}
	sealed, err := chain.New(db.Audit(), chain.Options{
		Key: key, Replica: replica, Last: last, Logger: logger,
		Checkpoints: chain.CheckpointFile(filepath.Join(data, "checkpoints.jsonl")),
	})
	if err != nil {
		return nil, err
	}
	db.SealBy(sealed)
	return sealed, nil
}

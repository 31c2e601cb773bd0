// Command conformance serves what the server scenarios of the official conformance suite
// (@modelcontextprotocol/conformance) call. The suite fixes all names and texts.
//
//mcp:server name=conformance version=1.0.0 app=suite
//mcp:default public
package main

//go:generate go tool mcpgen

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080",
		"`address` to serve HTTP on; port 0 takes a free one")
	stdio := flag.Bool("stdio", false, "serve over stdio")
	flag.Parse()
	if err := run(*addr, *stdio); err != nil {
		log.Fatal(err)
	}
}

func run(addr string, stdio bool) error {
	server, err := newServer(runtime.Options{})
	if err != nil {
		return err
	}
	if stdio {
		return server.RunStdio(context.Background(), caller)
	}
	return runtime.ListenAndServe(context.Background(), addr, server,
		runtime.OnListen(func(url string) { fmt.Println("serving", url) }))
}

// newServer makes the server. The suite sends no credentials and expects lists that change, so
// every caller is the same user of a host, and two tools change the permissions of that user.
func newServer(options runtime.Options) (*runtime.Server, error) {
	lists := &Lists{host: &host{allows: map[string]bool{}}}
	options.Identity = everybody{}
	return serverOf(options, lists, Toolset(lists))
}

func serverOf(options runtime.Options, lists *Lists,
	set toolset.Toolset) (*runtime.Server, error) {
	options.Host.Source = lists.host
	server, err := runtime.New(options, set)
	lists.server = server
	return server, err
}

var caller = access.Principal{Subject: "suite", User: "suite"}

type everybody struct{}

func (everybody) Identify(*http.Request) (identity.Identity, error) {
	return identity.Identity{Principal: caller}, nil
}

func (everybody) NamesUsers() bool { return true }

// Command quickstart serves two MCP tools: one is public, one is for Members.
//
//mcp:server name=quickstart version=0.1.0
package main

//go:generate go tool mcpgen

import (
	"context"
	"log"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Now returns the current time.
//
//mcp:tool public readonly
func Now(ctx context.Context) (time.Time, error) { return time.Now(), nil }

// CountWords counts the words of a text.
//
//mcp:tool minrole=Member readonly
//mcp:param text description="The text to count." maxLength=100000
func CountWords(ctx context.Context, text string) (int, error) {
	return len(strings.Fields(text)), nil
}

func main() {
	mel := access.Principal{Issuer: "demo", Subject: "mel", Roles: []string{"Member"}}
	tokens := map[string]access.Principal{identity.HashToken("demo-mel"): mel}
	server, err := runtime.New(runtime.Options{
		Identity:  identity.Static(tokens),
		Anonymous: true, // callers without a token may use public tools
	}, Toolset())
	if err != nil {
		log.Fatal(err)
	}
	err = runtime.ListenAndServe(context.Background(), "127.0.0.1:8080", server)
	if err != nil {
		log.Fatal(err)
	}
}

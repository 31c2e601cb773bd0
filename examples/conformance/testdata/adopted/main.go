// This file is built together with the source of go-sdk's own conformance server, whose function
// main has the name bare, and calls listenAndServe. With -adopt it serves that server behind the
// guard, on one endpoint.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

var adopt = flag.Bool("adopt", false, "serve behind the guard")

func main() {
	flag.Parse()
	if !*adopt {
		bare()
	}
	own := mcp.NewServer(&mcp.Implementation{Name: "adopted", Version: "1.0.0"}, &mcp.ServerOptions{
		CompletionHandler: completionHandler,
		SubscribeHandler:  subscribeHandler, UnsubscribeHandler: unsubscribeHandler,
	})
	registerTools(own)
	registerResources(own)
	registerPrompts(own)
	rules, err := publicRules(own)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	go watchedResourceUpdater(ctx, own)
	server, err := runtime.Adopt(own, runtime.Options{
		Anonymous: true, Logger: slog.New(slog.DiscardHandler),
		Adopt: runtime.AdoptOptions{Conditional: []string{addedTool, addedPrompt}}}, rules)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(runtime.ListenAndServe(ctx, *httpAddr, server,
		runtime.OnListen(func(url string) { fmt.Println("serving", url) })))
}

// listenAndServe is http.ListenAndServe, and prints the URL.
func listenAndServe(address string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("serving http://%s/mcp\n", listener.Addr())
	return http.Serve(listener, handler)
}

// The server adds a tool and a prompt while it runs, so that its lists change. These are the keys
// of their rules.
const (
	addedTool   = "__transient_tool_for_list_changed"
	addedPrompt = "__transient_prompt_for_list_changed"
)

// publicRules returns a rule for everything that a server lists.
func publicRules(server *mcp.Server) (map[string]access.Rule, error) {
	ctx := context.Background()
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, theirs, nil); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "rules", Version: "1"}, nil)
	session, err := client.Connect(ctx, ours, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	rules := map[string]access.Rule{addedTool: {Public: true},
		addedPrompt: {Prompt: addedPrompt, Public: true}}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		rules[t.Name] = access.Rule{Public: true}
	}
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		rules["prompt "+p.Name] = access.Rule{Prompt: p.Name, Public: true}
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		rules[r.URI] = access.Rule{Resource: r.URI, Public: true}
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return nil, err
		}
		rules[r.URITemplate] = access.Rule{Resource: r.URITemplate, Public: true}
	}
	return rules, nil
}

package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// ExampleNew makes a server, and prints what its callers see.
func ExampleNew() {
	server, err := runtime.New(runtime.Options{
		Anonymous: true, // for the public tools
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("a-long-random-token"): {Subject: "mel", Roles: []string{"Member"}},
		}),
		Logger: slog.New(slog.DiscardHandler),
	}, shop.Toolset())
	if err != nil {
		log.Fatal(err)
	}
	table := server.Table()
	fmt.Println("anonymous:", table.Visible(access.Principal{}).Names())
	fmt.Println("mel:", table.Visible(access.Principal{Subject: "mel",
		Roles: []string{"Member"}}).Names())
	// Output:
	// anonymous: [list_parts]
	// mel: [list_parts order_parts]
}

// The error of New has a line for each problem, with its cure.
func ExampleNew_error() {
	_, err := runtime.New(runtime.Options{Lists: runtime.ListOptions{PageSize: -1},
		HTTP: runtime.HTTPOptions{MaxSessions: -1}}, shop.Toolset())
	fmt.Println(err)
	// Output:
	// mcp server: Options.Lists.PageSize is -1: use a positive number, or 0 for 1000
	// mcp server: Options.HTTP.MaxSessions is -1: use a positive number, or 0 for 1024
}

// A program that serves HTTP until it gets SIGTERM. A metrics handler is served beside it.
func ExampleListenAndServe() {
	verify := func(ctx context.Context, token string) (identity.Identity, error) {
		return identity.Identity{}, identity.ErrInvalidToken // look the token up
	}
	server, err := runtime.New(runtime.Options{Identity: identity.Bearer(verify)}, shop.Toolset())
	if err != nil {
		log.Fatal(err)
	}
	err = runtime.ListenAndServe(context.Background(), ":8443", server,
		runtime.TLSFiles("/etc/mcp/tls.crt", "/etc/mcp/tls.key"),
		runtime.Mount("GET /metrics", http.NotFoundHandler()),
		runtime.ShutdownTimeout(8*time.Second)) // Docker kills a container after ten
	if err != nil {
		log.Fatal(err)
	}
}

// A program that serves its parent process over stdio. The program decides who the caller is.
func ExampleServer_RunStdio() {
	server, err := runtime.New(runtime.Options{}, shop.Toolset())
	if err != nil {
		log.Fatal(err)
	}
	caller := access.Principal{Issuer: "local", Subject: "me", Roles: []string{"Member"}}
	if err := server.RunStdio(context.Background(), caller); err != nil {
		log.Fatal(err)
	}
}

// RunIO serves one client over any pair of streams.
func ExampleServer_RunIO() {
	server, err := runtime.New(runtime.Options{Logger: slog.New(slog.DiscardHandler)},
		shop.Toolset())
	if err != nil {
		log.Fatal(err)
	}
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		caller := access.Principal{Issuer: "local", Subject: "me", Roles: []string{"Member"}}
		ended <- server.RunIO(context.Background(), in, out, caller)
	}()
	fmt.Fprintln(send, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+
		`"name":"delete_parts","arguments":{},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	line, err := bufio.NewReader(receive).ReadString('\n')
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(line)
	send.Close() // the client leaves
	fmt.Println(<-ended)
	// Output:
	// {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool \"delete_parts\""}}
	// <nil>
}

// Catalogs that code declares need no database: //mcp:tool catalog=orders.
func ExampleServer_DeclaredCatalogs() {
	server, err := runtime.New(runtime.Options{Anonymous: true,
		Logger: slog.New(slog.DiscardHandler)}, shop.Toolset())
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range server.DeclaredCatalogs() {
		fmt.Println(c.Name, c.ID, c.Tools)
	}
	// Output: orders code:orders [order_parts]
}

// A handler reads its caller, logs, reports progress and advises the model.
func ExampleCaller() {
	handler := func(ctx context.Context) (string, error) {
		caller, _ := runtime.Caller(ctx)
		runtime.Logger(ctx).Info("ordering", "by", caller.Subject)
		progress := runtime.Progress(ctx)
		for i := range 3 {
			progress.Report(float64(i+1), 3, "lines ordered")
		}
		runtime.Advise(ctx, 0.5, "Call list_parts to see what is left.")
		return "ordered", nil
	}
	_ = handler // with //mcp:tool minrole=Member
}

// A handler asks the person at the client. Its directive has elicits.
func ExampleElicit() {
	type confirm struct {
		Amount int `json:"amount" jsonschema:"How many to order"`
	}
	handler := func(ctx context.Context, id string) (int, error) {
		form, err := runtime.Elicit[confirm](ctx, "confirm", "How many of "+id+"?")
		if err != nil {
			return 0, err // also before there is an answer: the handler runs again with it
		}
		return form.Amount, nil
	}
	_ = handler // with //mcp:tool minrole=Member elicits
}

// ExampleAdopt puts the guard around a server from before mcpgen. Rules follow the hints of its
// tools, and two tools get their rules by name.
func ExampleAdopt() {
	old := mcp.NewServer(&mcp.Implementation{Name: "tracker", Version: "1.0.0"}, nil)
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	for _, tool := range []*mcp.Tool{
		{Name: "about", Annotations: reads}, {Name: "get_issue", Annotations: reads},
		{Name: "close_issue"}, {Name: "delete_issue"},
	} {
		mcp.AddTool(old, tool, func(context.Context, *mcp.CallToolRequest,
			struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	byName, err := access.ParseRules(nil, map[string]string{ // nil: the default roles
		"reads": "authenticated", "writes": "minrole=Member",
		"about": "public", "delete_issue": "minrole=Admin scopes=issues",
	})
	if err != nil {
		log.Fatal(err)
	}
	rules, err := runtime.RulesByHint(old, byName["reads"], byName["writes"])
	if err != nil {
		log.Fatal(err)
	}
	rules["about"], rules["delete_issue"] = byName["about"], byName["delete_issue"]
	server, err := runtime.Adopt(old, runtime.Options{Logger: slog.New(slog.DiscardHandler)}, rules)
	if err != nil {
		log.Fatal(err)
	}
	table := server.Table()
	for _, caller := range []access.Principal{
		{}, {Subject: "vera", Roles: []string{"Viewer"}}, {Subject: "mel", Roles: []string{"Member"}},
		{Subject: "ada", Roles: []string{"Admin"}, Scopes: []string{"issues"}},
	} {
		fmt.Println(caller.Roles, table.Visible(caller).Names())
	}
	// Output:
	// [] [about]
	// [Viewer] [about get_issue]
	// [Member] [about close_issue get_issue]
	// [Admin] [about close_issue delete_issue get_issue]
}

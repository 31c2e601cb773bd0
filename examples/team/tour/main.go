// Command tour starts the team server, visits it as each of its users with a real MCP client,
// and prints what each sees and what asking for everything gets, whether it is seen or not. Then it makes a
// catalog of tools through the admin API, switches a tool off, and looks into a server with debug tools.
//
//	tour SERVER [flags of the server]
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/served"
	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// visitors are the users of the server, lowest role first.
var visitors = []struct{ name, role, token string }{
	{"nobody", "no token", ""},
	{"vera", "Viewer", "demo-vera"},
	{"mel", "Member", "demo-mel"},
	{"mara", "Manager", "demo-mara"},
	{"ada", "Admin", "demo-ada"},
}

// tools are all tools of the server with arguments that they accept.
var tools = []struct {
	name string
	args any
}{
	{directory.ToolCreate, directory.NewPerson{Name: "Grace Hopper", Email: "grace@example.org"}},
	{directory.ToolGetAll, nil},
	{directory.ToolGetByID, map[string]int{"id": 1}},
	{directory.ToolGetPublicInfo, nil},
	{directory.ToolPromoteToManager, map[string]int{"id": 1}},
	{directory.ToolUpdate, map[string]any{"id": 1, "name": "Rear Admiral Hopper"}},
}

// prompts and resources are the others that the server has, with what they accept.
var (
	prompts = []struct {
		name string
		args map[string]string
	}{
		{directory.PromptAnnouncePromotion, map[string]string{"name": "Grace Hopper"}},
		{directory.PromptWelcome, map[string]string{"name": "Grace Hopper", "tone": string(directory.ToneFormal)}},
	}
	resources = []struct{ listed, uri string }{
		{directory.ResourceHandbook, directory.ResourceHandbook},
		{directory.ResourceCard, "team://people/1"},
		{directory.ResourceRanked, "team://ranks/manager"},
	}
	completions = []struct{ of, argument, begun string }{
		{directory.PromptWelcome, "tone", "f"},
		{directory.PromptWelcome, "name", "R"},
		{directory.ResourceRanked, "rank", ""},
	}
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: tour SERVER [flags of the server]")
		os.Exit(2)
	}
	if err := tour(ctx, os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

func tour(ctx context.Context, w io.Writer, server string, flags []string) (err error) {
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url, stop, err := served.Start(ctx, server, append([]string{"-addr", "127.0.0.1:0", "-db", filepath.Join(dir, "team.db"), "-store", "sqlite:" + filepath.Join(dir, "store.db")}, flags...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	// The highest role goes first, so that there is somebody in the directory to see.
	reports := make([]string, len(visitors))
	for i, v := range slices.Backward(visitors) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s (%s)\n", v.name, v.role)
		if err := visit(ctx, &b, url, v.token); err != nil {
			fmt.Fprintf(&b, "  is refused: %v\n", err)
		}
		reports[i] = b.String()
	}
	if _, err := io.WriteString(w, strings.Join(reports, "\n")+"\n"); err != nil {
		return err
	}
	if err := administer(ctx, w, url); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return inspect(ctx, w, server, dir, flags)
}

// visit connects with a token, lists everything, and asks for everything that the server has.
func visit(ctx context.Context, w io.Writer, url, token string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "tour", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: served.Bearer(token)},
	}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	seen, err := look(ctx, w, session)
	if err != nil {
		return err
	}
	say := func(verb, listed, asked, answer string) {
		if !seen[listed] {
			verb = "tries"
		}
		fmt.Fprintf(w, "  %-6s %-20s %s\n", verb, asked, answer)
	}
	for _, t := range tools {
		args := t.args
		if args == nil {
			args = struct{}{}
		}
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: t.name, Arguments: args})
		say("calls", t.name, t.name, called(res, err))
	}
	for _, p := range prompts {
		res, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.name, Arguments: p.args})
		say("gets", p.name, p.name, written(res, err))
	}
	for _, r := range resources {
		res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.uri})
		say("reads", r.listed, r.uri, read(res, err))
	}
	for _, c := range completions {
		if !seen[c.of] {
			continue
		}
		ref := &mcp.CompleteReference{Type: "ref/prompt", Name: c.of}
		if strings.Contains(c.of, "://") {
			ref = &mcp.CompleteReference{Type: "ref/resource", URI: c.of}
		}
		res, err := session.Complete(ctx, &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: c.argument, Value: c.begun}})
		fmt.Fprintf(w, "  fills  %s of %s, begun with %q: %s\n", c.argument, c.of, c.begun, completed(res, err))
	}
	return nil
}

// look lists tools, prompts, resources and templates, and prints a line of each kind.
func look(ctx context.Context, w io.Writer, session *mcp.ClientSession) (seen map[string]bool, err error) {
	var names [3][]string
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names[0] = append(names[0], t.Name)
	}
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names[1] = append(names[1], p.Name)
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names[2] = append(names[2], r.URI)
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return nil, err
		}
		names[2] = append(names[2], r.URITemplate)
	}
	seen = map[string]bool{}
	for i, kind := range []string{"tools", "prompts", "resources"} {
		for _, name := range names[i] {
			seen[name] = true
		}
		fmt.Fprintf(w, "  sees   %-9s  %s\n", kind, cmp.Or(strings.Join(names[i], ", "), "none"))
	}
	return seen, nil
}

// called is what a call brought back, on one line.
func called(res *mcp.CallToolResult, err error) string {
	if err != nil {
		return failed(err)
	}
	if res.IsError {
		if text, ok := res.Content[0].(*mcp.TextContent); ok {
			return "refused: " + text.Text
		}
	}
	line, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return err.Error()
	}
	return shorten(string(line))
}

// written is the first message of a prompt.
func written(res *mcp.GetPromptResult, err error) string {
	if err != nil {
		return failed(err)
	}
	if text, ok := res.Messages[0].Content.(*mcp.TextContent); ok {
		return shorten(text.Text)
	}
	return "no text"
}

// read is the text of a resource, its lines apart by slashes.
func read(res *mcp.ReadResourceResult, err error) string {
	if err != nil {
		return failed(err)
	}
	return shorten(strings.Join(strings.FieldsFunc(res.Contents[0].Text, func(r rune) bool { return r == '\n' }), " / "))
}

// completed is the values of a completion.
func completed(res *mcp.CompleteResult, err error) string {
	if err != nil {
		return failed(err)
	}
	return strings.Join(res.Completion.Values, ", ")
}

// failed is an error as the protocol has it.
func failed(err error) string {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return fmt.Sprintf("error %d: %s", wire.Code, wire.Message)
	}
	return err.Error()
}

func shorten(s string) string {
	const width = 90
	if len(s) <= width {
		return s
	}
	cut := width - 1
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

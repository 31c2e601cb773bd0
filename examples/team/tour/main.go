// Command tour starts the team server and connects a client as each of its users. It prints what
// each user's lists contain, and the response to a use of everything. Then it makes a catalog
// through the admin API, disables a tool, and uses the debug tools.
//
//	tour SERVER [flags of the server]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/team/directory"
)

// users are the users of the server, in the order of their roles. Olga has two.
var users = []struct{ name, role, token string }{
	{"nobody", "no token", ""},
	{"vera", "Viewer", "demo-vera"},
	{"mel", "Member", "demo-mel"},
	{"mara", "Manager", "demo-mara"},
	{"olga", "Member, Auditor", "demo-olga"},
	{"ada", "Admin", "demo-ada"},
}

// What every user requests: all that the server has, with valid arguments.
var (
	tools = []struct {
		name string
		args any
	}{
		{directory.ToolCreate,
			directory.NewPerson{Name: "Grace Hopper", Email: "grace@example.org"}},
		{directory.ToolGetAll, nil},
		{directory.ToolGetByID, map[string]int{"id": 1}},
		{directory.ToolGetPublicInfo, nil},
		{directory.ToolPromoteToManager, map[string]int{"id": 1}},
		{directory.ToolUpdate, map[string]any{"id": 1, "name": "Rear Admiral Hopper"}},
	}
	prompts = []struct {
		name string
		args map[string]string
	}{
		{directory.PromptAnnouncePromotion, map[string]string{"name": "Grace Hopper"}},
		{directory.PromptWelcome, map[string]string{"name": "Grace Hopper",
			"tone": string(directory.ToneFormal)}},
	}
	resources   = []string{directory.ResourceHandbook, "team://people/1", "team://ranks/manager"}
	completions = []struct{ of, argument, prefix string }{
		{directory.PromptWelcome, "tone", "f"},
		{directory.PromptWelcome, "name", "R"},
		{directory.ResourceRanked, "rank", ""},
	}
)

func main() { visitor.Main("tour", "SERVER [flags of the server]", tour) }

func tour(ctx context.Context, w io.Writer, args []string) (err error) {
	dir, err := os.MkdirTemp("", "tour")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	flags := append([]string{"-db", filepath.Join(dir, "team.db")}, args[1:]...)
	server, err := visitor.Start(ctx, args[0],
		append(flags, "-store", "sqlite:"+filepath.Join(dir, "store.db"))...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	// The highest role goes first, so that the directory has a person for the others.
	reports := make([]string, len(users))
	for i, user := range slices.Backward(users) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s (%s)\n", user.name, user.role)
		if err := visit(ctx, &b, server.URL, user.token); err != nil {
			visitor.Printf(&b, "  cannot connect: %v", err)
		}
		reports[i] = b.String()
	}
	fmt.Fprintln(w, strings.Join(reports, "\n"))
	if err := administer(ctx, w, server.URL); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return debug(ctx, w, args[0], flags)
}

// visit connects with a token, lists everything, and requests everything that the server has.
func visit(ctx context.Context, w io.Writer, url, token string) error {
	session, err := visitor.Connect(ctx, visitor.HTTP(url, token), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := visitor.PrintLists(ctx, w, session); err != nil {
		return err
	}
	for _, t := range tools {
		report(w, "call", t.name, visitor.Call(ctx, session, t.name, t.args), nil)
	}
	for _, p := range prompts {
		res, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: p.name, Arguments: p.args})
		text := ""
		if err == nil {
			text = res.Messages[0].Content.(*mcp.TextContent).Text
		}
		report(w, "get", p.name, text, err)
	}
	for _, uri := range resources {
		res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		text := ""
		if err == nil {
			text = strings.Join(strings.Fields(res.Contents[0].Text), " ")
		}
		report(w, "read", uri, text, err)
	}
	for _, c := range completions {
		ref := &mcp.CompleteReference{Type: "ref/prompt", Name: c.of}
		if strings.Contains(c.of, "://") {
			ref = &mcp.CompleteReference{Type: "ref/resource", URI: c.of}
		}
		res, err := session.Complete(ctx, &mcp.CompleteParams{Ref: ref,
			Argument: mcp.CompleteParamsArgument{Name: c.argument, Value: c.prefix}})
		text := ""
		if err == nil {
			text = strings.Join(res.Completion.Values, ", ")
		}
		report(w, "complete", fmt.Sprintf("%s=%q", c.argument, c.prefix), text, err)
	}
	return nil
}

// report prints a request and the start of its result.
func report(w io.Writer, request, name, result string, err error) {
	if err != nil {
		result = visitor.Error(err)
	}
	const width = 66
	if cut := width; len(result) > width {
		for !utf8.RuneStart(result[cut]) {
			cut--
		}
		result = result[:cut] + "…"
	}
	fmt.Fprintf(w, "  %-8s %-20s %s\n", request, name, result)
}

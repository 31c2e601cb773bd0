// Command demo prints what each caller's tool list contains, and six properties of mcpgen. It
// serves the toolsets of examples/team and examples/workspace without their databases, since it
// calls no tool that needs one, and runs the commands go and mcpgen. It runs at the root of the
// repository.
//
//	demo MCPGEN
//
// MCPGEN is the program mcpgen.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/examples/workspace/desk"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/permissionrequest"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/sandbox"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// callers are those of examples/team, by role. The anonymous caller has no token.
var callers = []struct{ role, token string }{
	{"anonymous", ""},
	{"Viewer", "demo-vera"},
	{"Member", "demo-mel"},
	{"Manager", "demo-mara"},
	{"Admin", "demo-ada"},
}

func main() { visitor.Main("demo", "MCPGEN", run) }

// demo is one run.
type demo struct {
	context.Context
	io.Writer
	mcpgen, dir string // the program, and the folder of files that the run creates
}

func run(ctx context.Context, w io.Writer, args []string) error {
	dir, err := os.MkdirTemp("", "demo")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mcpgen, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	d := demo{ctx, w, mcpgen, dir}
	for _, show := range []func() error{d.team, d.stale, d.workspace, d.agent, d.fields} {
		if err := show(); err != nil {
			return err
		}
	}
	return nil
}

// serve serves toolsets over HTTP, on a free port, to callers with these tokens.
func (d demo) serve(o runtime.Options, tokens map[string]access.Principal,
	toolsets ...toolset.Toolset) (url string, stop func() error, err error) {
	byHash := map[string]access.Principal{}
	for token, principal := range tokens {
		byHash[identity.HashToken(token)] = principal
	}
	o.Identity = identity.Static(byHash)
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := runtime.New(o, toolsets...)
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(d)
	ended := make(chan error, 1)
	go func() { ended <- runtime.Serve(ctx, listener, server) }()
	return "http://" + listener.Addr().String() + server.Path(), func() error {
		cancel()
		return <-ended
	}, nil
}

// team prints the tool list of each caller, and compares a hidden tool with an unknown one.
func (d demo) team() (err error) {
	tokens := map[string]access.Principal{}
	for _, c := range callers[1:] {
		tokens[c.token] = access.Principal{Issuer: "team", Subject: c.token, Roles: []string{c.role}}
	}
	url, stop, err := d.serve(runtime.Options{Anonymous: true}, tokens,
		directory.Toolset(new(directory.Directory)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Fprintln(d, "The tools that each caller lists (examples/team):")
	for _, c := range callers {
		if err := d.lists(c.role, url, c.token); err != nil {
			return err
		}
	}

	fmt.Fprintln(d, "\n1. A Viewer calls a hidden tool and a tool that does not exist, over HTTP:")
	hidden, unknown := directory.ToolUpdate, "upsert"
	var responses []response
	for _, tool := range []string{hidden, unknown} {
		r, err := d.post(url, "demo-vera", tool)
		if err != nil {
			return err
		}
		fmt.Fprintf(d, "   %d %s\n", r.status, r.body)
		responses = append(responses, r)
	}
	one, two := responses[0], responses[1]
	two.body = strings.ReplaceAll(two.body, unknown, hidden)
	if one.status != two.status || one.body != two.body ||
		!maps.EqualFunc(one.header, two.header, slices.Equal) {
		return fmt.Errorf("the responses differ: %v and %v", one, two)
	}
	fmt.Fprintln(d, "   Apart from the name: equal status, headers (without Date) and body.")
	fmt.Fprintln(d)
	return nil
}

// lists prints the tool list of a caller.
func (d demo) lists(caller, url, token string) error {
	session, err := visitor.Connect(d, visitor.HTTP(url, token), nil)
	if err != nil {
		return err
	}
	tools, err := visitor.Tools(d, session)
	fmt.Fprintf(d, "  %-9s %s\n", caller, tools)
	return errors.Join(err, session.Close())
}

type response struct {
	status int
	header http.Header // without Date
	body   string
}

// post calls a tool with an HTTP request of protocol 2026-07-28.
func (d demo) post(url, token, tool string) (r response, err error) {
	const version = "2026-07-28"
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,`+
		`"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool, version)
	req, err := http.NewRequestWithContext(d, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version,
		"Mcp-Method": "tools/call", "Mcp-Name": tool} {
		req.Header.Set(name, value)
	}
	res, err := (&http.Client{Transport: visitor.Bearer(token)}).Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	res.Header.Del("Date")
	return response{res.StatusCode, res.Header, string(text)}, err
}

// stale edits a copy of the team's handlers without generating again.
func (d demo) stale() error {
	const source = "team/directory"
	if err := copyPackage(d.dir, source); err != nil {
		return err
	}
	file := filepath.Join(d.dir, source, "directory.go")
	original, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if out, err := d.command("go", "build", "./..."); err != nil {
		return fmt.Errorf("the copy does not build: %w: %s", err, out)
	}
	for _, edit := range []struct {
		title, old, new, command string
		shown                    []string // parts of the lines to print
	}{
		{"2. A handler's parameter is edited after generation. The code does not build:",
			"PromoteToManager(ctx context.Context, id int64)",
			"PromoteToManager(ctx context.Context, id string)", "go build ./team/directory",
			[]string{"mcp_gen.go:"}},
		{"   A directive is edited after generation. CI fails:", "//mcp:tool minrole=Admin",
			"//mcp:tool minrole=Viewer", "mcpgen check ./team/directory",
			[]string{"mcp_gen.go is stale", "Tool: ToolPromoteToManager"}},
	} {
		text := strings.Replace(string(original), edit.old, edit.new, 1)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
		out, err := d.refused(edit.command, edit.shown...)
		if err != nil {
			return err
		}
		fmt.Fprintf(d, "%s\n   edit: %s\n      -> %s\n   $ %s\n", edit.title, edit.old, edit.new,
			edit.command)
		d.indented(out, edit.shown...)
	}
	return d.widened(source)
}

// widened generates the edited copy, and compares it with the manifest of the original.
func (d demo) widened(source string) error {
	manifest := filepath.Join(source, "mcp.manifest.json")
	reviewed, err := os.ReadFile(filepath.Join("examples", manifest))
	if err != nil {
		return err
	}
	err = visitor.WriteFiles(d.dir, map[string]string{"reviewed.json": string(reviewed)})
	if err != nil {
		return err
	}
	if out, err := d.command("mcpgen", "./"+source); err != nil {
		return fmt.Errorf("mcpgen: %w: %s", err, out)
	}
	command := "mcpgen diff --base reviewed.json --head " + manifest + " --fail-on=widen,add"
	out, err := d.refused(command, "widened ")
	if err != nil {
		return err
	}
	fmt.Fprintf(d, "   The copy is generated again. The review fails:\n   $ %s\n", command)
	d.indented(out, "widened ")
	return nil
}

// outside is the target of a replacement in the go.mod of the examples.
var outside = regexp.MustCompile(`=> \.\.(\S*)`)

// copyPackage copies a package of the examples into a module in dir. The module requires what the
// examples require.
func copyPackage(dir, source string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	from := filepath.Join(root, "examples")
	files := os.DirFS(filepath.Join(from, source))
	if err := os.CopyFS(filepath.Join(dir, source), files); err != nil {
		return err
	}
	mod, noMod := os.ReadFile(filepath.Join(from, "go.mod"))
	sum, noSum := os.ReadFile(filepath.Join(from, "go.sum"))
	if err := errors.Join(noMod, noSum); err != nil {
		return err
	}
	return visitor.WriteFiles(dir, map[string]string{"go.sum": string(sum),
		"go.mod": outside.ReplaceAllString(string(mod), `=> "`+root+`$1"`)})
}

// command runs a command in the folder of the run and returns what it prints.
func (d demo) command(words ...string) (string, error) {
	if words[0] == "mcpgen" {
		words[0] = d.mcpgen
	}
	cmd := exec.CommandContext(d, words[0], words[1:]...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// refused runs a command that has to exit with code 1 and to print each of the parts.
func (d demo) refused(command string, parts ...string) (string, error) {
	out, err := d.command(strings.Fields(command)...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 || slices.ContainsFunc(parts, func(part string) bool {
		return !strings.Contains(out, part)
	}) {
		return "", fmt.Errorf("%s: %v, want exit code 1 and %q: %s", command, err, parts, out)
	}
	return out, nil
}

// noProcesses is a sandbox that starts no processes, so that the demo runs on all systems. The demo
// calls no isolated tool.
type noProcesses struct{ *sandbox.Sandbox }

func (noProcesses) Start(isolate.Start) error { return nil }

// workspace reads files as an agent, and then alters the audit trail of these calls.
func (d demo) workspace() (err error) {
	in := func(name string) string { return filepath.Join(d.dir, name) }
	if err := visitor.WriteFiles(d.dir, map[string]string{"key": rand.Text() + rand.Text(),
		"public/welcome.txt": "Welcome.", "files/plan.md": "The plan."}); err != nil {
		return err
	}
	roots, err := grant.OpenRoots(map[string]string{"public": in("public"), "files": in("files")})
	if err != nil {
		return err
	}
	defer roots.Close()
	key, err := chain.ReadKey(in("key"))
	if err != nil {
		return err
	}
	var trail bytes.Buffer
	sealed, err := chain.New(audit.JSONLines(&trail), chain.Options{Key: key, Replica: "workspace"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sealed.Close(d)) }()
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return err
	}
	grants, defaults := grant.NewMemory(), grant.Minimal("public")
	defaults[0].Unrestricted = true // read_file is not isolated
	url, stop, err := d.serve(runtime.Options{Audit: runtime.AuditOptions{Sink: sealed},
		Grants:  runtime.GrantOptions{Source: grants, Defaults: defaults, Roots: roots},
		Sandbox: noProcesses{box}},
		map[string]access.Principal{
			"demo-robin": {Issuer: "workspace", Subject: "robin", Roles: []string{"Agent"}}},
		desk.Toolset(), permissionrequest.Toolset(permissionrequest.New(grants, defaults...)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	robin, err := visitor.Connect(d, visitor.HTTP(url, "demo-robin"), nil)
	if err != nil {
		return err
	}
	defer robin.Close()
	if _, err := visitor.Tools(d, robin); err != nil { // as a client does before its first call
		return err
	}
	read := func(path string) {
		visitor.Printf(d, "   %-24s %s", path, visitor.Call(d, robin, desk.ToolReadFile,
			map[string]string{"path": path}))
	}
	fmt.Fprintln(d, "\n3. A grant is decided on the opened file. robin may read public/** only:")
	read("public/welcome.txt")
	read("public/../files/plan.md")
	welcome := in("public/welcome.txt")
	if err := errors.Join(os.Remove(welcome), os.Symlink("../files/plan.md", welcome)); err != nil {
		return err
	}
	fmt.Fprintln(d, "   $ ln -sf ../files/plan.md public/welcome.txt")
	read("public/welcome.txt")

	fmt.Fprintln(d, "\n4. An altered audit record is found. The trail of these calls, as exported:")
	const command = "mcpgen audit verify --key-file key trail.jsonl"
	file := map[string]string{"trail.jsonl": trail.String()}
	if err := visitor.WriteFiles(d.dir, file); err != nil {
		return err
	}
	out, err := d.command(strings.Fields(command)...)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	fmt.Fprintf(d, "   $ %s\n", command)
	d.indented(out)
	records := strings.SplitAfter(trail.String(), "\n")
	const recorded, altered = `"principal":"robin"`, `"principal":"rodin"`
	if len(records) < 2 || !strings.Contains(records[1], recorded) {
		return fmt.Errorf("record 2 of the trail lacks %s: %s", recorded, trail.String())
	}
	records[1] = strings.Replace(records[1], recorded, altered, 1)
	fmt.Fprintf(d, "   edit of record 2: %s -> %s\n", recorded, altered)
	file["trail.jsonl"] = strings.Join(records, "")
	if err := visitor.WriteFiles(d.dir, file); err != nil {
		return err
	}
	if out, err = d.refused(command, "trail.jsonl:2"); err != nil {
		return err
	}
	fmt.Fprintf(d, "   $ %s\n", command)
	d.indented(out)
	return nil
}

// boundaries are those of property 5, by client.
type boundaries map[string]boundary.Boundary

// Boundary implements [boundary.Source].
func (b boundaries) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	found, ok := b[p.Client]
	return found, ok, nil
}

// agent serves the team to two clients of one administrator, of which one has a narrow boundary.
func (d demo) agent() (err error) {
	limits := boundaries{"editor": {Roles: []string{"*"}, Items: []string{"*"}},
		"agent": {Items: []string{"tool:" + directory.ToolGetAll}}}
	tokens := map[string]access.Principal{}
	for client := range limits {
		tokens["demo-"+client] = access.Principal{Issuer: "team", Subject: "ada", Client: client,
			Roles: []string{"Admin"}}
	}
	url, stop, err := d.serve(runtime.Options{Access: runtime.AccessOptions{Boundaries: limits}},
		tokens, directory.Toolset(new(directory.Directory)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Fprintf(d, "\n5. An injected agent of an Admin cannot exceed its boundary, %s. "+
		"The Admin's clients:\n", limits["agent"].Items[0])
	for _, client := range []string{"editor", "agent"} {
		fmt.Fprint(d, " ")
		if err := d.lists(client, url, "demo-"+client); err != nil {
			return err
		}
	}
	r, err := d.post(url, "demo-agent", directory.ToolUpdate)
	fmt.Fprintf(d, "   The agent calls %s:\n   %d %s\n", directory.ToolUpdate, r.status, r.body)
	return err
}

// fields prints the fields of a result, as a Member and a Manager list them.
func (d demo) fields() (err error) {
	tokens := map[string]access.Principal{}
	roles := []string{"Member", "Manager"}
	for _, role := range roles {
		tokens[role] = access.Principal{Issuer: "team", Subject: role, Roles: []string{role}}
	}
	url, stop, err := d.serve(runtime.Options{}, tokens, directory.Toolset(new(directory.Directory)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Fprintf(d, "\n6. A salary is for Managers only. The result of %s, as each caller lists the "+
		"tool:\n", directory.ToolGetByID)
	for _, role := range roles {
		session, err := visitor.Connect(d, visitor.HTTP(url, role), nil)
		if err != nil {
			return err
		}
		defer session.Close()
		for tool, err := range session.Tools(d, nil) {
			if err != nil {
				return err
			}
			if tool.Name == directory.ToolGetByID {
				schema, _ := tool.OutputSchema.(map[string]any)
				properties, _ := schema["properties"].(map[string]any)
				fmt.Fprintf(d, "   %-9s %s\n", role,
					strings.Join(slices.Sorted(maps.Keys(properties)), ", "))
			}
		}
	}
	return nil
}

// indented prints lines that contain one of the parts, or all lines.
func (d demo) indented(text string, parts ...string) {
	for line := range strings.Lines(text) {
		if len(parts) == 0 || slices.ContainsFunc(parts, func(part string) bool {
			return strings.Contains(line, part)
		}) {
			visitor.Printf(d, "   %s", strings.Join(strings.Fields(line), " "))
		}
	}
}

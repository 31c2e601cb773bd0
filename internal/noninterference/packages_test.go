package noninterference

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/txtar"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// packages are those of testdata/packages.txtar, with code that mcpgen has generated, in a build
// that TestHiddenItemsOfGeneratedPackages makes. Any other build has none.
var packages []func() toolset.Toolset

// lacking are the same packages without the fields that no caller of a plan may see, by path.
var lacking = map[string]func() toolset.Toolset{}

// drawPackage draws one of the packages for a plan, whose items are those of the package.
func (p *plan) drawPackage(t *rapid.T) {
	p.Package = rapid.IntRange(1, len(packages)).Draw(t, "package")
	table := packages[p.Package-1]().Generated().Table
	if p.Roles, p.Adopted = table.Roles, false; p.Roles == nil {
		p.Roles = access.DefaultRoles() // of the other toolset
	}
	needed := false
	for _, rules := range [][]access.Rule{table.Rules, table.Prompts, table.Resources} {
		for _, r := range rules {
			p.Aware = p.Aware && (r.Public || r.Permission != access.Permission{})
			needed = needed || r.PermissionOnly()
		}
	}
	needed = needed || slices.ContainsFunc(table.Fields, access.Rule.PermissionOnly)
	p.Aware = p.Aware || needed
}

// drawItems draws which items of the package are hidden, and how both servers differ in them.
func (p *plan) drawItems(t *rapid.T) {
	g := packages[p.Package-1]().Generated()
	app := map[string]string{} // by tool
	for _, tool := range g.Tools {
		app[tool.Name] = tool.UI
	}
	apps := map[string]item{} // the last tool of each app
	for _, uri := range app {
		apps[uri] = item{}
	}
	for _, of := range []access.Kind{access.Tools, access.Prompts, access.Resources} {
		for _, r := range g.Table.Of(of).Rules {
			if _, is := apps[r.Name()]; is && of == access.Resources {
				continue // it follows its tools
			}
			i := item{Kind: of, Name: r.Name()}
			switch like := apps[app[i.Name]]; {
			case of == access.Tools && like.Hidden: // tools of one app have one rule
				i.Hidden, i.Forms = true, like.Forms
				for w, f := range i.Forms {
					if f != nil {
						own := *f
						own.Rule.Tool, i.Forms[w] = i.Name, &own
					}
				}
			case (of != access.Tools || like.Name == "") && flip(t, i.Name+" is hidden"):
				i.Hidden = true
				i.Forms = p.drawForms(t, i)
			default:
				for j, role := range r.MinRole {
					chain := p.Roles[0]
					switch role {
					case access.Lowest:
						r.MinRole[j] = chain[0]
					case access.Highest:
						r.MinRole[j] = chain[len(chain)-1]
					}
				}
				i.Forms = both(form{Rule: r, Behaviour: "own"})
			}
			if uri := app[i.Name]; uri != "" && of == access.Tools {
				apps[uri] = i
			}
			p.Items = append(p.Items, i)
		}
	}
}

// kept returns the form of an item of the package in a server, nil if the server lacks the item.
func (w *world) kept(kind access.Kind, name string) *form {
	for _, i := range w.plan.Items {
		if i.Kind == kind && i.Name == name {
			return i.Forms[w.which]
		}
	}
	panic("no item " + name)
}

// vary returns the toolset of the plan's package, with its items as the plan has them.
func (w *world) vary() toolset.Toolset {
	g := packages[w.plan.Package-1]().Generated()
	if bare := lacking[g.Package]; bare != nil && w.which == 1 {
		g = bare().Generated()
	}
	app := map[string]string{} // tools by the URI of their app
	for _, t := range g.Tools {
		app[t.UI] = t.Name
	}
	lacks := func(kind access.Kind, name string) bool {
		if tool, is := app[name]; is && kind == access.Resources {
			kind, name = access.Tools, tool
		}
		return w.kept(kind, name) == nil
	}
	rules := func(kind access.Kind, of []access.Rule) []access.Rule {
		of = slices.DeleteFunc(of, func(r access.Rule) bool { return lacks(kind, r.Name()) })
		for i, r := range of {
			tool, isApp := app[r.Resource]
			if isApp && kind == access.Resources {
				of[i] = w.kept(access.Tools, tool).Rule
				of[i].Tool, of[i].Resource = "", r.Resource
			} else {
				of[i] = w.kept(kind, r.Name()).Rule
			}
		}
		return of
	}
	g.Table.Roles = w.plan.Roles
	g.Table.Rules = rules(access.Tools, g.Table.Rules)
	g.Table.Prompts = rules(access.Prompts, g.Table.Prompts)
	g.Table.Resources = rules(access.Resources, g.Table.Resources)
	g.Table.Values = slices.DeleteFunc(g.Table.Values, func(r access.Rule) bool {
		return lacks(access.Tools, r.Tool)
	})
	for i, r := range g.Table.Values {
		if f := w.kept(access.Tools, r.Tool); f.Behaviour != "own" {
			g.Table.Values[i] = f.Rule // of a hidden tool, which no rule of a value may undercut
			g.Table.Values[i].Argument, g.Table.Values[i].Value = r.Argument, r.Value
			g.Table.Values[i].Denial = access.DenialDefault
		}
	}
	g.Tools = slices.DeleteFunc(g.Tools, func(t toolset.Tool) bool {
		return lacks(access.Tools, t.Name)
	})
	for i := range g.Tools {
		name := g.Tools[i].Name
		w.varyTool(&g.Tools[i], w.kept(access.Tools, name),
			slices.ContainsFunc(g.Table.Values, func(r access.Rule) bool { return r.Tool == name }))
	}
	g.Table.Fields = slices.DeleteFunc(g.Table.Fields, func(r access.Rule) bool {
		return !haveField(g.Tools, r.Field)
	})
	g.Prompts = slices.DeleteFunc(g.Prompts, func(p toolset.Prompt) bool {
		return lacks(access.Prompts, p.Name)
	})
	for i := range g.Prompts {
		p := &g.Prompts[i]
		f, get := w.kept(access.Prompts, p.Name), p.Get
		p.Description = cmp.Or(f.Description, p.Description)
		p.Get = func(ctx context.Context, c toolset.Call) (toolset.PromptResult, error) {
			if err := w.hinder(ctx, p.Name, f); err != nil {
				return toolset.PromptResult{}, err
			}
			return get(ctx, c)
		}
	}
	g.Resources = slices.DeleteFunc(g.Resources, func(r toolset.Resource) bool {
		return lacks(access.Resources, r.URI)
	})
	for i := range g.Resources {
		r := &g.Resources[i]
		if app[r.URI] != "" {
			continue
		}
		f, read := w.kept(access.Resources, r.URI), r.Read
		r.Description = cmp.Or(f.Description, r.Description)
		r.Read = func(ctx context.Context, c toolset.Call) (toolset.ResourceResult, error) {
			if err := w.hinder(ctx, r.Name, f); err != nil {
				return toolset.ResourceResult{}, err
			}
			return read(ctx, c)
		}
	}
	return toolset.NewToolset(g)
}

func (w *world) varyTool(t *toolset.Tool, f *form, valued bool) {
	t.Description = cmp.Or(f.Description, t.Description)
	if f.Alias {
		t.Aliases = append(t.Aliases, t.Name+"_old")
	}
	if f.Catalog && !slices.Contains(t.Catalogs, "declared") {
		t.Catalogs = append(t.Catalogs, "declared")
	}
	if f.Rich {
		t.Title, t.Icons = "A title", []toolset.Icon{{Source: "https://example.com/icon"}}
	}
	if f.Schema > 0 && len(t.Allow) == 0 && !valued {
		t.Input = schemas[f.Schema]
	}
	if handle, call := t.Handle, t.Call; handle != nil {
		t.Handle = func(ctx context.Context, r *decode.Reader) (any, error) {
			if err := w.hinder(ctx, t.Name, f); err != nil {
				return nil, err
			}
			return handle(ctx, r)
		}
	} else {
		t.Call = func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			if err := w.hinder(ctx, t.Name, f); err != nil {
				return toolset.Result{}, err
			}
			return call(ctx, c)
		}
	}
}

// hinder is what happens before a handler of the package. After an error the handler does not run.
func (w *world) hinder(ctx context.Context, name string, f *form) error {
	if f.Behaviour == "own" {
		return nil
	}
	_, err := w.behave(ctx, name, f.Behaviour)
	return err
}

// drawArguments draws arguments of a tool of the package, which often fit the tool's schema.
func (p plan) drawArguments(t *rapid.T, tool string) string {
	for _, of := range packages[p.Package-1]().Generated().Tools {
		if of.Name == tool || slices.Contains(of.Aliases, tool) {
			var schema map[string]any
			if err := json.Unmarshal([]byte(of.Input), &schema); err != nil {
				panic(err)
			}
			text, err := json.Marshal(example(t, schema, schema))
			if err != nil {
				panic(err)
			}
			return `,"arguments":` + string(text)
		}
	}
	return `,"arguments":{}`
}

// promptArguments are arguments of a prompt of the plan's package.
func (p plan) promptArguments(name string) string {
	var of []string
	if p.Package > 0 {
		for _, prompt := range packages[p.Package-1]().Generated().Prompts {
			if prompt.Name == name {
				for _, a := range prompt.Arguments {
					of = append(of, `"`+a.Name+`":"x"`)
				}
			}
		}
	}
	return strings.Join(of, ",")
}

// completed are the names of arguments and variables of the plan's package.
func (p plan) completed() (names []string) {
	if p.Package == 0 {
		return nil
	}
	g := packages[p.Package-1]().Generated()
	for _, prompt := range g.Prompts {
		for _, a := range prompt.Arguments {
			names = append(names, a.Name)
		}
	}
	for _, r := range g.Resources {
		for _, v := range r.Variables {
			names = append(names, v.Name)
		}
	}
	return names
}

// example draws a value that a schema describes, or once in a while another one.
func example(t *rapid.T, root, schema map[string]any) any {
	if ref, is := schema["$ref"].(string); is {
		defs, _ := root["$defs"].(map[string]any)
		schema, _ = defs[filepath.Base(ref)].(map[string]any)
	}
	if rapid.IntRange(0, 15).Draw(t, "misfit") == 15 {
		return pick[any](t, "misfit", nil, "misfit", -1, map[string]any{"none": 1}, []any{1}, true)
	}
	for _, key := range []string{"enum", "examples"} {
		if of, is := schema[key].([]any); is && len(of) > 0 {
			return pick(t, key, of...)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if of, is := schema[key].([]any); is {
			one, _ := pick(t, key, of...).(map[string]any)
			return example(t, root, one)
		}
	}
	kind, _ := schema["type"].(string)
	if of, is := schema["type"].([]any); is {
		kind, _ = of[0].(string)
	}
	switch kind {
	case "object":
		object := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if property, is := properties[name].(map[string]any); is && !pick(t, "left out", false, false,
				false, true) {
				object[name] = example(t, root, property)
			}
		}
		return object
	case "array":
		items, _ := schema["items"].(map[string]any)
		return []any{example(t, root, items)}
	case "integer", "number":
		return cmp.Or(schema["minimum"], any(float64(3)))
	case "boolean":
		return true
	case "string":
		return cmp.Or(schema["default"], any("x"))
	}
	return "x"
}

// TestHiddenItemsOfGeneratedPackages generates the code of the packages, and runs the same test for
// servers of these.
func TestHiddenItemsOfGeneratedPackages(t *testing.T) {
	if testing.Short() || packages != nil {
		t.Skip("generates code and compiles it")
	}
	const path = "github.com/mcpgen/mcpgen/internal/noninterference/packages"
	archive, err := txtar.ParseFile("testdata/packages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, root := t.TempDir(), rootOf(t)
	write := func(name string, data []byte) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700),
			os.WriteFile(name, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		write(f.Name, f.Data)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			data = append([]byte(strings.Replace(string(data), "module github.com/mcpgen/mcpgen",
				"module "+path, 1)), fmt.Sprintf("\nrequire github.com/mcpgen/mcpgen v0.0.0\n"+
				"replace github.com/mcpgen/mcpgen => %s\n", root)...)
		}
		write(name, data)
	}
	mcpgen := filepath.Join(t.TempDir(), "mcpgen")
	command(t, root, nil, "go", "build", "-o", mcpgen, "./cmd/mcpgen")
	command(t, dir, []string{"GOWORK=off", "GOFLAGS=-mod=mod"}, mcpgen, "./...")
	for _, f := range archive.Files {
		if rest, is := strings.CutPrefix(f.Name, "union/"); is { // its tools have the same names
			bare := guarded.ReplaceAllString(string(f.Data), "")
			bare = strings.ReplaceAll(bare, "packages/union", "packages/bare/union")
			write("bare/union/"+rest, []byte(bare))
		}
	}
	command(t, dir, []string{"GOWORK=off", "GOFLAGS=-mod=mod"}, mcpgen, "./bare/...")

	replace := map[string]string{}
	at := filepath.Join(root, "internal/noninterference")
	err = filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name) // both are absolute
		switch {
		case filepath.Base(name) == "packages_test.go":
			replace[filepath.Join(at, "generated_test.go")] = name
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			replace[filepath.Join(at, "packages", rel)] = name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	binary := compile(t, overlay(t, t.TempDir(), replace))
	t.Logf("%s", command(t, "", nil, binary, flagsOf("TestHiddenItemsDoNotInterfere")...))
}

// flagsOf returns the flags of a binary that runs one test, with those of rapid of this process.
func flagsOf(test string) []string {
	flags := []string{"-test.v", "-rapid.nofailfile", "-test.run", "^" + test + "$"}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "-rapid.") {
			flags = append(flags, arg)
		}
	}
	return flags
}

// guarded is a line about a guarded field that no caller of a plan may see, with its directive.
var guarded = regexp.MustCompile(`(?m)^(\t//mcp:field .*\n)?.* // guarded\n`)

// command runs a program, and returns its output.
func command(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", c, err, out)
	}
	return out
}

func rootOf(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// overlay writes a file for -overlay of go build, by which other files stand in place of some.
func overlay(t *testing.T, dir string, replace map[string]string) (name string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// compile compiles the tests of this package with an overlay, beside which the binary stands.
func compile(t *testing.T, overlay string) (binary string) {
	t.Helper()
	binary = filepath.Join(filepath.Dir(overlay), "noninterference.test")
	command(t, "", nil, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".")
	return binary
}

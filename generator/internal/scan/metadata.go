package scan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
)

// metadata reads what clients and people see of a tool besides its schemas.
func (t *reading) metadata() {
	if t.written.Has("task") {
		t.Task = cmp.Or(t.written.Text("task"), "optional")
	}
	t.Lenient = cmp.Or(t.written.Hint("lenient"), t.defaultsOf().lenient, t.defaults[""].lenient)
	t.Aliases = slices.Sorted(slices.Values(t.written.List("alias")))
	for _, alias := range t.Aliases {
		if !toolName.MatchString(alias) {
			t.report(diag.BadToolName, t.written.Span, "write the old name of the tool, "+
				"of ASCII letters, digits, underscore, hyphen and dot",
				"alias=%s is not an MCP tool name", alias)
		}
	}
	t.appOf()
	t.Icons, t.Meta = t.meta(t.decl, t.UI)
}

// meta reads each //mcp:meta of a tool or of the package doc: the icons, and the _meta of the tool
// as compact JSON with sorted keys, "" without one. ui is the URI of its MCP App.
func (s *scanner) meta(d *annotated.Decl, ui string) (icons []model.Icon, meta string) {
	members := map[string]json.RawMessage{}
	if ui != "" {
		members["ui"], _ = json.Marshal(map[string]string{"resourceUri": ui})
	}
	for _, found := range d.Directives {
		if found.Name != "meta" || found.Broken {
			continue
		}
		name := found.Subject.Text
		bad := func(fix, format string) {
			s.report(diag.BadValue, found.Span, fix, format, name)
		}
		switch prefix, _, prefixed := strings.Cut(name, "/"); {
		case found.Has("json") == found.Has("value"):
			bad("write value= for a text, or json= for any other value",
				"//mcp:meta %s needs one of value= and json=")
		case name == "icon":
			icons = append(icons, s.icon(found))
		case d.Place == directive.PackageDoc:
			bad("move it beside //mcp:tool", "//mcp:meta %s is in the package doc, and is not an icon")
		case members[name] != nil:
			s.report(diag.Duplicate, found.Span, "remove one of the two",
				"//mcp:meta %s is written twice", name)
		case prefixed && reservedPrefix(prefix):
			bad("use a prefix from your own domain, for example com.example/",
				"//mcp:meta %s has a reserved prefix")
		default:
			text := []byte(s.text(found, "json"))
			if found.Has("value") {
				text, _ = json.Marshal(s.text(found, "value"))
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, text); err != nil {
				bad("write one JSON value in backquotes", "the json= of //mcp:meta %s is not JSON")
				continue
			}
			members[name] = compact.Bytes()
		}
	}
	if len(members) == 0 {
		return icons, ""
	}
	text, _ := json.Marshal(members) // valid JSON by now
	return icons, string(text)
}

// icon reads one //mcp:meta icon.
func (s *scanner) icon(found *directive.Directive) model.Icon {
	var read struct {
		Src      string   `json:"src"`
		MIMEType string   `json:"mimeType"`
		Sizes    []string `json:"sizes"`
		Theme    string   `json:"theme"`
	}
	if arg, ok := found.Arg("json"); ok {
		d := json.NewDecoder(strings.NewReader(s.text(found, "json")))
		d.DisallowUnknownFields()
		if d.Decode(&read) != nil || d.More() ||
			!slices.Contains([]string{"", "light", "dark"}, read.Theme) {
			s.report(diag.BadValue, found.Span,
				"write the object with src, mimeType, sizes and theme in backquotes; theme is light or dark",
				"the json= of //mcp:meta icon is not an icon")
			return model.Icon{}
		}
		if name, isConstant := strings.CutPrefix(read.Src, "@"); isConstant {
			if read.Src = s.constant(arg, "src", name); read.Src == "" {
				return model.Icon{} // reported
			}
		}
	} else if read.Src = s.text(found, "value"); read.Src == "" {
		return model.Icon{} // reported
	}
	u, err := url.Parse(read.Src)
	if err != nil || u.Scheme != "data" && (u.Scheme != "https" || u.Host == "") {
		s.report(diag.BadValue, found.Span,
			"write an https or data URI; clients load no other icons",
			"//mcp:meta icon has a source that is neither an https nor a data URI")
	}
	return model.Icon{Source: read.Src, MIMEType: read.MIMEType, Sizes: read.Sizes,
		Theme: read.Theme}
}

// reservedPrefix reports a prefix that the protocol (specification 2025-11-25, basic, _meta) or
// mcpgen keeps for itself.
func reservedPrefix(prefix string) bool {
	labels := strings.Split(prefix, ".")
	return len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp") ||
		prefix == "io.github.mcpgen"
}

// website reads the URL of the server's website.
func (s *scanner) website(d *directive.Directive) string {
	text := d.Text("website")
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		arg, _ := d.Arg("website")
		s.report(diag.BadValue, arg.Span, "write website=https://…",
			"website=%s is not the URL of a website", text)
	}
	return text
}

// appType is the media type of the view of an MCP App (SEP-1865).
const appType = "text/html;profile=mcp-app"

// accessKeys are the keys by which a directive has a rule of its own.
var accessKeys = []string{
	"public", "authenticated", "minrole", "scopes", "anyscope", "action", "object", "denial",
	"constrained",
}

// appOf notes the ui= of a tool.
func (t *reading) appOf() {
	arg, ok := t.written.Arg("ui")
	if !ok {
		return
	}
	t.UI = t.written.Text("ui")
	t.uis[t.UI] = cmp.Or(t.uis[t.UI], arg.Span)
}

// apps gives the views of MCP Apps the rules of their tools, and reports what does not fit.
func (s *scanner) apps() {
	for _, uri := range slices.Sorted(maps.Keys(s.uis)) {
		bad := func(fix, format string, args ...any) {
			s.report(diag.BadValue, s.uis[uri], fix, format, args...)
		}
		i := slices.IndexFunc(s.Service.Resources, func(r model.Resource) bool { return r.URI == uri })
		switch {
		case !strings.HasPrefix(uri, "ui://"):
			bad("write ui=ui://…", "ui=%s is not a ui:// URI", uri)
			continue
		case i < 0 && s.lost("resource"):
			continue
		case i < 0:
			bad("declare it with //mcp:resource uri="+uri, "this package has no resource %s", uri)
			continue
		}
		view := &s.Service.Resources[i]
		if len(view.Variables) > 0 {
			bad("remove the variables from its uri=", "ui=%s is a template, and not one resource", uri)
		}
		if view.MIMEType = cmp.Or(view.MIMEType, appType); view.MIMEType != appType {
			bad("remove its mimetype=", "the resource %s of ui= has mimetype=%s, not %s", uri,
				view.MIMEType, appType)
		}
		inherits := !s.ruledURIs[uri]
		for _, t := range s.Service.Tools {
			switch {
			case t.UI != uri:
			case inherits:
				view.Access, view.Denial, inherits = t.Access, t.Denial, false
			case !view.SameRule(t):
				bad("give them equal rules, or leave out the rule of the resource",
					"the tool %s and the resource %s of its ui= have different rules", t.Name, uri)
			}
		}
	}
}

// client reads the directory of the typed client. It is empty if client= is wrong.
func (s *scanner) client(d *directive.Directive) string {
	arg, ok := d.Arg("client")
	if !ok {
		return ""
	}
	dir := d.Text("client")
	bad := func(fix, format string, args ...any) string {
		s.report(diag.BadValue, arg.Span, fix, format, args...)
		return ""
	}
	switch {
	case !model.IsClientDir(dir) || token.IsKeyword(path.Base(dir)) || path.Base(dir) == "main":
		return bad("write a directory below the package, of lower-case letters, digits and "+
			"underscores, for example client=client",
			"client=%s is not the directory of a package below this one", dir)
	case s.pkg.Name == "main":
		return bad("move the handlers into a package of their own, or remove client=",
			"no package can import the types of package main, so it can have no typed client")
	}
	place := s.pkg.Dir
	for part := range strings.SplitSeq(dir, "/") {
		place = filepath.Join(place, part)
		if info, err := os.Lstat(place); err == nil && !info.IsDir() {
			return bad("write another name, or move the file away", "%s is not a directory", part)
		}
	}
	file := filepath.Join(place, model.ClientFile)
	switch text, err := os.ReadFile(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return bad("make it readable, or delete it", "client=%s: %s", dir, errors.Unwrap(err))
	case len(text) > 0 && !bytes.Contains(text, []byte(load.Header)):
		s.Findings.Add(diag.NotOurs, model.Position{File: file, Line: 1, Col: 1},
			"rename the file, or delete it if it was generated",
			"%s is not a file of mcpgen: it lacks the line %q", model.ClientFile, load.Header)
	}
	return dir
}

// typeForClient writes a type for the package of the typed client; nil without one.
func (s *scanner) typeForClient(t types.Type) model.Expr {
	if s.Service.Server.Client == "" {
		return nil
	}
	return gotype.Expr(t, nil)
}

// unexported reports types of tools that the package of the typed client cannot name.
func (s *scanner) unexported() {
	client := s.Service.Server.Client
	if client == "" {
		return
	}
	server := s.single("server")
	arg, _ := server.Arg("client")
	for _, t := range s.Service.Tools {
		exprs := []model.Expr{t.Input.Outside}
		if t.Output.Kind <= model.JSONOutput && t.Output.Kind != model.TextOutput {
			exprs = append(exprs, t.Output.Outside)
		}
		for _, p := range t.Input.Params {
			exprs = append(exprs, p.Outside)
		}
		for _, e := range exprs {
			for _, word := range e {
				if word.Path == "" || token.IsExported(word.Text) &&
					importable(word.Path, s.pkg.Path+"/"+client) {
					continue
				}
				s.report(diag.BadValue, arg.Span, "export the type, or remove client=",
					"a typed client cannot name the type %s.%s of the tool %s", word.Package,
					word.Text, t.Name)
				return
			}
		}
	}
}

// importable reports whether a package may import another one: an internal package is for those
// below the parent of its directory internal.
func importable(what, by string) bool {
	i := strings.LastIndex("/"+what+"/", "/internal/")
	if i < 0 {
		return true
	}
	parent := strings.TrimSuffix(("/" + what)[:i], "/")
	return parent == "" || strings.HasPrefix("/"+by+"/", parent+"/")
}

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// more are structs that belong to an Options struct and have another name.
var more = map[string]bool{
	"runtime/identity.Resource": true, "runtime/identity/oidc.Issuer": true,
	"runtime/identity/oidc.Introspection": true, "runtime/identity/oidc.Claims": true,
	"runtime/identity/oidc.Target": true, "runtime/identity/oidc.PrivateKey": true,
	"runtime/sandbox.Limits": true, "runtime/redact.Masker": true,
}

// optionStruct is a struct whose fields are options.
type optionStruct struct {
	source *source
	name   string
}

// optionStructs returns the structs of options of the public packages, in the order of packages.
func optionStructs(r *repository) (structs []optionStruct) {
	for _, s := range r.public() {
		s.specs(token.TYPE, func(spec ast.Spec, _ *ast.GenDecl) {
			t := spec.(*ast.TypeSpec)
			_, is := t.Type.(*ast.StructType)
			named := t.Name.IsExported() && strings.HasSuffix(t.Name.Name, "Options")
			if is && (named || more[s.dir+"."+t.Name.Name]) {
				structs = append(structs, optionStruct{s, t.Name.Name})
			}
		})
	}
	return structs
}

// zero begins the sentence of a field's comment that is about its zero value.
var zero = regexp.MustCompile(`^(Nil|Zero|0|Empty|False|None|If it is (nil|zero|empty|false)|` +
	`The zero value|Required)\b`)

// options has a heading for each struct of options, with a row for each field.
func options(r *repository) string {
	var b strings.Builder
	last := ""
	for _, o := range optionStructs(r) {
		fields, about := o.source.fields(o.name)
		if o.source.dir != last {
			last = o.source.dir
			fmt.Fprintf(&b, "## %s\n\n", last)
		}
		short := last[strings.LastIndex(last, "/")+1:]
		fmt.Fprintf(&b, "### %s.%s\n\n%s\n\n%s", short, o.name, linked(about),
			head("field", "type", "meaning", "zero value"))
		for _, f := range fields {
			meaning, empty := split(f.comment)
			if empty == "" && f.typ != "bool" || meaning == "" {
				r.fault("%s.%s.%s: the comment has no sentence that begins with Nil, Zero, Empty, None "+
					"or Required, or has no other", last, o.name, f.name)
			}
			b.WriteString(row(code(f.name), code(f.typ), cell(meaning),
				cell(o.source.numbers(cmp.Or(empty, "false")))))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// split parts a comment into the sentences about the zero value and the others.
func split(comment string) (meaning, empty string) {
	for _, s := range sentences(linked(comment)) {
		if empty == "" && zero.MatchString(s) {
			empty = s
		} else {
			meaning += " " + s
		}
	}
	return sentence(strings.TrimSpace(meaning)), sentence(empty)
}

var sentenceEnd = regexp.MustCompile("\\. +[A-Z0-9\"`]")

// sentences splits text at full stops before an upper-case letter.
func sentences(text string) (list []string) {
	text = strings.Join(strings.Fields(text), " ")
	for at := sentenceEnd.FindStringIndex(text); at != nil; at = sentenceEnd.FindStringIndex(text) {
		list, text = append(list, text[:at[0]+1]), text[at[1]-1:]
	}
	return append(list, text)
}

var docLink = regexp.MustCompile(`\[(\*?[A-Za-z][\w.]*)\]`)

// linked is a comment without the brackets of its links.
func linked(comment string) string { return docLink.ReplaceAllString(comment, "`$1`") }

var constantName = regexp.MustCompile("`?\\b(?:\\w+\\.)?((?:Default|Max|Min)[A-Z]\\w*)\\b`?")

// numbers adds the value to the constants that a text names.
func (s *source) numbers(text string) string {
	return constantName.ReplaceAllStringFunc(text, func(name string) string {
		m := constantName.FindStringSubmatch(name)
		v, timed := s.value(m[1])
		if v == nil {
			return name
		}
		return "`" + strings.Trim(name, "`") + "` (" +
			shown(v, timed, strings.HasSuffix(m[1], "Bytes")) + ")"
	})
}

// instrument is one metric.
type instrument struct{ name, kind, unit, about string }

// instrumentAttributes are the attributes of each metric, by the names of their constants.
var instrumentAttributes = map[string][]string{
	"mcp.server.operation.duration": {"keyMethod", "keyProtocol", "keyTransport",
		"keyNetworkProtocol", "keyOperation", "keyTool", "keyPrompt", "keyResource", "keyErrorType",
		"keyCode"},
	"mcpgen.requests": {"keyMethod", "keyTool", "keyPrompt", "keyResource", "keyStatus",
		"keyFailure"},
	"mcpgen.denials": {"keyMethod", "keyTool", "keyPrompt", "keyResource", "keyAxis",
		"keyLimit"},
	"mcpgen.http.refusals":     {"keyHTTPStatus"},
	"mcpgen.list.size":         {"keyMethod"},
	"mcpgen.cache.lookups":     {"keyCache", "keyHit"},
	"mcpgen.sandbox.kills":     {"keyTool", "keyLimit"},
	"mcpgen.arguments.coerced": {"keyTool", "keyCoercion"},
}

// metrics has a row for each instrument.
func metrics(r *repository) string {
	s := r.read("runtime/telemetry")
	var list []instrument
	text := s.text
	for _, f := range s.Syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || text(call.Args[0]) == "" {
				return true
			}
			i := instrument{name: text(call.Args[0])}
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				if fun.Name == "counter" {
					i.kind, i.unit, i.about = "counter", text(call.Args[1]), text(call.Args[2])
				}
			case *ast.SelectorExpr:
				if !strings.HasSuffix(fun.Sel.Name, "Histogram") {
					return true
				}
				i.kind = "histogram"
				for _, a := range call.Args[1:] {
					with, ok := a.(*ast.CallExpr)
					if !ok {
						continue
					}
					switch with.Fun.(*ast.SelectorExpr).Sel.Name {
					case "WithUnit":
						i.unit = text(with.Args[0])
					case "WithDescription":
						i.about = text(with.Args[0])
					}
				}
			}
			if i.kind != "" {
				list = append(list, i)
			}
			return true
		})
	}
	slices.SortFunc(list, func(a, b instrument) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	b.WriteString(head("metric", "kind", "unit", "meaning", "attributes"))
	for _, i := range list {
		if i.about == "" || i.unit == "" || instrumentAttributes[i.name] == nil {
			r.fault("the metric %s has no description, unit or attributes", i.name)
		}
		var of []string
		for _, name := range instrumentAttributes[i.name] {
			v, _ := s.must(name)
			of = append(of, code(constant.StringVal(v)))
		}
		b.WriteString(row(code(i.name), i.kind, code(i.unit), cell(i.about),
			strings.Join(of, ", ")))
	}
	return b.String()
}

// attributes has a row for each attribute of spans and metrics, by its constant's comment.
func attributes(r *repository) string {
	isKey := func(c *ast.ValueSpec) bool {
		return strings.HasPrefix(c.Names[0].Name, "key") && len(c.Values) == 1
	}
	return head("attribute", "meaning") + r.read("runtime/telemetry").words(isKey,
		func(_, comment string) string { return linked(comment) })
}

// words has a row for each constant of a text that is chosen, with its comment.
func (s *source) words(chosen func(*ast.ValueSpec) bool,
	meaning func(name, comment string) string) string {
	var b strings.Builder
	s.specs(token.CONST, func(spec ast.Spec, _ *ast.GenDecl) {
		c := spec.(*ast.ValueSpec)
		if !chosen(c) {
			return
		}
		comment := cmp.Or(c.Doc.Text(), c.Comment.Text())
		if comment == "" {
			s.fault("%s has no comment", c.Names[0].Name)
		}
		b.WriteString(row(code(s.text(c.Values[0])), cell(meaning(c.Names[0].Name, comment))))
	})
	return b.String()
}

// jsonFields has a row for each field of a struct's JSON form, with its type or without.
func (s *source) jsonFields(name string, typed bool, columns ...string) string {
	fields, _ := s.fields(name)
	table := head(columns...)
	for _, f := range fields {
		if f.comment == "" {
			s.fault("%s.%s has no comment", name, f.name)
		}
		tag, rest, _ := strings.Cut(reflect.StructTag(f.tag).Get("json"), ",")
		cells := []string{code(tag)}
		if typed {
			cells = append(cells, jsonType(f.typ))
		}
		present := "always"
		if strings.Contains(rest, "omit") {
			present = "unless empty"
		}
		table += row(append(cells, present, cell(about(f.name, f.comment)))...)
	}
	return table
}

// about is a comment without the name that it begins with by Go's convention.
func about(name, comment string) string {
	text, named := strings.CutPrefix(linked(comment), name)
	if named {
		text = strings.TrimSpace(strings.TrimPrefix(text, ":"))
		for _, verb := range []string{"is ", "are ", "has "} {
			text = strings.TrimPrefix(text, verb)
		}
	}
	return sentence(text)
}

func eventFields(r *repository) string {
	return r.read("runtime/audit").jsonFields("Event", false, "field", "present", "content")
}

func argumentFields(r *repository) string {
	var b strings.Builder
	for _, part := range []struct{ heading, name string }{
		{"arguments", "Argument"}, {"grants", "Use"}, {"chain and cut", "Link"},
	} {
		table := r.read("runtime/audit").jsonFields(part.name, false, "field", "present", "content")
		fmt.Fprintf(&b, "### An item of %s\n\n%s\n", part.heading, table)
	}
	return b.String()
}

// eventWords has a table of the words of each type of an event.
func eventWords(r *repository) string {
	var b strings.Builder
	for _, part := range []struct{ heading, dir, typ string }{
		{"event_type", "runtime/audit", "Type"}, {"status", "runtime/audit", "Status"},
		{"failure", "runtime/audit", "Failure"}, {"axis", "runtime/access", "Axis"},
		{"", "runtime/audit", "string"},
	} {
		if part.heading != "" {
			fmt.Fprintf(&b, "\n### %s\n\n%s", part.heading, head("word", "meaning"))
		}
		b.WriteString(r.read(part.dir).words(func(c *ast.ValueSpec) bool {
			of, typed := c.Type.(*ast.Ident)
			axis := part.typ == "string" && strings.HasPrefix(c.Names[0].Name, "Axis")
			return c.Names[0].IsExported() && (axis || typed && of.Name == part.typ)
		}, about))
	}
	return strings.TrimLeft(b.String(), "\n")
}

package main

import (
	"errors"
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
func optionStructs(root string) (structs []optionStruct, err error) {
	dirs, err := packages(root)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		s, err := read(root, dir)
		if err != nil {
			return nil, err
		}
		s.specs(token.TYPE, func(spec ast.Spec, _ *ast.GenDecl) {
			t := spec.(*ast.TypeSpec)
			_, is := t.Type.(*ast.StructType)
			named := t.Name.IsExported() && strings.HasSuffix(t.Name.Name, "Options")
			if is && (named || more[dir+"."+t.Name.Name]) {
				structs = append(structs, optionStruct{s, t.Name.Name})
			}
		})
	}
	return structs, nil
}

// zero begins the sentence of a field's comment that is about its zero value.
var zero = regexp.MustCompile(`^(Nil|Zero|0|Empty|False|None|If it is (nil|zero|empty|false)|` +
	`The zero value|Required)\b`)

// options has a heading for each struct of options, with a row for each field.
func options(root string) (string, error) {
	structs, err := optionStructs(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var errs []error
	last := ""
	for _, o := range structs {
		fields, about, err := o.source.fields(o.name)
		if err != nil {
			return "", err
		}
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
				errs = append(errs, fmt.Errorf("%s.%s.%s: the comment has no sentence that begins with "+
					"Nil, Zero, Empty, None or Required, or has no other", last, o.name, f.name))
			}
			if empty == "" {
				empty = "false"
			}
			b.WriteString(row(code(f.name), code(f.typ), cell(meaning),
				cell(o.source.numbers(empty))))
		}
		b.WriteString("\n")
	}
	return b.String(), errors.Join(errs...)
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
		v, timed, err := s.value(m[1])
		if err != nil {
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
func metrics(root string) (string, error) {
	s, err := read(root, "runtime/telemetry")
	if err != nil {
		return "", err
	}
	var list []instrument
	text := func(e ast.Expr) string {
		v, _, err := s.eval(e)
		if err != nil || v.Kind() != constant.String {
			return ""
		}
		return constant.StringVal(v)
	}
	for _, f := range s.files {
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
			return "", fmt.Errorf("the metric %s has no description, unit or attributes", i.name)
		}
		var of []string
		for _, name := range instrumentAttributes[i.name] {
			v, _, err := s.value(name)
			if err != nil {
				return "", err
			}
			of = append(of, code(constant.StringVal(v)))
		}
		b.WriteString(row(code(i.name), i.kind, code(i.unit), cell(i.about),
			strings.Join(of, ", ")))
	}
	return b.String(), nil
}

// attributes has a row for each attribute of spans and metrics, by its constant's comment.
func attributes(root string) (string, error) {
	s, err := read(root, "runtime/telemetry")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head("attribute", "meaning"))
	s.specs(token.CONST, func(spec ast.Spec, _ *ast.GenDecl) {
		c := spec.(*ast.ValueSpec)
		if !strings.HasPrefix(c.Names[0].Name, "key") || len(c.Values) != 1 || err != nil {
			return
		}
		v, _, e := s.eval(c.Values[0])
		if e != nil {
			err = e
			return
		}
		about := c.Doc.Text()
		if about == "" {
			about = c.Comment.Text()
		}
		if about == "" {
			err = fmt.Errorf("%s has no comment", c.Names[0].Name)
		}
		b.WriteString(row(code(constant.StringVal(v)), cell(linked(about))))
	})
	return b.String(), err
}

// jsonFields has a row for each field of a struct's JSON form.
func jsonFields(root, dir, name, column string) (string, error) {
	s, err := read(root, dir)
	if err != nil {
		return "", err
	}
	fields, _, err := s.fields(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head(column, "present", "content"))
	for _, f := range fields {
		if f.comment == "" {
			return "", fmt.Errorf("%s.%s has no comment", name, f.name)
		}
		tag, rest, _ := strings.Cut(reflect.StructTag(f.tag).Get("json"), ",")
		present := "always"
		if strings.Contains(rest, "omit") {
			present = "unless empty"
		}
		b.WriteString(row(code(tag), present, cell(about(f.name, f.comment))))
	}
	return b.String(), nil
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

func eventFields(root string) (string, error) {
	return jsonFields(root, "runtime/audit", "Event", "field")
}

func argumentFields(root string) (string, error) {
	var b strings.Builder
	for _, part := range []struct{ heading, name string }{
		{"arguments", "Argument"}, {"grants", "Use"}, {"chain and cut", "Link"},
	} {
		table, err := jsonFields(root, "runtime/audit", part.name, "field")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "### An item of %s\n\n%s\n", part.heading, table)
	}
	return b.String(), nil
}

// eventWords has a table of the words of each type of an event.
func eventWords(root string) (string, error) {
	var b strings.Builder
	for _, part := range []struct{ heading, dir, typ string }{
		{"event_type", "runtime/audit", "Type"}, {"status", "runtime/audit", "Status"},
		{"failure", "runtime/audit", "Failure"}, {"axis", "runtime/access", "Axis"},
		{"", "runtime/audit", "string"},
	} {
		s, err := read(root, part.dir)
		if err != nil {
			return "", err
		}
		if part.heading != "" {
			fmt.Fprintf(&b, "\n### %s\n\n%s", part.heading, head("word", "meaning"))
		}
		s.specs(token.CONST, func(spec ast.Spec, _ *ast.GenDecl) {
			c := spec.(*ast.ValueSpec)
			of, typed := c.Type.(*ast.Ident)
			axis := part.typ == "string" && strings.HasPrefix(c.Names[0].Name, "Axis")
			if !c.Names[0].IsExported() || !axis && (!typed || of.Name != part.typ) {
				return
			}
			comment := c.Doc.Text()
			if comment == "" {
				comment = c.Comment.Text()
			}
			if comment == "" {
				err = fmt.Errorf("%s has no comment", c.Names[0].Name)
			}
			v, _, e := s.eval(c.Values[0])
			if e != nil {
				err = e
				return
			}
			b.WriteString(row(code(constant.StringVal(v)), cell(about(c.Names[0].Name, comment))))
		})
		if err != nil {
			return "", err
		}
	}
	return strings.TrimLeft(b.String(), "\n"), nil
}

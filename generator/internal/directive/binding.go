package directive

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/internal/editdistance"
	"github.com/mcpgen/mcpgen/internal/pattern"
)

// kindText is the form of a type of permission: the rule of runtime/grant.
var kindText = regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+$`)

// longestKind is in bytes, as in runtime/grant.
const longestKind = 128

// kinds are the permissions that the runtime itself opens, starts and dials for.
var kinds = []string{"file.read", "file.write", "net.connect", "system.command"}

// bindings reads KIND={argument}[:PATTERN] …, each of which becomes an Arg: its values are the
// argument without braces, and the pattern in canonical form, if any.
func (l *lexer) bindings() {
	for {
		w, done := l.next()
		if done {
			break
		}
		l.binding(w)
	}
	if len(l.d.Args) == 0 && !l.d.Broken {
		l.problem(diag.MissingKey, 0, int(l.d.End-l.d.Pos),
			"write KIND={argument}, for example "+l.d.Spec.Example,
			"//mcp:"+l.d.Name+" has no permission")
	}
}

func (l *lexer) binding(w word) {
	const write = "write KIND={argument}, with the argument's name that clients use"
	if fix, message := checkKind(w.key); message != "" {
		l.problem(diag.BadValue, w.start, w.start+max(len(w.key), 1), fix, message)
		return
	}
	if !w.assigned || len(w.parts) != 1 {
		l.problem(diag.Malformed, w.start, w.end, write, w.key+" has no argument")
		return
	}
	p := w.parts[0]
	text, opened := strings.CutPrefix(p.text, "{")
	name, within, closed := strings.Cut(text, "}")
	within, bounded := strings.CutPrefix(within, ":")
	if !opened || !closed || name == "" || strings.Contains(name, "{") ||
		within != "" && !bounded {
		fix := write
		if !opened && !closed && p.text != "" {
			fix = "write the argument's name in braces, for example {path}; an administrator grants the " +
				"resources"
		}
		l.problem(diag.BadValue, p.start, max(p.end, p.start+1), fix, fmt.Sprintf(
			"%s= needs one argument in braces, not %q", w.key, p.text))
		return
	}
	v := l.value(part{text: name, start: p.start, end: p.end})
	same := func(a Arg) bool { return a.Key == w.key && a.Values[0].Text == name }
	if slices.ContainsFunc(l.d.Args, same) {
		l.problem(diag.Duplicate, w.start, w.end, "remove one of the two", fmt.Sprintf(
			"//mcp:%s has %s={%s} twice", l.d.Name, w.key, name))
		return
	}
	values := []Value{v}
	if bounded {
		start := p.start + len("{}:") + len(name)
		canonical, err := bound(w.key, within)
		var bad *pattern.Error
		if errors.As(err, &bad) {
			if start += bad.Offset; p.quoted {
				start = p.start
			}
			l.problem(diag.BadValue, min(start, p.end-1), p.end, bad.Cure,
				fmt.Sprintf("the pattern %q of %s={%s} is not valid: %s", within, w.key, name, bad.Problem))
			return
		}
		values = append(values, l.value(part{text: canonical, start: start, end: p.end}))
	}
	l.d.Args = append(l.d.Args, Arg{
		Key: w.key, Span: l.span(w.start, w.end), Values: values,
	})
}

// bound returns a pattern in canonical form. A pattern of files without a slash, such as *.txt,
// matches names in each folder.
func bound(kind, text string) (string, error) {
	p, err := pattern.Parse(kind, text)
	if err != nil {
		return "", err
	}
	text = p.Canonical()
	if pattern.FamilyOf(kind) == pattern.Paths && !strings.Contains(text, "/") && text != "." &&
		text != "**" {
		text = "**/" + text
	}
	return text, nil
}

// checkKind returns the fault of a type of permission, or an empty message. A type that is nearly
// one of the runtime's is a fault: the runtime would open, start or dial nothing for it.
func checkKind(kind string) (fix, message string) {
	if slices.Contains(kinds, kind) {
		return "", ""
	}
	if !kindText.MatchString(kind) || len(kind) > longestKind {
		return "write one of " + strings.Join(kinds, ", ") +
				", or a kind of your own: two or more words of lower-case letters, separated by dots",
			fmt.Sprintf("%q is not a kind of permission", kind)
	}
	for _, family := range []string{"file.", "net."} {
		if strings.HasPrefix(kind, family) {
			var has []string
			for _, k := range kinds {
				if strings.HasPrefix(k, family) {
					has = append(has, k)
				}
			}
			return "write " + strings.Join(has, " or "), "unknown permission " + kind
		}
	}
	for _, k := range kinds {
		if editdistance.Between(kind, k) <= 2 {
			return "did you mean " + k + "? Choose a less similar name for a kind of your own",
				"unknown permission " + kind
		}
	}
	return "", ""
}

// valued reads ARGUMENT=VALUE,… at the start of //mcp:rule.
func (l *lexer) valued() {
	const write = "write ARGUMENT=VALUE first, for example "
	spec := l.d.Spec
	w, done := l.next()
	_, isKey := spec.key(w.key)
	switch {
	case done && !l.d.Broken:
		l.problem(diag.MissingKey, 0, int(l.d.End-l.d.Pos), write+spec.Example,
			"//mcp:"+spec.Name+" names no argument")
		return
	case done:
		return
	case isKey:
		l.problem(diag.MissingKey, w.start, w.end, write+spec.Example+
			"; an argument with the name "+w.key+" needs another name",
			"//mcp:"+spec.Name+" names no argument before the access key "+w.key)
		return
	case !w.assigned || w.key == "":
		l.problem(diag.Malformed, w.start, max(w.end, w.start+1), write+spec.Example,
			fmt.Sprintf("%q is not ARGUMENT=VALUE", l.text[w.start:w.end]))
		return
	}
	l.d.Subject = l.value(part{text: w.key, start: w.start, end: w.start + len(w.key)})
	for _, p := range w.parts {
		v := l.value(p)
		switch {
		case p.text == "" && !p.quoted:
			l.problem(diag.Malformed, w.start, max(w.end, w.start+1),
				"write the values, separated by commas without spaces; write \"\" for the empty value",
				w.key+"= lists a value without text")
			return
		case slices.ContainsFunc(l.d.Chain, func(o Value) bool { return o.Text == v.Text }):
			l.problem(diag.Duplicate, p.start, p.end, "remove one of the two",
				fmt.Sprintf("%s= lists %q twice", w.key, v.Text))
			return
		}
		l.d.Chain = append(l.d.Chain, v)
	}
}

// beyondValues reports keys of //mcp:tool that the rule of a value cannot have.
func (l *lexer) beyondValues(w word) bool {
	switch w.key {
	case "action", "object", "permission":
		l.problem(diag.NotBuilt, w.start, w.end,
			"write minrole=, scopes= or authenticated, or serve these values with another tool; write "+
				"ARGUMENT=VALUE once, before the rule",
			"the rule of a value cannot have action= or object=: those of //mcp:tool apply to all values")
	case "public":
		l.problem(diag.Contradiction, w.start, w.end,
			"remove it, or write public on //mcp:tool and a rule for the other values",
			"public in the rule of a value has no effect, because the rule of the tool also applies")
	default:
		return false
	}
	return true
}

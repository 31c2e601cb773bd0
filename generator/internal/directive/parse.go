package directive

import (
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/editdistance"
)

var (
	lowerWord = regexp.MustCompile(`^[a-z]+`)
	// keyWord is a key. Projects that call the host a backend write backend_action= for action=.
	keyWord = regexp.MustCompile(`^(?i:backend[_-]?)?([A-Za-z]+(?:_[A-Za-z]+)*)$`)
	label   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	number  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	// scopeText is a scope (RFC 6749, section 3.3).
	scopeText = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]+$`)
	role      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
)

// Parse reads a comment for which Is holds. The directive holds the parts that are understood; the
// problems report the others. Parse never panics, whatever the text.
func Parse(c *ast.Comment) (*Directive, []Problem) {
	raw, _ := ast.ParseDirective(c.Slash, c.Text)
	d := &Directive{Name: raw.Name, Span: Span{c.Slash, c.Slash +
		tokenPos(len(strings.TrimRight(c.Text, " \t")))}}
	start := len("//mcp:")
	l := &lexer{text: c.Text, at: start + len(raw.Name), d: d}

	name := lowerWord.FindString(raw.Name)
	spec, known := Lookup(name)
	switch {
	case name != raw.Name:
		fix := "write the directive's name in lower-case letters, then a space"
		if known {
			fix = "write //mcp:" + name + ", then its arguments after a space"
		} else if h := nearestHead("mcp:" + raw.Name); h.edits <= mostEdits {
			fix = diag.DidYouMean("//mcp:" + h.spec.Name)
		}
		l.problem(diag.Malformed, 0, l.at, fix, fmt.Sprintf("%+q is not a directive name", raw.Name))
		return d, l.bad
	case !known:
		fix := Nearest("//mcp:", name, names())
		if now := Renewed(c.Text); now != c.Text {
			fix = "write " + now + orFix
		}
		l.problem(diag.UnknownDirective, 0, l.at, fix, "unknown directive //mcp:"+name)
		return d, l.bad
	}
	d.Spec = spec
	switch spec.Form {
	case Chain:
		l.chain()
	case Included:
		l.included()
	case Bindings:
		l.bindings()
	case Valued:
		l.valued()
		l.args()
		l.required()
	default:
		l.args()
		l.required()
	}
	return d, l.bad
}

// Nearest suggests the candidate that was probably meant. It lists all of them if none is near, or
// if several are equally near.
func Nearest(prefix, wrong string, candidates []string) string {
	best, distance := "", math.MaxInt
	for _, c := range candidates {
		switch d := editdistance.Between(strings.ToLower(wrong), strings.ToLower(c)); {
		case d < distance:
			best, distance = c, d
		case d == distance && c != best:
			best = ""
		}
	}
	if best != "" && distance <= max(2, len(best)/3) && distance < len(best) {
		return diag.DidYouMean(prefix + best)
	}
	if len(candidates) == 1 {
		return "write " + prefix + candidates[0]
	}
	return "write one of " + prefix + strings.Join(candidates, ", "+prefix)
}

func names() []string {
	var list []string
	for _, s := range Specs() {
		list = append(list, s.Name)
	}
	return list
}

func (l *lexer) args() {
	first := true
	for {
		w, done := l.next()
		if done {
			return
		}
		if first && l.d.Spec.Form == Named {
			first = false
			if !w.assigned {
				l.d.Subject = l.value(part{text: w.key, start: w.start, end: w.end})
				continue
			}
			l.unnamed(w.end)
		}
		if first && l.d.Spec.Form == Qualified && !w.assigned && strings.Contains(w.key, ".") {
			first = false
			l.d.Subject = l.value(part{text: w.key, start: w.start, end: w.end})
			continue
		}
		first = false
		l.arg(w)
	}
}

func (l *lexer) arg(w word) {
	spec := l.d.Spec
	key, ok := spec.key(w.key)
	match := keyWord.FindStringSubmatch(w.key)
	switch {
	case match == nil:
		l.problem(diag.Malformed, w.start, w.end,
			"write flags and key=value pairs, separated by spaces; values with spaces are Go string "+
				"literals",
			fmt.Sprintf("%q is neither a flag nor a key of //mcp:%s", w.key, spec.Name))
		return
	case !ok:
		var keys []string
		for _, k := range spec.Keys {
			keys = append(keys, k.Name)
		}
		fix := Nearest("", match[1], keys)
		old, isOld := former[spec.Name][w.key]
		switch {
		case isOld:
			fix = old.cure
		case spec.Form == Bare:
			fix = "write //mcp:" + spec.Name + " alone"
		case spec.Form == Valued && l.beyondValues(w):
			return
		case spec.Form == Qualified && w.key == "public":
			l.problem(diag.Contradiction, w.start, w.end, "remove the directive, or write a rule",
				"public in the rule of a field has no effect, because the rule of the tool also applies")
			return
		default:
			if owner := owners(w.key); owner != "" {
				fix = "write it on " + owner + ", or remove it"
			}
		}
		l.problem(diag.UnknownKey, w.start, w.start+len(w.key), fix,
			"//mcp:"+spec.Name+" has no key "+w.key)
		return
	case l.d.Has(w.key):
		l.problem(diag.Duplicate, w.start, w.end, "remove one of the two", "//mcp:"+spec.Name+
			" says "+w.key+" twice")
		return
	}
	arg := Arg{Key: w.key, Span: l.span(w.start, w.end)}
	if key.Kind == Flag && w.assigned {
		l.problem(diag.BadValue, w.start, w.end, "write "+key.Name+" alone", "the flag "+key.Name+
			" does not take a value")
		return
	}
	empty := len(w.parts) == 1 && w.parts[0].text == "" && !w.parts[0].quoted
	if key.Kind != Flag && (empty || key.Kind != Hint && key.Kind != Mode && !w.assigned) {
		l.problem(diag.Malformed, w.start, w.end, "write "+key.Usage(), key.Name+" has no value")
		return
	}
	parts := w.parts
	if !key.Kind.several() && len(parts) > 1 {
		// A comma in a bare word is part of it: pattern=[a-z]{3,12}. Between literals it is not.
		whole := part{text: l.text[parts[0].start:parts[len(parts)-1].end], start: parts[0].start,
			end: w.end}
		if slices.ContainsFunc(parts, func(p part) bool { return p.quoted }) {
			l.problem(diag.BadValue, w.start, w.end, "write one value", key.Name+
				" needs one value, not a list")
			return
		}
		parts = []part{whole}
	}
	for _, p := range parts {
		if code, fix, message := key.check(p, spec.Name == "param"); message != "" {
			l.problem(code, p.start, max(p.end, p.start+1), fix, message)
			return
		}
		v := l.value(p)
		if slices.ContainsFunc(arg.Values, func(o Value) bool { return o.Text == v.Text }) {
			l.problem(diag.Duplicate, p.start, p.end, "remove one of the two",
				fmt.Sprintf("%s= lists %q twice", key.Name, v.Text))
			return
		}
		arg.Values = append(arg.Values, v)
	}
	if i := slices.IndexFunc(arg.Values, func(v Value) bool {
		return v.Text == "none"
	}); key.Kind == Choices && i >= 0 && len(arg.Values) > 1 {
		l.problem(diag.Contradiction, w.start, w.end, "write "+key.Name+"=none, or remove none",
			key.Name+"= has none and other values")
		return
	}
	l.d.Args = append(l.d.Args, arg)
}

// owners are the directives that have a key, as text; empty for an unknown key.
func owners(key string) string {
	var names []string
	for _, s := range specs {
		if _, ok := s.key(key); ok {
			names = append(names, "//mcp:"+s.Name)
		}
	}
	switch last := len(names) - 1; last {
	case -1:
		return ""
	case 0:
		return "a " + names[0] + ", the only directive with this key"
	default:
		return "a " + strings.Join(names[:last], ", ") + " or " + names[last] + ", which have this key"
	}
}

// bare are the directives that do nothing without any key: a forgotten key. A bare //mcp:server has
// an effect: its package is served.
var bare = map[string]struct{ message, fix string }{
	"default": {"has no access rule and no output=", "write one of them"},
	"field":   {"has no access rule", "write the rule"},
	"limit":   {"limits nothing", "write a limit"},
	"param":   {"describes nothing", "write a property of the parameter"},
	"rule":    {"has no access rule", "write the rule"},
	"schema":  {"names no file", "write input=, output= or both"},
}

// required reports missing parts of a directive.
func (l *lexer) required() {
	if l.d.Broken {
		return
	}
	end := int(l.d.End - l.d.Pos)
	if b, ok := bare[l.d.Name]; ok && len(l.d.Args) == 0 && (l.d.Spec.Form != Named ||
		l.d.Subject.Text != "") {
		l.problem(diag.MissingKey, 0, end, b.fix+", for example "+l.d.Spec.Example, "//mcp:"+l.d.Name+" "+
			b.message)
	}
	if subjects[l.d.Name] != "" && l.d.Subject.Text == "" {
		l.unnamed(end)
		return
	}
	for _, k := range l.d.Spec.Keys {
		switch {
		case !k.Must || l.d.Has(k.Name):
		case k.Name == "reason":
			l.problem(diag.MissingKey, 0, end, "write the reason, for example "+l.d.Spec.Example,
				"//mcp:ignore has no reason=")
		default:
			l.problem(diag.MissingKey, 0, end, "write "+k.Name+"=, for example "+l.d.Spec.Example,
				"//mcp:"+l.d.Name+" has no "+k.Name+"=")
		}
	}
}

// subjects are what the first words of directives of the form Named name.
var subjects = map[string]string{"param": "parameter", "meta": "member", "type": "type"}

// unnamed reports a directive of the form Named without its first word.
func (l *lexer) unnamed(end int) {
	subject := subjects[l.d.Name]
	l.problem(diag.MissingKey, 0, end, "write the "+subject+"'s name first, for example "+
		l.d.Spec.Example, "//mcp:"+l.d.Name+" names no "+subject)
}

func (l *lexer) value(p part) Value {
	return Value{Text: p.text, Quoted: p.quoted, Span: l.span(p.start, p.end)}
}

// shortest and longest bound every duration: less ends each call before it begins, and more is
// no bound.
const (
	shortest = time.Millisecond
	longest  = 24 * time.Hour
)

// check returns the fault of one value of the key, or an empty message. Values of //mcp:param may
// be empty or contain anything: an empty default is a default.
func (k Key) check(p part, param bool) (code diag.Code, fix, message string) {
	quoted := strconv.Quote(p.text)
	code = diag.BadValue
	if !param {
		if p.text == "" {
			return code, "write a value", k.Name + "= has an empty value"
		}
		if strings.ContainsFunc(p.text, unicode.IsControl) {
			return code, "remove the character", k.Name + "= has a control character in its value " +
				quoted
		}
	}
	switch k.Kind {
	case Text, List:
		if at, name := model.Hidden(p.text); at >= 0 {
			return diag.HiddenText, model.HiddenCure, k.Name + "= has " + name
		}
	case Hint:
		if p.text != "true" && p.text != "false" {
			return code, "write " + k.Name + ", or " + k.Name + "=false", k.Name +
				" must be true or false, not " + quoted
		}
	case Label:
		if !label.MatchString(p.text) {
			cure := "write letters, digits and underscores"
			if k.Name == "action" && strings.Contains(p.text, ".") {
				cure += "; for dcim.view_device, write action=view object=device here, and " +
					"app=dcim on //mcp:server"
			}
			return code, cure, k.Name + "= must be a label, not " + quoted
		}
	case Choice, Choices, Mode:
		if !slices.Contains(k.Choices, p.text) {
			return code, Nearest(k.Name+"=", p.text, k.Choices), k.Name + "= must not be " +
				quoted
		}
	case Labels:
		if !scopeText.MatchString(p.text) {
			return code,
				"write scopes of printable ASCII without quotes and backslashes, separated by commas " +
					"without spaces",
				k.Name + "= lists " + quoted + ", which is not a scope"
		}
	case Catalogs:
		if fix, message = checkCatalog(k.Name, p.text); message != "" {
			return code, fix, message
		}
	case Duration:
		t, err := time.ParseDuration(p.text)
		if err != nil {
			return code, "write a Go duration, for example 10s or 1m30s", k.Name +
				"= must be a duration, not " + quoted
		}
		if t < shortest || t > longest {
			return diag.OutOfRange, "write a duration from 1ms to 24h", k.Name + "=" + p.text +
				" is out of range"
		}
	case Number:
		if !number.MatchString(p.text) {
			return code, "write a number", k.Name + "= must be a number, not " + quoted
		}
	case Count:
		if _, err := strconv.ParseUint(p.text, 10, 32); err != nil {
			return code, "write a whole number from 0", k.Name +
				"= must be a whole number from 0, not " + quoted
		}
	case Calls:
		if n, err := strconv.ParseUint(p.text, 10, 32); err != nil || n < 1 || n > mostCalls {
			return code, "write a whole number from 1 to 1000000", k.Name +
				"= must be a whole number from 1, not " + quoted
		}
	case Size:
		size, ok := parseSize(p.text)
		if !ok {
			return code, "write a whole number of KiB, MiB or GiB, for example " + k.Name + "=64MiB",
				k.Name + "= must be a size, not " + quoted
		}
		if size < k.Least || size > k.Most {
			return diag.OutOfRange, "write a size from " + k.Least.String() + " to " +
				k.Most.String(), k.Name + "=" + p.text + " is out of range"
		}
	case Rate:
		rate, ok := parseRate(p.text)
		if !ok {
			return code, "write calls per second, minute or hour: 10/s, 100/m or 1000/h",
				k.Name + "= must be a rate, not " + quoted
		}
		if rate.Calls > mostCalls {
			return diag.OutOfRange, "write at most 1000000 calls, or remove the key for no limit",
				k.Name + "=" + p.text + " is out of range"
		}
	}
	return "", "", ""
}

// chain reads A < B < C.
func (l *lexer) chain() {
	l.space()
	if l.at == len(l.text) {
		return
	}
	if i := strings.Index(l.text[l.at:], "//"); i >= 0 {
		l.problem(diag.Malformed, l.at+i, len(l.text),
			"move the note to a line of its own above the directive",
			"a comment is among the arguments of //mcp:roles")
		return
	}
	at := l.at
	for text := range strings.SplitSeq(l.text[l.at:], "<") {
		name := strings.Trim(text, " \t")
		start := at + strings.Index(text, name)
		at += len(text) + len("<")
		v := l.value(part{text: name, start: start, end: start + len(name)})
		switch {
		case !role.MatchString(name):
			l.problem(diag.BadHierarchy, start, max(start+len(name), start+1),
				"write the roles lowest first, separated by <: "+l.d.Spec.Example,
				fmt.Sprintf("%q is not a role name: write a letter, then letters, digits and underscores",
					name))
			return
		case name == "lowest" || name == "highest":
			l.problem(diag.BadHierarchy, start, start+len(name), "rename the role",
				"the role name "+name+" is reserved")
			return
		}
		l.d.Chain = append(l.d.Chain, v)
	}
}

// included reads SCOPE > A, B.
func (l *lexer) included() {
	l.space()
	if i := strings.Index(l.text[l.at:], " //"); i >= 0 { // a scope may be a URL
		l.problem(diag.Malformed, l.at+i+1, len(l.text),
			"move the note to a line of its own above the directive",
			"a comment is among the arguments of //mcp:scopes")
		return
	}
	scope, list, found := strings.Cut(l.text[l.at:], ">")
	if !found {
		l.problem(diag.BadHierarchy, 0, len(l.text), "write "+l.d.Spec.Example,
			"//mcp:scopes has no >, and the scopes that it includes behind it")
		return
	}
	at := l.at
	for _, text := range append([]string{scope}, strings.Split(list, ",")...) {
		name := strings.Trim(text, " \t")
		start := at + strings.Index(text, name)
		at += len(text) + len(",")
		if !scopeText.MatchString(name) || strings.ContainsAny(name, ">,") {
			l.problem(diag.BadHierarchy, start, max(start+len(name), start+1),
				"write a scope, >, and the scopes that it includes, separated by commas: "+
					l.d.Spec.Example, fmt.Sprintf("%q is not a scope", name))
			return
		}
		l.d.Chain = append(l.d.Chain, l.value(part{text: name, start: start, end: start + len(name)}))
	}
}

func tokenPos(n int) token.Pos { return token.Pos(n) }

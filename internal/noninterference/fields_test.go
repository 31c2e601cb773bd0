package noninterference

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A field is a guarded one of the type person. A hidden one exists in server 1 alone.
type field struct {
	Name   string // of its property
	Rule   access.Rule
	Hidden bool // from the caller, whatever happens
}

// person is the type of arguments and results with guarded fields: each pointer may have a rule.
type person struct {
	Name   string            `json:"name"`
	Salary *string           `json:"salary,omitempty"`
	Team   []person          `json:"team,omitempty"`
	Grade  *grade            `json:"grade,omitempty"`
	By     map[string]person `json:"by,omitempty"`
	Boss   *person           `json:"boss,omitempty"`
}

// grade is a type that only a guarded field has.
type grade struct {
	Level string `json:"level"`
}

const (
	typePerson = "github.com/mcpgen/mcpgen/internal/noninterference.person."

	// marker is the value of each guarded field that the caller may not see. No byte that the caller
	// receives has the marker, and no line of a log or an audit.
	marker = "planted-secret"
)

var (
	goNames = map[string]string{"salary": "Salary", "grade": "Grade", "boss": "Boss"}
	// The properties of a person, in the order of the schema.
	propertyNames = []string{"name", "salary", "team", "grade", "by", "boss"}
	// No letter that the pair differs in is in another name.
	unknownNames = map[string]string{"salary": "salazy", "grade": "grafe", "boss": "buss"}
)

// gives are the forms of results with guarded fields; the empty one is none.
var gives = []string{"", "object", "object", "only", "list", "map", "json", "none"}

// drawFields draws the guarded fields of a plan.
func (p plan) drawFields(t *rapid.T) (all []field) {
	for _, name := range propertyNames {
		if goNames[name] == "" {
			continue
		}
		kinds := []string{"absent", "hidden", "shown"}
		if len(p.Caller.Roles) > 0 { // which can be lowered
			kinds = append(kinds, "lost", "lost")
		}
		kind := pick(t, "field "+name, kinds...)
		if kind == "absent" {
			continue
		}
		r := p.drawRule(t)
		r.Public, r.Denial, r.Authenticated = false, access.DenialDefault, false
		if r.Permission == access.NoPermission() {
			r.Permission = access.Permission{}
		}
		switch kind {
		case "hidden":
			r = p.drawHidingField(t, r)
		case "lost":
			r = access.Rule{MinRole: p.Caller.Roles[len(p.Caller.Roles)-1:]}
		}
		r.Authenticated = len(r.MinRole) == 0 && len(r.Scopes) == 0 &&
			r.Permission == access.Permission{}
		r.Field = typePerson + goNames[name]
		all = append(all, field{Name: name, Rule: r, Hidden: kind == "hidden"})
	}
	return all
}

func (p plan) drawHidingField(t *rapid.T, r access.Rule) access.Rule {
	ways := []string{"scope"}
	lacking := p.lacking()
	if len(lacking) > 0 {
		ways = append(ways, "role", "role")
	}
	if p.Aware {
		ways = append(ways, "permission")
	}
	if p.Caller.anonymous() {
		ways = append(ways, "identity")
	}
	switch pick(t, "way", ways...) {
	case "scope":
		r = withSecretScope(r)
	case "role":
		r.MinRole = drawSome(t, "lacking", lacking)
	case "permission":
		r.Permission = permission(secretPermit)
	}
	return r
}

// baseWithFields is the form of the tool "base" with guarded fields.
func baseWithFields() *form {
	f := *base[0].Forms[0]
	f.Takes, f.Gives = true, "object"
	return &f
}

// lacking are the roles that the caller does not hold.
func (p plan) lacking() []string {
	return slices.DeleteFunc(p.hierarchy(), func(role string) bool {
		return !p.Caller.anonymous() && p.holds(p.Caller, role)
	})
}

// lost reports whether a caller may not see a field, whatever the host permits.
func (p plan) lost(f field, to principal) bool {
	r := f.Rule
	if r.Permission == (access.Permission{}) {
		r.Permission = access.NoPermission()
	}
	to.Permits = permits // which the caller can get
	return f.Hidden || !p.admits(r, to)
}

// field returns the guarded field of a property in a server, or nil.
func (w *world) field(name string) *field {
	for i, f := range w.plan.Fields {
		if f.Name == name && !(f.Hidden && w.which == 1) {
			return &w.plan.Fields[i]
		}
	}
	return nil
}

// properties are those that a person has in a server.
func (w *world) properties() (names []string) {
	for _, name := range propertyNames {
		if goNames[name] == "" || w.field(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// described is in the schema of a field that the caller may see, and may lose.
func described(name string) string { return "The " + name + " of a person." }

// personSchema is the schema of a person, or of one of the forms of gives.
func (w *world) personSchema(form string) string {
	var properties []string
	hidden := ""
	for _, name := range w.properties() {
		schema := map[string]string{
			"name": `"type":"string"`, "salary": `"type":"string","minLength":1`,
			"team": `"type":"array","items":{"$ref":"#/$defs/Person"},` +
				`"examples":[[{"name":"x"EXTRA}]]`,
			"by": `"type":"object","additionalProperties":{"$ref":"#/$defs/Person"},` +
				`"default":{"a":{"name":"y"EXTRA}}`,
			"boss": `"$ref":"#/$defs/Person"`, "grade": `"$ref":"#/$defs/Grade"`,
		}[name]
		if f := w.field(name); f != nil {
			text := described(name)
			if f.Hidden {
				text += " " + marker
			}
			schema += `,"description":"` + text + `","x-mcpgen-field":"` + f.Rule.Field + `"`
			switch name {
			case "salary":
				hidden += `,"salary":"` + marker + `"`
			case "grade":
				hidden += `,"grade":{"level":"` + marker + `"}`
			}
		}
		properties = append(properties, `"`+name+`":{`+schema+`}`)
	}
	person := `"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	switch form {
	case "":
		person += `,"additionalProperties":false`
	default:
		required := []string{`"name"`}
		if w.field("salary") != nil {
			required = append(required, `"salary"`)
		}
		person += `,"required":[` + strings.Join(required, ",") + `]`
	}
	defs := `"Person":{` + person + `}`
	if w.field("grade") != nil {
		defs = `"Grade":{"type":"object","properties":{"level":{"type":"string"}}},` + defs
	}
	defs = `{"$defs":{` + defs + `},`
	switch form {
	case "list":
		person = `"type":"array","items":{"$ref":"#/$defs/Person"}`
	case "map":
		person = `"type":"object","additionalProperties":{"$ref":"#/$defs/Person"}`
	}
	// An example has hidden fields alone: a field that the caller can lose is in both servers.
	return strings.ReplaceAll(defs+person+`}`, "EXTRA", w.examples(hidden))
}

// examples returns the members of an example if all guarded fields in them are hidden.
func (w *world) examples(members string) string {
	for _, name := range []string{"salary", "grade"} {
		if f := w.field(name); f != nil && !f.Hidden {
			return ""
		}
	}
	return members
}

// readPerson is the decoder of a person.
func (w *world) readPerson(r *decode.Reader, v *person) {
	names := w.properties()
	o := r.Object(0, names...)
	for i, name := range names {
		if f := w.field(name); f != nil {
			o.Guard(i, f.Rule.Field)
		}
	}
	for o.Next() {
		switch names[o.Property] {
		case "name":
			decode.String(r, &v.Name)
		case "salary":
			decode.String(r, decode.New(&v.Salary)).MinLength(1)
		case "team":
			decode.Slice(r, &v.Team, w.readPerson)
		case "grade":
			at := decode.New(&v.Grade)
			for o := r.Object(0, "level"); o.Next(); {
				decode.String(r, &at.Level)
			}
		case "by":
			decode.Map(r, &v.By, decode.StringKey, w.readPerson)
		case "boss":
			w.readPerson(r, decode.New(&v.Boss))
		}
	}
}

// reader returns the caller of the traces as it is now, or as it was when its call began, also if
// the handler runs again: a call that asks belongs to the caller who began it.
func (w *world) reader(ctx context.Context) principal {
	w.mu.Lock()
	defer w.mu.Unlock()
	caller, known := w.users[w.plan.Caller.Subject]
	if !known {
		return w.plan.Caller // an anonymous one
	}
	if of, _ := runtime.Caller(ctx); of.Subject == caller.Subject {
		caller.Roles, caller.Within = of.Roles, nil // those within its boundary
	}
	return caller
}

// a returns a person with all fields that a server has. Those that a reader may not see differ in
// the servers.
func (w *world) a(name string, depth int, reader principal) person {
	v := person{Name: name}
	text := func(f *field) string {
		switch {
		case !w.plan.lost(*f, reader):
			return "plain"
		case w.which == 0:
			return marker
		}
		return ""
	}
	for _, name := range w.properties() {
		f := w.field(name)
		of := ""
		if f != nil {
			if of = text(f); of == "" {
				continue
			}
		}
		switch {
		case name == "salary":
			v.Salary = &of
		case name == "grade":
			v.Grade = &grade{of}
		case name == "boss" && depth > 0:
			boss := w.a(of, depth-1, reader)
			v.Boss = &boss
		case name == "team" && depth > 0:
			v.Team = []person{w.a("first", depth-1, reader), w.a("second", 0, reader)}
		case name == "by" && depth > 0:
			v.By = map[string]person{"a": w.a("only", depth-1, reader)}
		}
	}
	return v
}

// addFields gives a tool arguments or results with guarded fields.
func (w *world) addFields(t *toolset.Tool, f *form) {
	if f.Takes {
		t.Input = w.personSchema("")
	}
	schema := w.personSchema(cmp.Or(f.Gives, "object"))
	switch t.Output = ""; f.Gives {
	case "":
	case "object", "map":
		t.Returns, t.Output = toolset.Object, schema
	case "only":
		t.Returns, t.Output, t.Omits = toolset.Object, schema, true
	case "list":
		t.Returns, t.Output = toolset.Value, schema
	case "json":
		t.Returns, t.Guarded = toolset.JSON, schema
	case "none":
		t.Returns, t.Guarded = toolset.Object, schema
	}
	if !strings.Contains(schema, "x-mcpgen-field") {
		t.Guarded = ""
	}
	if f.Limited {
		t.Limits.Output = 400
	}
	t.Timeout = 3 * time.Minute // a call lasts until the streams are authenticated again
	name := t.Name
	t.Call = nil
	t.Handle = func(ctx context.Context, r *decode.Reader) (any, error) {
		var in person
		if f.Takes {
			w.readPerson(r, &in)
			if err := r.Finish(); err != nil { // once: another call may have the reader then
				return nil, err
			}
		} else if err := r.Nothing(); err != nil {
			return nil, err
		}
		// A field that the caller may see now may be hidden later, while the answer is on its way.
		reader := w.reader(ctx)
		out := w.a(name, 2, reader)
		w.mu.Lock()
		held := w.held == name
		w.mu.Unlock()
		text, err := w.behave(ctx, name, f.Behaviour)
		if held {
			text = "held"
		}
		// The caller may not see fields any more. A limit on output is that of the call's beginning.
		if held && !f.Limited {
			reader = w.reader(context.Background())
			out = w.a(name, 2, reader)
		}
		guarded := in.Salary != nil || in.Grade != nil || in.Boss != nil
		out.Name = fmt.Sprintf("%s for %s, %v", text, in.Name, guarded)
		switch f.Gives {
		case "":
			return out.Name, err
		case "list":
			return []person{out, w.a("last", 0, reader)}, err
		case "map":
			return map[string]person{"a": out}, err
		}
		return &out, err
	}
}

// rulesOfFields are the rules of the guarded fields that the schemas of the tools have.
func (w *world) rulesOfFields(tools []toolset.Tool) (rules []access.Rule) {
	for _, name := range propertyNames {
		if f := w.field(name); f != nil && haveField(tools, f.Rule.Field) {
			rules = append(rules, f.Rule)
		}
	}
	slices.SortFunc(rules, func(a, b access.Rule) int { return strings.Compare(a.Field, b.Field) })
	return rules
}

// fieldPairs adds the pairs of the fields that the caller may not see, in arguments of a tool.
func (w *world) fieldPairs(tool string, add func(what, method, hidden, unknown, params string)) {
	for _, f := range w.plan.Fields {
		if !w.plan.lost(f, w.plan.Caller) {
			continue
		}
		for _, arguments := range []string{`{"NAME":"x"}`, `{"team":[{"name":7,"NAME":{}}]}`} {
			add("field of "+tool, "tools/call", f.Name, unknownNames[f.Name],
				`"name":"`+tool+`","arguments":`+arguments)
		}
	}
}

// keepsResults is an interceptor that keeps the first result of each tool, and returns it to every
// caller from then on.
func keepsResults(next intercept.Next) intercept.Next {
	var kept sync.Map
	return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
		call, ok := m.Params.(*mcp.CallToolParamsRaw)
		if !ok {
			return next(ctx, m)
		}
		if res, ok := kept.Load(call.Name); ok {
			return res.(mcp.Result), nil
		}
		res, err := next(ctx, m)
		if of, ok := res.(*mcp.CallToolResult); ok && err == nil && of.InputRequests == nil {
			kept.Store(call.Name, of)
		}
		return res, err
	}
}

// haveField reports whether a schema of a tool has a guarded field.
func haveField(tools []toolset.Tool, field string) bool {
	return slices.ContainsFunc(tools, func(t toolset.Tool) bool {
		return strings.Contains(t.Input+t.Output+t.Guarded, `"`+field+`"`)
	})
}

// drawPerson draws arguments of a tool that takes a person, with hidden and misspelt names.
func drawPerson(t *rapid.T, depth int) string {
	names := slices.Concat(propertyNames, propertyNames, []string{"salery", "slary", "Salary",
		`s\u0061lary`, "salaryy", "grades", "Grade", "bos", "bosss", "names", "", "x"})
	var members []string
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		name := pick(t, "property", names...)
		value := pick(t, "value", `"x"`, `"x"`, `7`, `null`, `{}`, `[]`, `true`, `"7"`, `""`)
		if depth > 0 && flip(t, "below") {
			of := drawPerson(t, depth-1)
			value = pick(t, "place", of, `[`+of+`]`, `{"a":`+of+`}`)
			if name == "grade" {
				value = `{"level":"x"}`
			}
		}
		members = append(members, `"`+name+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// watch is a writer of a log, which may not have the marker.
type watch struct{ *world }

// Write implements io.Writer.
func (w watch) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(marker)) {
		w.logged.Store(true)
	}
	return len(line), nil
}

// secret returns a text that the caller may not receive, if the received bytes have one.
func (tr *trial) secret(text string) string {
	for _, secret := range []string{marker, "x-mcpgen-field", typePerson} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	for _, f := range tr.plan.Fields {
		if tr.plan.lost(f, tr.caller) && strings.Contains(text, described(f.Name)) {
			return described(f.Name)
		}
	}
	return ""
}

// The fields of an answer are those of the caller who began the call, also if the caller has lost
// one by the time of its answer to a question.
func TestCallThatAsksHasTheFieldsOfItsBeginning(t *testing.T) {
	for _, era := range eras {
		for _, p := range []plan{{}, {Bounded: true}} {
			if era == stateless { // where the answer is another call
				continue
			}
			p.Era, p.Denial, p.PageSize, p.Person = era, access.Conceal, 1000, true
			p.Roles = [][]string{{"Viewer", "Member"}}
			p.Caller = principal{Subject: "vera", Roles: []string{"Member"}}
			p.Fields = []field{{Name: "boss", Rule: access.Rule{Field: typePerson + "Boss",
				MinRole: []string{"Member"}}}}
			failure := inBubble(t, func(t *testing.T) { p.answerWhenLowered(t) })
			if failure != nil {
				t.Error(failure)
			}
		}
	}
}

// answerWhenLowered runs a trace in which the caller loses a field while its call asks.
func (p plan) answerWhenLowered(t *testing.T) {
	tr := &trial{plan: p, worlds: [2]*world{newWorld(t, p, 0), newWorld(t, p, 1)}}
	defer tr.end()
	send := func(m message) {
		tr.both(nil, fmt.Sprint("caller> ", m), func(w *world) { w.clients[theCaller].send(m) })
	}
	tr.begin(nil)
	send(tr.message("tools/call", "base", nil, `"name":"base"`))
	tr.settle(nil)
	tr.become(nil, p.lowered(tr.caller, false))
	tr.settle(nil)
	send(post(`{"jsonrpc":"2.0","id":<question>,"result":{"action":"accept","content":`+
		`{"name":"Ada"}}}`, tr.header("", "")))
	if !tr.asked() {
		t.Error("the call asks nothing")
	}
}

// An answer has the fields that its reader may see when it is sent: on a stream that is open while
// the caller loses a field, on one that is resumed later, and as the result of a task.
func TestAnswersHaveTheFieldsOfTheirReader(t *testing.T) {
	member := access.Rule{MinRole: []string{"Member"}}
	for _, p := range []plan{{Era: "2025-11-25"}, {Era: "2025-11-25", Bounded: true},
		{Era: stateless}, {Era: stateless, Bounded: true}} {
		p.Denial, p.PageSize, p.Person = access.Conceal, 1000, true
		p.Roles = [][]string{{"Viewer", "Member"}}
		p.Caller = principal{Subject: "vera", Roles: []string{"Member"}}
		p.Fields = []field{{Name: "grade", Rule: access.Rule{Field: typePerson + "Grade",
			MinRole: member.MinRole}}}
		member.Tool = "get_a"
		p.Items = []item{{Kind: access.Tools, Name: "get_a", Forms: both(form{Rule: member,
			Behaviour: "text", Gives: "object", Task: toolset.TaskOptional})}}
		for _, tool := range []string{"base", "get_a"} { // of which the caller loses one
			for _, early := range []bool{false, true} {
				failure := inBubble(t, func(t *testing.T) {
					tr := &trial{plan: p, worlds: [2]*world{newWorld(t, p, 0), newWorld(t, p, 1)}}
					defer tr.end()
					tr.begin(nil)
					lower := p.lowered(tr.caller, true)
					if !slices.Contains(tr.losing(lower), tool) {
						t.Errorf("%s has no lost field", tool)
					}
					tr.lowerDuring(nil, tool, lower, early)
				})
				if failure != nil {
					t.Error(failure)
				}
			}
		}
	}
}

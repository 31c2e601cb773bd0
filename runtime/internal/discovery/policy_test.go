package discovery

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// office is a composed table.
func office(t testing.TB, rules ...access.Rule) access.Table {
	t.Helper()
	if rules == nil {
		rules = []access.Rule{
			{Tool: "buy", MinRole: []string{"Viewer"}, Scopes: []string{"write"}},
			{Tool: "drop", MinRole: []string{"Admin"}},
			{Tool: "look", Public: true},
			{Tool: "read", MinRole: []string{"Viewer"}},
		}
	}
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles: [][]string{{"Viewer", "Admin"}}, Rules: rules,
		Prompts: []access.Rule{
			{Prompt: "look", Public: true}, {Prompt: "plan", MinRole: []string{"Admin"}},
		},
		Resources: []access.Rule{
			{Resource: "file:///a", MinRole: []string{"Viewer"}}, {Resource: "file:///b",
				MinRole: []string{"Admin"}},
			{Resource: "file:///{path}", MinRole: []string{"Admin"}}, {Resource: "note:{name}",
				MinRole: []string{"Admin"}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func caller(role string, scopes ...string) access.Principal {
	return access.Principal{Subject: "ada", Roles: []string{role}, Scopes: scopes}
}

func TestToolThatIsOffIsUnknownAndNotListed(t *testing.T) {
	for _, listAll := range []bool{false, true} {
		p := &Policy{Table: office(t), ListAll: listAll}
		everyone := caller("Admin", "write")
		if d := p.Decide(everyone, false, access.Tools, "look"); !d.Allowed {
			t.Fatalf("%+v", d)
		}
		p.turnOff("look")
		d := p.Decide(everyone, false, access.Tools, "look")
		if d.Allowed || d.Axis != access.AxisUnknown || d.Missing() != "" {
			t.Errorf("%+v", d)
		}
		if got := p.Listed(everyone, access.Tools); got.Contains("look") || got.Len() != 3 {
			t.Errorf("all %v: %q are listed", listAll, got.Names())
		}
		// A prompt of the same name is no tool.
		d = p.Decide(everyone, false, access.Prompts, "look")
		if p.IsOff(access.Prompts, "look") || !d.Allowed ||
			!p.Listed(everyone, access.Prompts).Contains("look") {
			t.Error("a prompt is switched off")
		}
	}
}

// An app that is off is left out of the resources, and out of no other list. A prompt with the name
// of an app is no app.
func TestAppWhoseToolsAreOffIsNotListed(t *testing.T) {
	p := &Policy{Table: office(t), Apps: map[string][]string{"file:///a": {"buy"},
		"file:///b": {"buy", "drop"}, "file:///{path}": {}}}
	everyone := caller("Admin", "write")
	for off, want := range map[string]string{
		"":    "[buy drop look read] [look plan] [file:///a file:///b note:{name}]",
		"buy": "[drop look read] [look plan] [file:///b note:{name}]",
	} {
		p.turnOff(off)
		if p.IsOff(access.Prompts, "file:///{path}") || !p.IsOff(access.Resources, "file:///{path}") {
			t.Error("a prompt is an app")
		}
		got := fmt.Sprint(p.Listed(everyone, access.Tools).Names(),
			p.Listed(everyone, access.Prompts).Names(), p.Listed(everyone, access.Resources).Names())
		if got != want {
			t.Errorf("%q off: %s", off, got)
		}
	}
}

func TestReadOnlyMessageKnowsNoOtherTools(t *testing.T) {
	for _, listAll := range []bool{false, true} {
		for _, denial := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
			p := &Policy{Table: office(t), Denial: denial, ListAll: listAll}
			p.ReadOnly = p.Table.Named([]string{"look", "read"})
			for _, who := range []access.Principal{{}, caller("Viewer"), caller("Admin", "write")} {
				for _, tool := range []string{"buy", "drop", "look", "read", "none"} {
					whole := p.Decide(who, false, access.Tools, tool)
					got := p.Decide(who, true, access.Tools, tool)
					writes := tool == "buy" || tool == "drop"
					concealed := !whole.Allowed && p.DenialOf(whole) == access.Conceal
					switch {
					case writes && !concealed && (got.Allowed || got.Axis != access.AxisUnknown),
						(!writes || concealed) && !reflect.DeepEqual(got, whole):
						t.Errorf("%+v, %s, %v: %+v, %+v without", who, tool, denial, got, whole)
					}
				}
				plan := p.Decide(who, true, access.Prompts, "plan")
				if !reflect.DeepEqual(plan, p.Decide(who, false, access.Prompts, "plan")) {
					t.Errorf("%+v: a prompt is decided otherwise: %+v", who, plan)
				}
			}
		}
	}
}

func TestListAllListsEverythingAndAllowsNoMore(t *testing.T) {
	p := &Policy{Table: office(t), ListAll: true}
	nobody := access.Principal{}
	if got := p.Listed(nobody, access.Tools).Len(); got != 4 {
		t.Errorf("%d tools are listed", got)
	}
	if got := p.Listed(nobody, access.Resources).Len(); got != 4 {
		t.Errorf("%d resources are listed", got)
	}
	if p.Decide(nobody, false, access.Tools, "read").Allowed {
		t.Error("what is listed is allowed")
	}
}

func TestDenialOfARefusal(t *testing.T) {
	const (
		unset, conceal    = access.DenialDefault, access.Conceal
		forbid, challenge = access.Forbid, access.Challenge
	)
	for name, test := range map[string]struct {
		rule, server access.Denial
		listAll      bool
		role         string
		want         access.Denial
	}{
		"the server's":                     {unset, forbid, false, "", forbid},
		"the rule's":                       {conceal, forbid, false, "", conceal},
		"a challenge for scopes":           {challenge, conceal, false, "Viewer", challenge},
		"a challenge for more":             {challenge, forbid, false, "", conceal},
		"the server's challenge":           {unset, challenge, false, "Viewer", challenge},
		"concealed, and listed":            {unset, conceal, true, "", forbid},
		"a challenge for more, and listed": {challenge, conceal, true, "", forbid},
		"a challenge, and listed":          {challenge, conceal, true, "Viewer", challenge},
	} {
		p := &Policy{
			Table: office(t, access.Rule{
				Tool: "buy", MinRole: []string{"Viewer"}, Scopes: []string{"write"}, Denial: test.rule,
			}),
			Denial: test.server, ListAll: test.listAll,
		}
		who := caller(test.role)
		if test.role == "" {
			who = access.Principal{}
		}
		if got := p.DenialOf(p.Decide(who, false, access.Tools, "buy")); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestServerChallengesWhereARuleOrTheServerDoes(t *testing.T) {
	scoped := access.Rule{Tool: "buy", MinRole: []string{"Viewer"}, Scopes: []string{"write"}}
	plain, own, forbids := access.Rule{Tool: "buy", MinRole: []string{"Viewer"}}, scoped, scoped
	own.Denial, forbids.Denial = access.Challenge, access.Forbid
	for name, test := range map[string]struct {
		rule   access.Rule
		server access.Denial
		want   bool
	}{
		"a rule does":                 {own, access.Conceal, true},
		"the server does":             {scoped, access.Challenge, true},
		"nobody does":                 {scoped, access.Conceal, false},
		"no rule has scopes":          {plain, access.Challenge, false},
		"the rule has another denial": {forbids, access.Challenge, false},
	} {
		if p := (&Policy{Table: office(t, test.rule), Denial: test.server}); p.Challenges() != test.want {
			t.Errorf("%s: %v", name, !test.want)
		}
	}
}

func TestEntriesBesideMCPLeaveOutWhatIsConcealed(t *testing.T) {
	const (
		buy, drop = "-buy needs scope write", "-drop needs role Admin"
		gone      = "-gone off"
	)
	for name, test := range map[string]struct {
		denial access.Denial
		admin  bool
		in     []string
		want   []string
	}{
		"concealed":          {access.Conceal, false, nil, []string{"look", "read"}},
		"forbidden":          {access.Forbid, false, nil, []string{buy, drop, "look", "read"}},
		"challenged":         {access.Challenge, false, nil, []string{buy, "look", "read"}},
		"an admin":           {access.Conceal, true, nil, []string{buy, drop, gone, "look", "read"}},
		"an admin's catalog": {access.Conceal, true, []string{"gone", "read"}, []string{gone, "read"}},
		"a catalog":          {access.Forbid, false, []string{"buy", "gone", "other"}, []string{buy}},
	} {
		table := office(t,
			access.Rule{Tool: "buy", MinRole: []string{"Viewer"}, Scopes: []string{"write"}},
			access.Rule{Tool: "drop", MinRole: []string{"Admin"}}, access.Rule{Tool: "gone", Public: true},
			access.Rule{Tool: "look", Public: true}, access.Rule{Tool: "read", MinRole: []string{"Viewer"}})
		p := &Policy{Table: table, Denial: test.denial}
		p.turnOff("gone")
		var f Filter
		if test.in != nil {
			set := table.Named(test.in)
			f.In = &set
		}
		var got []string
		for _, e := range filled(p, 10).Entries(caller("Viewer"), test.admin, f) {
			switch text := e.Tool.Name; {
			case e.Off:
				got = append(got, "-"+text+" off")
			case !e.CanExecute:
				got = append(got, "-"+text+" "+e.Missing)
			default:
				got = append(got, text)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

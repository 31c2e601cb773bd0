package runtime_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// oddHost is a host whose parts can be replaced.
type oddHost struct {
	*fakeHost
	spell   func(string) (string, error)
	actions func(context.Context) ([]string, error)
}

func (h oddHost) MapAction(p string) (string, error) {
	if h.spell == nil {
		return p, nil
	}
	return h.spell(p)
}

func (h oddHost) Actions(ctx context.Context) ([]string, error) {
	if h.actions == nil {
		return []string{"dcim.view_device", "dcim.change_device", "dcim.wipe_device",
			"dcim.view_site", "billing.export"}, nil
	}
	return h.actions(ctx)
}

// silentUsers is a source that does not say whether it names users.
func silentUsers() identity.Source {
	return identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{}, identity.ErrInvalidToken
	})
}

func TestPermissionAwareServersThatCannotWorkDoNotStart(t *testing.T) {
	t.Parallel()
	ada := newHost(nil)
	ada.set("ada", "exempt * *")
	host := oddHost{fakeHost: ada}
	static := func(p access.Principal) identity.Source {
		return identity.Static(map[string]access.Principal{identity.HashToken("t"): p})
	}
	on := func(o runtime.Options) runtime.Options {
		if o.Host.Source == nil {
			o.Host.Source = host
		}
		return o
	}
	silent := toolsetOf([]toolset.Tool{{Name: "a", Input: anyInput, Call: noCall},
		{Name: "b", Input: anyInput, Call: noCall}, {Name: "c", Input: anyInput, Call: noCall}},
		access.Rule{Tool: "c", Public: true})
	const asks = `tool "device_change", tool "device_find", tool "device_get", tool "device_wipe", tool "export", prompt "triage", resource "dcim://devices" and resource "dcim://sites/{id}"`
	for _, test := range []struct {
		name    string
		options runtime.Options
		set     toolset.Toolset
		want    string
	}{
		{"no adapter", runtime.Options{}, stock(),
			`Options.Host.Source is nil, but ` + asks + ` need a permission of the host: set it to ` +
				`the adapter of the host, or set Options.Host.RecordOnly, which enforces none`},
		{"an adapter that does not count",
			runtime.Options{Host: runtime.HostOptions{Source: host, RecordOnly: true}}, stock(),
			`Options.Host.Source and Options.Host.RecordOnly are both set: remove one`},
		{"a nil adapter", runtime.Options{Host: runtime.HostOptions{Source: (*fakeHost)(nil)}},
			stock(),
			`Options.Host.Source is a nil *runtime_test.fakeHost: pass one that works, or remove the ` +
				`option`},
		{"service users alone",
			runtime.Options{Host: runtime.HostOptions{
				ServiceUsers: []runtime.ServiceUser{{Client: "a", User: "b"}}}}, stock(),
			`Options.Host.ServiceUsers is set without Options.Host.Source, so no user would be looked ` +
				`up: set Source, or remove ServiceUsers`},
		{"half a service user",
			on(runtime.Options{Host: runtime.HostOptions{
				ServiceUsers: []runtime.ServiceUser{{Client: "a"}}}}), stock(),
			`Options.Host.ServiceUsers[0] has no Client or no User: set both, or remove it`},
		{"a client twice", on(runtime.Options{
			Host: runtime.HostOptions{ServiceUsers: []runtime.ServiceUser{{Client: "a",
				User: "ada"}, {Client: "a", User: "bob"}}}}), stock(),
			`Options.Host.ServiceUsers has client "a" of any issuer twice: remove one`},
		{"a client of one issuer twice",
			on(runtime.Options{
				Host: runtime.HostOptions{
					ServiceUsers: []runtime.ServiceUser{{Client: "a", Issuer: "i",
						User: "ada"}, {Client: "a", Issuer: "i", User: "bob"}}}}), stock(),
			`Options.Host.ServiceUsers has client "a" of issuer "i" twice: remove one`},
		{"roles and issuers that a source does not have",
			on(runtime.Options{Identity: mapping{hosted()},
				Access: runtime.AccessOptions{AdminRole: "Boss"},
				Host: runtime.HostOptions{
					ServiceUsers: []runtime.ServiceUser{{Client: "ci", Issuer: "https://tpyo.example",
						User: "ada"}}}}), silent,
			`mcp server: Options.Identity: its role mapping results in "Manger", which is not a role of Viewer < Member < Manager < Admin: use one of them
mcp server: Options.Access.AdminRole is "Boss", which is not a role of Viewer < Member < Manager < Admin: use one of them, or leave it empty for Admin
mcp server: Options.Host.Source is set, and tool "a" and tool "b" have neither a permission of the host nor action=none: write action= or object= on each, or action=none, and run go generate (in Adopt: set Permission in their rules)
mcp server: Options.Host.ServiceUsers: client "ci" has issuer "https://tpyo.example", whose tokens Options.Identity does not accept: use https://id.example or https://login.example, or leave Issuer empty for any`},
		{"bearer without users", on(runtime.Options{Identity: silentUsers()}), stock(),
			`Options.Host.Source is set, but neither Options.Identity nor Options.Host.ServiceUsers ` +
				`provides a user of the host, so no caller could use ` + asks +
				`. Set access.Principal.User and declare it (identity.Bearer with identity.NamesUsers(), ` +
				`or the source's setting for its user claim), or map clients in ServiceUsers`},
		{"a source that says nothing",
			on(runtime.Options{Identity: sourceFunc(func(*http.Request) (identity.Identity, error) {
				return identity.Identity{}, identity.ErrInvalidToken
			})}), stock(),
			`Options.Host.Source is set, but neither Options.Identity nor Options.Host.ServiceUsers ` +
				`provides a user of the host`},
		{"a static token without a user",
			on(runtime.Options{Identity: static(access.Principal{Subject: "bot"})}), stock(),
			`Options.Identity: principal "bot": it has no user of the host: set its User, or map its ` +
				`Client in Options.Host.ServiceUsers and set Subject to the Client's name`},
		{"a principal of a client that is not the client",
			on(runtime.Options{Identity: static(access.Principal{Subject: "bot", Client: "ci"}),
				Host: runtime.HostOptions{
					ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "ada"}}}}), stock(),
			`Options.Identity: principal "bot": Options.Host.ServiceUsers has client "ci", but this is not ` +
				`the client's own token. For a client's own token, have the verifier set ` +
				`identity.Identity.ClientItself, or write a principal whose Subject is its Client. ` +
				`For users of the client, set Delegated`},
		{"a static token of nobody",
			on(runtime.Options{Identity: static(access.Principal{Subject: "bot", User: "eve"})}),
			stock(),
			`Options.Identity: principal "bot": the host has no active user "eve": correct the name, ` +
				`or create the user in the host`},
		{"a service user that is nobody",
			on(runtime.Options{Host: runtime.HostOptions{
				ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "eve"}}}}),
			stock(),
			`Options.Host.ServiceUsers: client "ci": the host has no active user "eve": correct the name, ` +
				`or create the user in the host`},
		{"an unknown action", on(runtime.Options{
			Host: runtime.HostOptions{Source: oddHost{fakeHost: ada,
				actions: func(context.Context) ([]string, error) {
					return []string{"dcim.view_device", "dcim.chnage_device", "dcim.wipe_device",
						"billing.export"}, nil
				}}}}), stock(),
			`Options.Host.Source: the host has no permission dcim.change_device, which tool "device_change" asks for (did you mean dcim.chnage_device?): correct action=, object= or app= and run go generate, or add the permission to the host
mcp server: Options.Host.Source: the host has no permission dcim.view_site, which resource "dcim://sites/{id}" asks for: correct action=, object= or app= and run go generate, or add the permission to the host`},
		{"a host that panics",
			on(runtime.Options{Host: runtime.HostOptions{Source: oddHost{fakeHost: ada,
				actions: func(context.Context) ([]string, error) {
					panic("boom")
				}}}}), stock(),
			`Options.Host.Source cannot read the host: it panicked: boom; correct the host's database, its grants or the settings of the adapter`},
		{"an action that cannot be written",
			on(runtime.Options{Host: runtime.HostOptions{Source: oddHost{fakeHost: ada,
				spell: func(p string) (string, error) {
					if p == "billing.export" {
						return "", errors.New("it has no object")
					}
					return p, nil
				}}}}), stock(),
			`Options.Host.Source does not support permission billing.export, which tool "export" asks ` +
				`for: it has no object; correct action=, object= or app=, and run go generate`},
		{"an action without a name",
			on(runtime.Options{Host: runtime.HostOptions{Source: oddHost{fakeHost: ada,
				spell: func(string) (string, error) {
					return "", nil
				}}}}), stock(),
			`Options.Host.Source does not support permission dcim.view_device, which tool ` +
				`"device_find", tool "device_get", prompt "triage" and resource "dcim://devices" ask for: ` +
				`the adapter returns no name for it`},
		{"tools that say nothing", on(runtime.Options{}), silent,
			`Options.Host.Source is set, and tool "a" and tool "b" have neither a permission of the ` +
				`host nor action=none: write action= or object= on each, or action=none, and run go ` +
				`generate (in Adopt: set Permission in their rules)`},
		{"a bad timeout", on(runtime.Options{Host: runtime.HostOptions{Timeout: -1}}), stock(),
			`Options.Host.Timeout is -1ns: use a positive duration, or 0 for 5s`},
		{"a bad period", on(runtime.Options{Host: runtime.HostOptions{TTL: -1}}), stock(),
			"Options.Host.TTL is -1ns: use a positive duration, or 0 to read the " +
				"permissions for each message"},
		{"a bad interval", on(runtime.Options{Host: runtime.HostOptions{Recheck: -1}}), stock(),
			`Options.Host.Recheck is -1ns: use a positive duration, or 0 for 1m0s`},
	} {
		test.options.Logger = quiet()
		_, err := runtime.New(test.options, test.set)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\n%v\nwant\n%s", test.name, err, test.want)
		}
	}
	for name, options := range map[string]runtime.Options{
		"no identity over HTTP": {}, "a verifier that names users": {Identity: hosted()},
		"a mapping": {Identity: silentUsers(),
			Host: runtime.HostOptions{
				ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "ada"}}}},
		"static": {Identity: static(access.Principal{Subject: "bot", User: "ada"})},
		"static by client": {Identity: static(access.Principal{Subject: "ci", Client: "ci"}),
			Host: runtime.HostOptions{
				ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "ada"}}}},
	} {
		options.Logger = quiet()
		if _, err := runtime.New(on(options), stock()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A host that does not return the name of an action does not start either.
func TestActionThatIsNotMappedInTimeDoesNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.set("ada")
		_, err := runtime.New(runtime.Options{Identity: hosted(),
			Host: runtime.HostOptions{
				Source: oddHost{fakeHost: h, spell: func(p string) (string, error) {
					time.Sleep(time.Hour)
					return p, nil
				}}}, Logger: quiet()}, stock())
		if err == nil || !strings.Contains(err.Error(), "mcp server: Options.Host.Source: "+
			"MapAction of dcim.change_device: no response in time") {
			t.Error(err)
		}
		time.Sleep(time.Hour) // its goroutine ends
	})
}

func noCall(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }

func TestAdoptedToolsTakePartToo(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	options := runtime.Options{Identity: hosted(), Host: runtime.HostOptions{Source: h},
		Logger: quiet()}
	if _, err := runtime.Adopt(existing("a"), options,
		map[string]access.Rule{"a": {Authenticated: true}}); err == nil ||
		!strings.Contains(err.Error(),
			`tool "a" has neither a permission of the host nor action=none`) {
		t.Errorf("%v", err)
	}
	s, err := runtime.Adopt(existing("a", "b"), options, map[string]access.Rule{
		"a": {Permission: access.Permission{App: "dcim", Action: "view", Object: "device"}},
		"b": {Permission: access.Permission{App: "dcim", Action: "add", Object: "device"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	session := connectHTTP(t, serve(t, s), "ada_Viewer", "")
	tools, err := session.ListTools(context.Background(), nil)
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "a" {
		t.Errorf("%+v, %v", tools, err)
	}
	if _, err := session.CallTool(context.Background(),
		&mcp.CallToolParams{Name: "b"}); err == nil || !strings.Contains(err.Error(),
		"unknown tool") {
		t.Errorf("%v", err)
	}
}

func TestExplanationsAndTheDoctorSayWhy(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device?")
	h.set("svc", "exempt * *")
	s := newServer(t, runtime.Options{Host: runtime.HostOptions{
		Source:       h,
		ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "svc"}},
	},
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("t"): {Subject: "ada", User: "ada", Role: "Viewer"}}),
	}, stock())
	ctx := context.Background()
	e := s.Explain(ctx, access.Principal{Subject: "ada", User: "ada", Role: "Viewer"}, "device_get")
	if want := `tool "device_get": denied
  authentication holds: needs an authenticated caller, has ada
  role holds: needs Viewer, has Viewer
  permission holds: needs dcim.view_device, has it for some objects
  constraints fails: needs it for all objects, as the handler is not marked constrained, has it for some objects
`; e.String() != want || e.Allowed {
		t.Errorf("%s", e)
	}
	e = s.ExplainOf(ctx, access.Principal{Subject: "eve", User: "eve"}, access.Resources,
		"dcim://devices")
	if e.Allowed ||
		e.Host != `the host has no active user "eve"; the server refuses it (403 over HTTP), because `+
			`Options.Anonymous is not set` || !strings.HasSuffix(e.String(), e.Host+"\n") {
		t.Errorf("%s", e)
	}
	if e = s.Explain(ctx, access.Principal{Subject: "ci", Client: "ci"}, "export"); !e.Allowed ||
		e.String() != `tool "export": allowed
  authentication holds: needs an authenticated caller, has ci
  permission holds: needs billing.export, has it for all objects
` {
		t.Errorf("%s", e)
	}
	report := s.Doctor(ctx, access.Principal{Subject: "nobody", Role: "Admin"}, access.Principal{})
	if want := `ada (Options.Identity), role Viewer, user ada of the host
  sees tool device_find
  sees tool status
  sees tool whoami
  sees resource dcim://devices
  not  tool device_change: role fails: needs Member, has Viewer; permission fails: needs dcim.change_device, has none
  not  tool device_get: constraints fails: needs it for all objects, as the handler is not marked constrained, has it for some objects
  not  tool device_wipe: role fails: needs Admin, has Viewer; permission fails: needs dcim.wipe_device, has none
  not  tool export: permission fails: needs billing.export, has none
  not  prompt triage: constraints fails: needs it for all objects, as the handler is not marked constrained, has it for some objects
  not  resource dcim://sites/{id}: permission fails: needs dcim.view_site, has none

ci (Options.Host.ServiceUsers), client ci, user svc of the host
`; !strings.HasPrefix(report.String(), want) {
		t.Errorf("%s", report)
	}
	for _, want := range []string{
		"\nnobody (asked for), role Admin\n  problem: it has no user of the host; the server refuses " +
			"it (403 over HTTP), because Options.Anonymous is not set\n  sees nothing: its requests are " +
			"refused\n",
		"\nan anonymous caller (asked for)\n  problem: the server refuses a caller without an " +
			"identity (401 over HTTP), because Options.Anonymous is not set\n  sees nothing: its " +
			"requests are refused\n",
	} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("no %s in\n%s", want, report)
		}
	}
	h.failing(func(context.Context) error { return errors.New("down") })
	s.InvalidateCapabilities(nil)
	if e := s.Explain(ctx, access.Principal{Subject: "ada", User: "ada"}, "whoami"); e.Allowed ||
		e.Host != "the host is not available: down" {
		t.Errorf("%s", e)
	}
	// Off, both speak of the table alone.
	off := newServer(t, runtime.Options{}, directory(&desk{}))
	off.InvalidateCapabilities(nil)
	if got := off.Doctor(
		ctx).String(); got != "The identity source has no fixed principals: pass the principals to "+
		"show.\n" {
		t.Errorf("%s", got)
	}
	if e := off.Explain(ctx, principalOf("Viewer"), "update"); e.Allowed ||
		!strings.Contains(e.String(), "role fails: needs Manager, has Viewer") {
		t.Errorf("%s", e)
	}
}

var _ capability.Enumerator = oddHost{}

// verbHost is a host that maps verbs by a function.
type verbHost struct {
	*fakeHost
	verb func(string) (string, bool)
}

func (h verbHost) MapVerb(verb string) (string, bool) { return h.verb(verb) }

// verbsOf maps the verbs in a list, "list browse", and no other.
func verbsOf(pairs ...string) func(string) (string, bool) {
	return func(verb string) (string, bool) {
		for _, pair := range pairs {
			if from, to, _ := strings.Cut(pair, " "); from == verb {
				return to, true
			}
		}
		return "", false
	}
}

// crud is a toolset of verbs, of the action "view" that is no verb, and of a bare action.
func crud() toolset.Toolset {
	device := func(tool, verb, action string, role access.Role) access.Rule {
		return access.Rule{Tool: tool, MinRole: role, Verb: verb,
			Permission: access.Permission{App: "dcim", Action: action, Object: "device"}}
	}
	rules := []access.Rule{
		device("destroy", "destroy", "delete", member), device("list", "list", "view", viewer),
		{Tool: "napalm", MinRole: viewer, Permission: access.Permission{Action: "napalm_read"}},
		device("peek", "", "view", viewer), device("retrieve", "retrieve", "view", viewer),
	}
	var tools []toolset.Tool
	for _, rule := range rules {
		tools = append(tools, toolset.Tool{Name: rule.Tool, Input: anyInput, Call: noCall})
	}
	return toolsetOf(tools, rules...)
}

// The list, the call, the explanation and the table name the permissions of the adapter's verbs.
func TestAdaptersMapVerbs(t *testing.T) {
	t.Parallel()
	users := map[string][]string{
		"ada": {"dcim.view_device", "dcim.delete_device"}, "root": {"exempt * *"},
		"bob": {"dcim.browse_device", "dcim.wipe_device", "napalm_read"},
		"cat": {"exempt * view", "exempt dcim.device browse", "exempt * napalm_read"}, "eve": {},
	}
	h := newHost(nil)
	for user, permissions := range users {
		h.set(user, permissions...)
	}
	own := map[string]string{"destroy": "dcim.delete_device", "list": "dcim.view_device",
		"napalm": "napalm_read", "peek": "dcim.view_device", "retrieve": "dcim.view_device"}
	mapped := maps.Clone(own)
	mapped["destroy"], mapped["list"] = "dcim.wipe_device", "dcim.browse_device"
	for name, test := range map[string]struct {
		source capability.Source
		needs  map[string]string
	}{
		"no mapper": {h, own},
		"no verb":   {verbHost{h, verbsOf()}, own},
		"two verbs": {verbHost{h, verbsOf("list browse", "destroy wipe", "view none")}, mapped},
	} {
		s := newServer(t, runtime.Options{Identity: hosted(),
			Host: runtime.HostOptions{Source: test.source}}, crud())
		for _, rule := range s.Table().Rules {
			if got := rule.Permission.String(); got != test.needs[rule.Tool] {
				t.Errorf("%s: %s needs %s, want %s", name, rule.Tool, got, test.needs[rule.Tool])
			}
		}
		url := serve(t, s)
		for user, held := range users {
			for rank, role := range access.DefaultRoles() {
				session := connectHTTP(t, url, user+"_"+role, "")
				listed := mcptest.Tools(t, session)
				for tool, needs := range test.needs {
					may := slices.Contains(held, needs) || user == "root" ||
						user == "cat" &&
							(needs == "dcim.view_device" || needs == "dcim.browse_device")
					may = may && (tool != "destroy" || rank > 0)
					if slices.Contains(listed, tool) != may {
						t.Errorf("%s: %s as %s_%s: listed %v", name, tool, user, role, !may)
					}
					_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
					if (err == nil) != may {
						t.Errorf("%s: %s as %s_%s: %v", name, tool, user, role, err)
					}
					p := access.Principal{Subject: "sub-" + user, User: user, Role: role}
					e := s.Explain(t.Context(), p, tool)
					if e.Allowed != may || !strings.Contains(e.String(), ": needs "+needs+", has") {
						t.Errorf("%s: %s as %s_%s: %s", name, tool, user, role, e)
					}
					if !slices.Contains(held, needs) && user == "eve" &&
						!strings.Contains(e.Missing, "permission "+needs) {
						t.Errorf("%s: %s is missing", name, e.Missing)
					}
				}
			}
		}
	}
}

func TestVerbsThatCannotBeMappedDoNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.set("ada")
		crash := func(string) (string, bool) { panic("boom") }
		hang := func(string) (string, bool) {
			time.Sleep(time.Hour)
			return "", false
		}
		const of = `mcp server: Options.Host.Source: MapVerb of "list", which tool "list" asks for: `
		const form = ", which is not an action: return letters, digits and underscores, and not none"
		for want, verb := range map[string]func(string) (string, bool){
			of + `it returns ""` + form:                                      verbsOf("list "),
			of + `it returns "none"` + form:                                  verbsOf("list none"),
			of + `it returns "a.b"` + form:                                   verbsOf("list a.b"),
			of + `it returns "view\n"` + form:                                verbsOf("list view\n"),
			of + `it panicked: boom`:                                         crash,
			`Options.Host.Source: MapVerb of "destroy": no response in time`: hang,
		} {
			_, err := runtime.New(runtime.Options{Identity: hosted(),
				Host: runtime.HostOptions{Source: verbHost{h, verb}}, Logger: quiet()}, crud())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant\n%s", err, want)
			}
		}
		time.Sleep(time.Hour) // its goroutine ends
	})
}

// Two templates that one URI may be have equal rules, until an adapter maps their verbs apart.
func TestVerbsDoNotMapOverlappingResourcesApart(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada")
	g := stockGenerated()
	read := g.Resources[1].Read
	site := access.Rule{Resource: "dcim://sites/{id}", Permission: permission("dcim.view_site")}
	other := site
	site.Verb, other.Verb, other.Resource = "retrieve", "list", "dcim://sites/{name}"
	g.Table.Resources = []access.Rule{site, other}
	g.Resources = []toolset.Resource{
		{URI: site.Resource, Name: "a", Read: read, Variables: []toolset.Variable{{Name: "id"}}},
		{URI: other.Resource, Name: "b", Read: read, Variables: []toolset.Variable{{Name: "name"}}},
	}
	for verb, want := range map[string]string{
		"get browse":  "",
		"list browse": "dcim://sites/{id} and dcim://sites/{name} match the same URI, but have",
	} {
		_, err := runtime.New(runtime.Options{Identity: hosted(),
			Host: runtime.HostOptions{
				Source: verbHost{h, verbsOf(verb)}}, Logger: quiet()}, toolset.NewToolset(g))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// mapping is a source that says whose credentials it takes and to which roles its settings lead.
type mapping struct{ identity.Source }

func (mapping) Issuers() []string {
	return []string{"https://id.example", "https://login.example"}
}
func (mapping) MappedRoles() []string { return []string{"Admin", "Manger"} }

func TestMappingToAnUnknownRoleDoesNotStart(t *testing.T) {
	t.Parallel()
	_, err := runtime.New(runtime.Options{Identity: mapping{hosted()}, Logger: quiet()},
		directory(&desk{}))
	if err == nil ||
		err.Error() != `mcp server: Options.Identity: its role mapping results in "Manger", which `+
			`is not a role of Viewer < Member < Manager < Admin: use one of them` {
		t.Errorf("%v", err)
	}
}

// Another action on the same objects is no slip.
func TestSuggestionsAreOfSlipsOnly(t *testing.T) {
	t.Parallel()
	for wrong, near := range map[string]string{
		"dcim.view_device": " (did you mean dcim.veiw_device?)", "dcim.change_device": "",
		"dcim.wipe_device": "", "billing.export": "",
	} {
		h := newHost(nil)
		h.set("ada")
		actions := []string{"dcim.veiw_device", "dcim.add_device", "billing.print"}
		_, err := runtime.New(runtime.Options{
			Host: runtime.HostOptions{
				Source: oddHost{fakeHost: h, actions: func(context.Context) ([]string, error) {
					return actions, nil
				}}}, Logger: quiet()}, stock())
		if err == nil {
			t.Fatal("it started")
		}
		for line := range strings.Lines(err.Error()) {
			if strings.Contains(line, "no permission "+wrong+",") &&
				!strings.Contains(line, "for"+near+": correct") {
				t.Errorf("%s: %s", wrong, line)
			}
		}
	}
}

// sourceFunc is a source of somebody's own.
type sourceFunc func(*http.Request) (identity.Identity, error)

func (f sourceFunc) Identify(r *http.Request) (identity.Identity, error) { return f(r) }

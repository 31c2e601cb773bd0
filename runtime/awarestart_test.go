package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// oddHost is a host whose parts can be replaced.
type oddHost struct {
	*fakeHost
	spell   func(string) (string, error)
	actions func(context.Context) ([]string, error)
	verb    func(string) (string, bool)
	unknown error // of each user
}

func (h oddHost) MapAction(p string) (string, error) {
	if h.spell == nil {
		return p, nil
	}
	return h.spell(p)
}

func (h oddHost) Actions(ctx context.Context) ([]string, error) {
	if h.actions == nil {
		return nil, errors.ErrUnsupported
	}
	return h.actions(ctx)
}

func (h oddHost) MapVerb(verb string) (string, bool) {
	if h.verb == nil {
		return "", false
	}
	return h.verb(verb)
}

func (h oddHost) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	if h.unknown != nil {
		return capability.User{}, h.unknown
	}
	return h.fakeHost.Resolve(ctx, p)
}

// silent is a source that has no optional methods.
var silent = identityFunc(func(*http.Request) (identity.Identity, error) {
	return identity.Identity{}, identity.ErrInvalidToken
})

func staticOf(p access.Principal) identity.Source {
	return identity.Static(map[string]access.Principal{identity.HashToken("t"): p})
}

// odd is a server that is aware of an odd host.
type odd struct {
	opts
	oddHost
}

func serviceUsers(c *odd, users ...runtime.ServiceUser) { c.Host.ServiceUsers = users }

func TestPermissionAwareServersThatCannotWorkDoNotStart(t *testing.T) {
	t.Parallel()
	has := func(names ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return names, nil }
	}
	ci := runtime.ServiceUser{Client: "ci", User: "ada"}
	own := access.Principal{Subject: "ci", Client: "ci"}
	bare := toolset.NewToolset(gen{Package: "example.com/odd", Server: toolset.ServerInfo{Name: "odd"},
		Tools: []toolset.Tool{good("a"), good("b"), good("c")},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
			{Tool: "a", MinRole: []string{"Viewer"}}, {Tool: "b", MinRole: []string{"Viewer"}},
			{Tool: "c", Public: true}}}})
	const (
		asks = `tool "device_change", tool "device_find", tool "device_get", tool "device_wipe", ` +
			`tool "export", prompt "triage", resource "dcim://devices" and resource "dcim://sites/{id}"`
		cure  = ": correct the name, or create the user in the host"
		users = "provides a user of the host, so no caller could use " + asks + ". Set " +
			"access.Principal.User and declare it (identity.Bearer with identity.NamesUsers(), or the " +
			"source's setting for its user claim), or map clients in ServiceUsers"
		form   = ", which is not an action: return letters, digits and underscores, and not none"
		mapped = `mcp server: Options.Host.Source: MapVerb of "list", which tool "list" asks for: `
	)
	check := func(set toolset.Toolset, want string, change func(*odd)) {
		t.Helper()
		ada := newHost(nil)
		ada.set("ada", "exempt * *")
		c := &odd{opts: opts{Identity: hosted()}, oddHost: oddHost{fakeHost: ada}}
		c.Host.Source = &c.oddHost
		change(c)
		refused(t, want, c.opts, set)
	}
	unknown := func(err error) func(*odd) {
		return func(c *odd) {
			c.unknown, c.Identity = err, staticOf(access.Principal{Subject: "ada", User: "ada"})
		}
	}
	for _, test := range []struct {
		want   string
		change func(*odd)
	}{
		{"", func(c *odd) { c.Identity = nil }},
		{"", func(*odd) {}},
		{"", func(c *odd) { c.Identity = silent; serviceUsers(c, ci) }},
		{"", func(c *odd) { c.Identity = staticOf(access.Principal{Subject: "bot", User: "ada"}) }},
		{"", func(c *odd) { c.Identity = staticOf(own); serviceUsers(c, ci) }},
		{"Options.Host.Source is nil, but " + asks + " need a permission of the host: set it to the " +
			"adapter of the host, or set Options.Host.RecordOnly, which enforces none",
			func(c *odd) { c.Host.Source = nil }},
		{"Options.Host.Source and Options.Host.RecordOnly are both set: remove one",
			func(c *odd) { c.Host.RecordOnly = true }},
		{"Options.Host.Source is a nil *runtime_test.fakeHost: pass one that works, or remove the option",
			func(c *odd) { c.Host.Source = (*fakeHost)(nil) }},
		{"Options.Host.ServiceUsers is set without Options.Host.Source, so no user would be looked up: " +
			"set Source, or remove ServiceUsers",
			func(c *odd) { c.Host.Source = nil; serviceUsers(c, ci) }},
		{"Options.Host.ServiceUsers[0] has no Client or no User: set both, or remove it",
			func(c *odd) { serviceUsers(c, runtime.ServiceUser{Client: "a"}) }},
		{`Options.Host.ServiceUsers has client "ci" of any issuer twice: remove one`,
			func(c *odd) { serviceUsers(c, ci, ci) }},
		{`Options.Host.ServiceUsers has client "ci" of issuer "i" twice: remove one`,
			func(c *odd) { ci := ci; ci.Issuer = "i"; serviceUsers(c, ci, ci) }},
		{"Options.Host.Source is set, but neither Options.Identity nor Options.Host.ServiceUsers " +
			users,
			func(c *odd) { c.Identity = silent }},
		{`principal "bot": it has no user of the host: set its User, or map its Client in ` +
			"Options.Host.ServiceUsers and set Subject to the Client's name",
			func(c *odd) { c.Identity = staticOf(access.Principal{Subject: "bot"}) }},
		{`Options.Identity: principal "bot": Options.Host.ServiceUsers has client "ci", but ` +
			"this is not the client's own token. For a client's own token, have the verifier set " +
			"identity.Identity.ClientItself, or write a principal whose Subject is its Client. For users " +
			"of the client, set Delegated", func(c *odd) {
			c.Identity = staticOf(access.Principal{Subject: "bot", Client: "ci"})
			serviceUsers(c, ci)
		}},
		{`Options.Identity: principal "bot": the host has no active user "eve"` + cure,
			func(c *odd) { c.Identity = staticOf(access.Principal{Subject: "bot", User: "eve"}) }},
		{`Options.Host.ServiceUsers: client "ci": the host has no active user "eve"` + cure,
			func(c *odd) { serviceUsers(c, runtime.ServiceUser{Client: "ci", User: "eve"}) }},
		{`the host has no permission dcim.view_device, which tool "device_find", tool "device_get", ` +
			`prompt "triage" and resource "dcim://devices" ask for (did you mean dcim.veiw_device?): ` +
			"correct action=, object= or app= and run go generate, or add the permission to the host",
			func(c *odd) { c.actions = has("dcim.veiw_device", "dcim.add_device") }},
		{`the host has no permission dcim.change_device, which tool "device_change" asks for: correct`,
			func(c *odd) { c.actions = has("dcim.veiw_device", "dcim.add_device") }},
		{"Options.Host.Source cannot read the host: it panicked: boom; correct the host's database, " +
			"its grants or the settings of the adapter", func(c *odd) {
			c.actions = func(context.Context) ([]string, error) { panic("boom") }
		}},
		{`Options.Host.Source does not support permission billing.export, which tool "export" asks ` +
			"for: it has no object; correct action=, object= or app=, and run go generate",
			func(c *odd) {
				c.spell = func(p string) (string, error) {
					if p == "billing.export" {
						return "", errors.New("it has no object")
					}
					return p, nil
				}
			}},
		{`permission dcim.view_site, which resource "dcim://sites/{id}" asks for: the adapter ` +
			"returns no name for it", func(c *odd) {
			c.spell = func(string) (string, error) { return "", nil }
		}},
		// a user that the host does not have, in the words of adapters
		{`the host has no active user "ada"` + cure,
			unknown(fmt.Errorf("django: no active user %q: %w", "ada", capability.ErrNoUser))},
		{`static: a.yaml has no active user "ada"` + cure,
			unknown(fmt.Errorf("static: a.yaml has no active user %q: %w", "ada", capability.ErrNoUser))},
		{`the host has no active user "ada" (user "ada": locked)` + cure,
			unknown(fmt.Errorf("user %q: locked: %w", "ada", capability.ErrNoUser))},
		{`principal "ada": the host has no active user "ada"` + cure, unknown(capability.ErrNoUser)},
		{"it has no user of the host (it has no badge): set its User, or map its Client",
			func(c *odd) {
				unknown(fmt.Errorf("it has no badge: %w", capability.ErrNoUser))(c)
				c.Identity = staticOf(access.Principal{Subject: "ada"})
			}},
		{"it has no user of the host: set its User, or map its Client",
			func(c *odd) {
				unknown(fmt.Errorf("static: the principal has no user (set it): %w", capability.ErrNoUser))(c)
				c.Identity = staticOf(access.Principal{Subject: "ada"})
			}},
	} {
		check(stock(), test.want, test.change)
	}
	check(bare, `mcp server: Options.Identity: its role mapping results in "Manger", which is `+
		`not a role of Viewer < Member < Manager < Admin: use one of them`+"\n"+
		`mcp server: Options.Access.AdminRole is "Boss", which is not a role of Viewer `+
		`< Member < Manager < Admin: use one of them, or leave it empty for Admin`+"\n"+
		`mcp server: Options.Host.Source is set, and tool "a" and tool "b" have neither `+
		`a permission of the host nor action=none: write action= or object= on each, or `+
		`action=none, and run go generate (in Adopt: set Permission in their rules)`+"\n"+
		`mcp server: Options.Host.ServiceUsers: client "ci" has issuer `+
		`"https://tpyo.example", whose tokens Options.Identity does not accept: use `+
		`https://id.example or https://login.example, or leave Issuer empty for any`,
		func(c *odd) {
			ci.Issuer = "https://tpyo.example"
			c.Identity, c.Access.AdminRole = mapping{hosted()}, "Boss"
			serviceUsers(c, ci)
		})
	verbs := func(verb func(string) (string, bool)) func(*odd) {
		return func(c *odd) { c.verb = verb }
	}
	for _, bad := range []string{"", "none", "a.b", "view\n"} {
		check(crud(), mapped+fmt.Sprintf("it returns %q", bad)+form, verbs(verbsOf("list "+bad)))
	}
	check(crud(), mapped+"it panicked: boom", verbs(func(string) (string, bool) { panic("boom") }))
	g := stockGenerated() // two templates that one URI may be, whose verbs are mapped apart
	site := access.Rule{Resource: "dcim://sites/{id}", Permission: permission("dcim.view_site")}
	other := site
	site.Verb, other.Verb, other.Resource = "retrieve", "list", "dcim://sites/{name}"
	g.Table.Resources, g.Resources[0] = []access.Rule{site, other}, g.Resources[1]
	g.Resources[0].URI, g.Resources[0].Variables = other.Resource, []toolset.Variable{{Name: "name"}}
	check(toolset.NewToolset(g), "", verbs(verbsOf("get browse")))
	check(toolset.NewToolset(g), "dcim://sites/{id} and dcim://sites/{name} match the same "+
		"URI, but have",
		verbs(verbsOf("list browse")))
	synctest.Test(t, func(t *testing.T) { // an adapter that does not return
		hang := func() { time.Sleep(time.Hour) }
		check(stock(), "MapAction of dcim.change_device: no response in time",
			func(c *odd) { c.spell = func(p string) (string, error) { hang(); return p, nil } })
		check(crud(), `Options.Host.Source: MapVerb of "destroy": no response in time`,
			verbs(func(string) (string, bool) { hang(); return "", false }))
		hang()
	})
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
			identity.HashToken("t"): {Subject: "ada", User: "ada", Roles: []string{"Viewer"}}}),
	}, stock())
	ctx := context.Background()
	e := s.Explain(ctx, access.Principal{Subject: "ada", User: "ada", Roles: []string{"Viewer"}},
		"device_get")
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
	report := s.Doctor(ctx)
	if want := `ada (Options.Identity), roles Viewer, user ada of the host
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
	device := func(tool, verb, action, role string) access.Rule {
		return access.Rule{Tool: tool, MinRole: []string{role}, Verb: verb,
			Permission: access.Permission{App: "dcim", Action: action, Object: "device"}}
	}
	rules := []access.Rule{
		device("destroy", "destroy", "delete", "Member"), device("list", "list", "view", "Viewer"),
		{Tool: "napalm", MinRole: []string{"Viewer"}, Permission: access.Permission{
			Action: "napalm_read"}},
		device("peek", "", "view", "Viewer"), device("retrieve", "retrieve", "view", "Viewer"),
	}
	var tools []toolset.Tool
	for _, rule := range rules {
		tools = append(tools, toolset.Tool{Name: rule.Tool, Input: anyInput, Call: nothing})
	}
	return toolsetOf(tools, rules...)
}

// The table, and with it lists, calls and explanations, has the permissions of the adapter's verbs.
func TestAdaptersMapVerbs(t *testing.T) {
	t.Parallel()
	own := "dcim.delete_device dcim.view_device napalm_read dcim.view_device dcim.view_device"
	mapped := "dcim.wipe_device dcim.browse_device napalm_read dcim.view_device dcim.view_device"
	h := newHost(nil)
	h.set("bob", "dcim.browse_device")
	for want, source := range map[string][]capability.Source{own: {h, oddHost{fakeHost: h}},
		mapped: {oddHost{fakeHost: h, verb: verbsOf("list browse", "destroy wipe", "view none")}}} {
		for _, source := range source {
			s := newServer(t, hostOptions(source, quiet()), crud())
			var got []string
			for _, rule := range s.Table().Rules {
				got = append(got, rule.Permission.String())
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%T: %q, want %s", source, got, want)
			}
			p := access.Principal{Subject: "sub-bob", User: "bob", Roles: []string{"Viewer"}}
			if e := s.Explain(t.Context(), p, "list"); e.Allowed != (want == mapped) {
				t.Errorf("%T: %s", source, e)
			}
		}
	}
}

// mapping is a source that says whose credentials it takes and to which roles its settings lead.
type mapping struct{ identity.Source }

func (mapping) Issuers() []string {
	return []string{"https://id.example", "https://login.example"}
}
func (mapping) MappedRoles() []string { return []string{"Admin", "Manger"} }

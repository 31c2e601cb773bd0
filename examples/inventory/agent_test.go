package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// task is what an agent is given that reconciles DNS records with the names of devices.
var task = []string{"dcim.view_dnsrecord", "dcim.rename_device"}

// agentWorld has the agent as a user of the host, whom its OAuth client stands for.
func agentWorld(t testing.TB, change func(*settings)) *world {
	t.Helper()
	db := testdb.SQLite(t)
	h := newHost(t, db)
	h.send("user", "svc-dns", task)
	return newWorld(t, db, h, map[string]claims{"dns-agent": {},
		"high-agent": {"roles": []string{"Admin"}}}, func(s *settings) {
		s.clients = []runtime.ServiceUser{{Client: "dns-agent", User: "svc-dns"},
			{Client: "high-agent", User: "svc-dns"}}
		change(s)
	})
}

// boundedWorld has the agent as a client of an administrator, with the boundary of the example. The
// host is that of the demonstration, or none.
func boundedWorld(t testing.TB, hosted bool) *world {
	t.Helper()
	text, err := os.ReadFile("boundaries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(t, &testdb.Database{File: demonstration(t)}, host{},
		map[string]claims{"dns-agent": of("ada", "Admin")}, func(s *settings) {
			if !hosted {
				s.django = none
			}
			s.boundaries = filepath.Join(t.TempDir(), "boundaries.yaml")
			text = bytes.Replace(text, []byte("issuer: host"), []byte("issuer: "+s.issuer), 1)
			if err := os.WriteFile(s.boundaries, text, 0o600); err != nil {
				t.Fatal(err)
			}
		})
}

// eachAgent runs a test for the agent with permissions of its own, and with a boundary.
func eachAgent(t *testing.T, test func(*testing.T, *world)) {
	t.Run("permissions", func(t *testing.T) { test(t, agentWorld(t, func(*settings) {})) })
	t.Run("boundary", func(t *testing.T) { test(t, boundedWorld(t, true)) })
	t.Run("boundary without a host", func(t *testing.T) { test(t, boundedWorld(t, false)) })
}

// granted are the tools of its task.
var granted = []string{"get_dns_record", "list_dns_records", "rename_device"}

func TestAgentListsExactlyWhatItsTaskNeeds(t *testing.T) {
	eachAgent(t, func(t *testing.T, w *world) {
		for _, era := range eras {
			c := w.connect(w.token("dns-agent"), era)
			for kind, lists := range map[string][2][]string{
				"tools":     {c.tools(), granted},
				"prompts":   {c.prompts(), {"reconcile_dns"}},
				"resources": {c.resources(), {"inventory://zones/{zone}"}},
			} {
				if !slices.Equal(lists[0], lists[1]) {
					t.Errorf("%s: it lists %s %q, want %q", era, kind, lists[0], lists[1])
				}
			}
			for _, name := range c.tools() {
				if err := c.use("tool", name, tools[name].ask); err != nil {
					t.Errorf("%s: %s: %v", era, name, err)
				}
			}
		}
	})
}

// TestBoundaryHoldsOverStdio serves the file of the example as it is. A client without a boundary
// may use public tools, of which there are none.
func TestBoundaryHoldsOverStdio(t *testing.T) {
	file := demonstration(t)
	for _, django := range []string{"sqlite:" + file, none} {
		for as, want := range map[string][]string{"dns-agent": granted, "ada": {}} {
			c := stdio(t, "-as", as, "-role", "Admin", "-db", file, "-django", django, "-boundaries",
				"boundaries.yaml")
			if got := c.tools(); !slices.Equal(got, want) {
				t.Errorf("%s, -django %s: %q, want %q", as, django, got, want)
			}
		}
	}
}

// TestServerAndMcpgenHaveTheSameBlastRadius compares the console's radius of each client, from the
// generated table, with the output of mcpgen radius, from the source.
func TestServerAndMcpgenHaveTheSameBlastRadius(t *testing.T) {
	text, err := os.ReadFile("boundaries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "boundaries.yaml")
	if err := os.WriteFile(file, append(text, `  - {issuer: host, client: all, roles: "*", items: "*"}
  - {issuer: host, client: reader, roles: [Member], items: "*", readonly: true}
  - {issuer: host, client: nothing}
`...), 0o600); err != nil {
		t.Fatal(err)
	}
	boundaries, err := static.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	var server runtime.Administered
	if _, err := runtime.New(runtime.Options{Identity: identity.Static(nil),
		Access: runtime.AccessOptions{Boundaries: boundaries}, Host: runtime.HostOptions{
			RecordOnly: true},
		Admin: func(a runtime.Administered) (http.Handler, error) {
			server = a
			return http.NotFoundHandler(), nil
		}}, dcim.Toolset(&dcim.Inventory{})); err != nil {
		t.Fatal(err)
	}
	type reach struct {
		Where                      string
		Private, Untrusted, Egress []string
		AllThree                   bool
	}
	var printed struct{ Servers []struct{ Agents []reach } }
	out, err := command(t, "go", "tool", "mcpgen", "radius", "--format=json", "--boundaries", file,
		"./dcim").Output()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want the exit code 1 of an agent that reaches all three facts", err)
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		t.Fatal(err)
	}
	agents := printed.Servers[0].Agents
	together := 0
	for _, client := range []string{"dns-agent", "all", "reader", "nothing"} {
		b, _, err := boundaries.Boundary(t.Context(), boundary.Party{Issuer: "host", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(agents, func(a reach) bool { return a.Where == b.Where })
		if i < 0 {
			t.Fatalf("%s is not in\n%s", b.Where, out)
		}
		want, got := agents[i], reach{Where: b.Where}
		got.Private, got.Untrusted, got.Egress = server.Reach(t.Context(), &b)
		got.AllThree = len(got.Private) > 0 && len(got.Untrusted) > 0 && len(got.Egress) > 0
		for _, list := range [][]string{want.Private, want.Untrusted, want.Egress, got.Private,
			got.Untrusted, got.Egress} {
			slices.Sort(list)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%+v, mcpgen radius has %+v", got, want)
		}
		if got.AllThree {
			together++
		}
	}
	if together != 1 {
		t.Errorf("%d of the agents reach all three facts", together)
	}
}

// TestWhatIsHiddenIsByteForByteUnknown compares whole answers: status, headers and body.
func TestWhatIsHiddenIsByteForByteUnknown(t *testing.T) { eachAgent(t, hiddenIsUnknown) }

func hiddenIsUnknown(t *testing.T, w *world) {
	django := userPermissions{Active: true, Has: task}
	token := w.token("dns-agent")
	compared := 0
	for _, era := range eras {
		c := w.raw(token, era)
		pair := func(what, hidden, unknown string) {
			t.Helper()
			if compared++; hidden != unknown {
				t.Errorf("%s, %s:\n%s\nan unknown one:\n%s", era, what, hidden, unknown)
			}
			if !strings.Contains(hidden, `"error"`) || !strings.Contains(hidden, "-32602") {
				t.Errorf("%s, %s is not refused:\n%s", era, what, hidden)
			}
		}
		for name, p := range tools {
			if p.may("", django) {
				continue
			}
			valid, err := json.Marshal(p.ask)
			if err != nil {
				t.Fatal(err)
			}
			other := strings.Repeat("x", len(name))
			for _, arguments := range []string{"", `,"arguments":` + string(valid),
				`,"arguments":{"nonsense":1}`, `,"arguments":[]`} {
				hidden := c.ask("tools/call", name, `"name":"`+name+`"`+arguments)
				unknown := c.ask("tools/call", other, `"name":"`+other+`"`+arguments)
				pair(name+arguments, hidden, strings.ReplaceAll(unknown, other, name))
			}
		}
		other := strings.Repeat("x", len("decommission"))
		pair("decommission", c.ask("prompts/get", "decommission",
			`"name":"decommission","arguments":{"device":"edge-1"}`),
			strings.ReplaceAll(c.ask("prompts/get", other,
				`"name":"`+other+`","arguments":{"device":"edge-1"}`), other, "decommission"))
		pair("devices", c.ask("resources/read", "inventory://devices/edge-1",
			`"uri":"inventory://devices/edge-1"`),
			strings.ReplaceAll(c.ask("resources/read", "inventory://nowhere/edge-1",
				`"uri":"inventory://nowhere/edge-1"`), "nowhere", "devices"))
	}
	if want := len(eras) * (4*(len(tools)-3) + 2); compared != want {
		t.Errorf("%d pairs were compared, want %d", compared, want)
	}
}

func TestRoleDoesNotOpenWhatTheHostDoesNotGive(t *testing.T) {
	w := agentWorld(t, func(*settings) {})
	// check_references asks the host for nothing; its role does open that, and nothing else.
	want := []string{"check_references", "get_dns_record", "list_dns_records", "rename_device"}
	if got := w.connect(w.token("high-agent"), "2026-07-28").tools(); !slices.Equal(got, want) {
		t.Errorf("an agent with the highest role lists %q, want %q", got, want)
	}
}

func TestForbidNamesThePermissionThatIsMissing(t *testing.T) {
	w := agentWorld(t, func(s *settings) { s.denial = access.Forbid })
	got := w.raw(w.token("dns-agent"), "2026-07-28").ask("tools/call", "add_device",
		`"name":"add_device","arguments":{}`)
	if !strings.Contains(got, "403") || !strings.Contains(got, "dcim.add_device") {
		t.Error(got)
	}
}

func TestTokensThatAreNotForTheServerAreRefused(t *testing.T) {
	w := agentWorld(t, func(*settings) {})
	own := w.token("dns-agent")
	for name, token := range map[string]string{
		"for another server": w.provider.token("dns-agent", "https://other.example/mcp"),
		"altered":            own[:len(own)-4] + "AAAA",
		"none":               "nonsense",
	} {
		c := w.raw(token, "2026-07-28")
		if got := c.ask("tools/list", "", ""); c.status != 401 ||
			!strings.Contains(got, "Www-Authenticate") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestServerThatCouldServeNobodyDoesNotStart(t *testing.T) {
	db := testdb.SQLite(t)
	if _, err := seed(t.Context(), db.File); err != nil {
		t.Fatal(err)
	}
	s := settings{file: db.File, issuer: "http://127.0.0.1:1", audience: "http://127.0.0.1:2/mcp"}
	for name, test := range map[string]struct {
		change func(*settings)
		want   string
	}{
		"nobody names a user": {func(*settings) {},
			"neither Options.Identity nor Options.Host.ServiceUsers provides a user of the host"},
		"a client's user is unknown": {func(s *settings) {
			s.clients = []runtime.ServiceUser{{Client: "agent", User: "dns-agnet"}}
		}, `the host has no active user "dns-agnet"`},
		"a client's user is inactive": {func(s *settings) {
			s.clients = []runtime.ServiceUser{{Client: "agent", User: "gone"}}
		}, `the host has no active user "gone"`},
		"there is no host": {func(s *settings) {
			s.django = "sqlite:" + db.File +
				".none"
			s.userClaim = "user"
		}, "does not exist; write a demonstration"},
		"a host of another kind": {func(s *settings) { s.django = "mysql://host" },
			"the database of the host is mysql: want sqlite:FILE or postgres://HOST/NAME"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			test.change(&s)
			source, err := s.identity(t.Context(), nil)
			if err == nil || source == nil {
				t.Fatalf("a provider that nobody is at is reached: %v", err)
			}
			a, err := open(t.Context(), s, source, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if err == nil {
				_ = a.close()
			}
		})
	}
}

// TestPermissionThatTheHostDoesNotHaveIsNamedAtStart takes one away from the host, as an app that
// is older than the server would be without it.
func TestPermissionThatTheHostDoesNotHaveIsNamedAtStart(t *testing.T) {
	db := testdb.SQLite(t)
	if _, err := seed(t.Context(), db.File); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE auth_permission SET codename = 'napalm_reed_device'
		WHERE codename = 'napalm_read_device'`); err != nil {
		t.Fatal(err)
	}
	_, err := open(t.Context(), settings{file: db.File}, nil, nil)
	const want = `the host has no permission dcim.napalm_read_device, which tool "napalm_facts" ` +
		`asks for (did you mean dcim.napalm_reed_device?)`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// renamed is an error's text with another name in it.
func renamed(err error, from, to string) string {
	return strings.ReplaceAll(fmt.Sprint(err), from, to)
}

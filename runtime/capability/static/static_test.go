package static_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/static"
)

// team is the file that the package's documentation shows, with more users and without a list of
// actions.
const team = `
exempt:
  dcim.site: [view]
groups:
  readers:
    permissions: [dcim.view_device]
  amsterdam:
    constrained:
      dcim.change_device:
        - {site: ams}
        - {site: rtm}
users:
  ada:
    groups: [readers, amsterdam]
    exempt:
      dcim.device: [napalm_read]
  bob:
    permissions: [billing.export, dcim.change_device]
    groups: [amsterdam]
  nobody: {}
  root: {superuser: true}
  eve: {active: false, superuser: true}
`

const teamJSON = `{
	"exempt": {"dcim.site": ["view"]},
	"groups": {
		"readers": {"permissions": ["dcim.view_device"]},
		"amsterdam": {"constrained": {"dcim.change_device": [{"site": "ams"}, {"site": "rtm"}]}}
	},
	"users": {
		"ada": {"groups": ["readers", "amsterdam"], "exempt": {"dcim.device": ["napalm_read"]}},
		"bob": {"permissions": ["billing.export", "dcim.change_device"], "groups": ["amsterdam"]},
		"nobody": {},
		"root": {"superuser": true, "active": true},
		"eve": {"active": false, "superuser": true}
	}
}`

// write makes a file system with one file.
func write(name, text string) fstest.MapFS {
	return fstest.MapFS{name: {Data: []byte(text)}}
}

func open(t testing.TB, name, text string) *static.Source {
	t.Helper()
	s, err := static.OpenFS(write(name, text), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// permissionText are the results of a set, a line each.
func permissionText(set capability.Set) string {
	var b strings.Builder
	for _, p := range set.Permissions() {
		constraints, _ := set.Constraints(p)
		b.WriteString(p)
		for _, c := range constraints {
			b.WriteString(" " + string(c))
		}
		b.WriteString("\n")
	}
	for _, object := range []string{"dcim.device", "dcim.site", "billing"} {
		for _, action := range []string{"view", "change", "napalm_read", "export"} {
			if set.Unrestricted(object, action) {
				b.WriteString("exempt " + object + " " + action + "\n")
			}
		}
	}
	return b.String()
}

func TestUsersHaveWhatTheFileGivesThemAndTheirGroups(t *testing.T) {
	for name, text := range map[string]string{"a.yaml": team, "a.yml": team, "a.json": teamJSON} {
		s := open(t, name, text)
		for user, want := range map[string]string{
			"ada": "dcim.change_device {\"site\":\"ams\"} " +
				"{\"site\":\"rtm\"}\ndcim.view_device\nexempt dcim.device napalm_read\nexempt " +
				"dcim.site view\n",
			"bob":    "billing.export\ndcim.change_device\nexempt dcim.site view\n",
			"nobody": "exempt dcim.site view\n",
		} {
			p := access.Principal{Issuer: "i", Subject: "not " + user, User: user}
			set, err := s.Capabilities(t.Context(), p)
			if got := permissionText(set); err != nil || got != want {
				t.Errorf("%s: %s has\n%s%v", name, user, got, err)
			}
			if u, err := s.Resolve(t.Context(), p); err != nil ||
				u != (capability.User{ID: user, Name: user}) {
				t.Errorf("%s: %+v, %v", name, u, err)
			}
		}
		root := access.Principal{User: "root"}
		set, err := s.Capabilities(t.Context(), root)
		if err != nil || !set.Unrestricted("no.such", "thing") {
			t.Errorf("%s: root may not do everything: %v", name, err)
		}
		if u, err := s.Resolve(t.Context(), root); err != nil || !u.Superuser {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

func TestFilesThatDocumentsShowAreTaken(t *testing.T) {
	for document, from := range map[string][2]string{
		"static.go": {"//\tactions:", "\n//\n"},
		"../../../docs/howto/mirroring-permissions.md": {"groups:\n  readers:", "```"},
	} {
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		before, _, _ := strings.Cut(string(data), from[0])
		text, _, _ := strings.Cut(string(data[len(before):]), from[1])
		text = strings.ReplaceAll("\n"+text, "\n//\t", "\n")
		ada := access.Principal{User: "ada"}
		set, err := open(t, "a.yaml", text).Capabilities(t.Context(), ada)
		if constraints, _ := set.Constraints("dcim.change_device"); err != nil ||
			!set.Has("dcim.view_device") || len(constraints) == 0 ||
			!set.Unrestricted("dcim.device", "napalm_read") {
			t.Errorf("%s: %s, %v", document, permissionText(set), err)
		}
	}
}

func TestPrincipalsThatNameNoActiveUserHaveNone(t *testing.T) {
	s := open(t, "a.yaml", team)
	for name, p := range map[string]access.Principal{
		"nobody": {},
		"a subject alone": {Issuer: "i", Subject: "ada", Client: "ada", Roles: []string{"ada"},
			Groups: []string{"readers"}},
		"an unknown user":       {User: "adam"},
		"another case":          {User: "Ada"},
		"white space":           {User: "ada "},
		"a group":               {User: "readers"},
		"an inactive superuser": {User: "eve"},
	} {
		set, err := s.Capabilities(t.Context(), p)
		if !errors.Is(err, capability.ErrNoUser) || permissionText(set) != "" {
			t.Errorf("%s: %v, %v", name, set, err)
		}
		if u, err := s.Resolve(t.Context(), p); !errors.Is(err, capability.ErrNoUser) ||
			u != (capability.User{}) {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

func TestActionsAreThoseThatTheFileLists(t *testing.T) {
	s := open(t, "a.yaml", "actions: [b.view_c, a.export]\nusers: {}\n")
	actions, err := s.Actions(t.Context())
	if err != nil || !slices.Equal(actions, []string{"a.export", "b.view_c"}) {
		t.Errorf("%q, %v", actions, err)
	}
	actions[0] = "x"
	if again, _ := s.Actions(t.Context()); again[0] != "a.export" {
		t.Error("the list is not the caller's own")
	}
	if actions, err := open(t, "a.yaml", team).Actions(t.Context()); !errors.Is(err,
		errors.ErrUnsupported) || actions != nil {
		t.Errorf("without a list: %q, %v", actions, err)
	}
}

func TestPermissionsAreSpeltAsInTables(t *testing.T) {
	s := open(t, "a.yaml", team)
	for _, p := range []string{"dcim.view_device", "dcim.napalm_read_device", "billing.export",
		"napalm_read"} {
		if got, err := s.MapAction(p); got != p || err != nil {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
	for _, p := range []string{"", ".view", "dcim.", "dcim.view_device.x",
		"dcim.view device", "dcim.*", "*", "dcim.view_device\n"} {
		if got, err := s.MapAction(p); got != "" || err == nil || !strings.Contains(err.Error(),
			"write app.action_object") {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
}

// mistakes are refused files, each with its error.
var mistakes = []struct{ name, file, text, want string }{
	{"nothing", "a.yaml", "",
		"a.yaml:1: is empty: write its first key"},
	{"null", "a.yaml", "~", "a.yaml:1: is nothing: write a mapping"},
	{"no users", "a.yaml", "groups: {}",
		"a.yaml:1: /users: is missing: write the users, or {} for none"},
	{"comments alone", "a.yaml", "\n# a\n", "a.yaml:1: is empty"},
	{"no text", "a.json", "",
		"a.json:1: is not JSON: unexpected end of JSON input"},
	{"blank lines", "a.json", "\n\n", "a.json:1: is not JSON: unexpected end"},
	{"another name", "a.toml", "users: {}",
		"a.toml: the file name ends in neither .yaml, .yml nor .json: rename it"},
	{"two documents", "a.yaml", "users: {}\n---\nusers: {}\n",
		"a.yaml:2: starts a second document: keep one"},
	{"an empty second document", "a.yaml", "users: {}\n---\n",
		"a.yaml:2: starts a second document: keep one"},
	{"a broken second document", "a.yaml", "users: {}\n---\n\na: [\n",
		"a.yaml:5: is not valid YAML:"},
	{"two documents and more", "a.yaml", "user: {}\nusers: {}\n...\n# b\n--- # c\nx: 1\n---\n",
		"a.yaml:1: /user: is not a known key: use actions, exempt, groups, users\n" +
			"a.yaml:5: starts a second document: keep one"},
	{"a control character", "a.yaml", "users:\n\n  a: \x01\n",
		"a.yaml:3: is not valid YAML: control characters are not allowed"},
	{"an unknown alias", "a.yaml", "users:\n  ada: *x\n",
		"a.yaml:2: is not valid YAML: unknown anchor"},
	{"bad YAML", "a.yaml", "users:\n  ada: [1\n  bob: 2\n",
		"a.yaml:3: is not valid YAML: did not find expected ',' or ']'"},
	{"bad JSON", "a.json", "{\"users\": {\n\"ada\": {}\n", "a.json:2: is not JSON"},
	{"a comma too many", "a.json", "{\"users\": {\n\"ada\": {},\n}}",
		"a.json:3: is not JSON: invalid character '}' looking for beginning of object key string"},
	{"a comment", "a.json", "{\n// none\n}", "a.json:2: is not JSON"},
	{"a line in a text", "a.json", "{\n\"users\": {\"a\nb\": {}}}", "a.json:2: is not JSON"},
	{"text after JSON", "a.json", "{\"users\": {}}\n\n{}",
		"a.json:3: is not JSON: invalid character '{' after top-level value"},
	{"another encoding in JSON", "a.json", "{\"users\":\n{\"\xff\": {}}}",
		"a.json:2: is not UTF-8: convert it"},
	{"another encoding", "a.yaml", "users:\n  \"\xff\": {}\n",
		"a.yaml:2: is not UTF-8: convert it"},
	{"half a character", "a.json", "{\n\"users\": {\"\\ud83d\": {}}}",
		"a.json:2: /users: has an escape of half a character: write the character itself"},
	{"an unknown key", "a.yaml", "user: {}\nusers: {}\n",
		"a.yaml:1: /user: is not a known key: use actions, exempt, groups, users"},
	{"a misspelt key", "a.json", "{\"users\": {\n\"ada\": {\"grups\": []}}}",
		"a.json:2: /users/ada/grups: is not a known key: use permissions, constrained, " +
			"exempt, groups, active, superuser"},
	{"a group that is a superuser", "a.yaml", "groups: {g: {superuser: true}}\nusers: {}\n",
		"a.yaml:1: /groups/g/superuser: is not a known key: use permissions, " +
			"constrained, exempt"},
	{"another case", "a.yaml", "Users: {}\nusers: {}\n", "/Users: is not a known key: use"},
	{"a user twice", "a.yaml", "users:\n  ada: {}\n  ada: {superuser: true}\n",
		"a.yaml:3: /users/ada: is written twice, first in line 2: keep one of them"},
	{"a user twice and more", "a.yaml",
		"users:\n  ada: {permissions: [x.]}\n  ada: {superuser: true}\n  bob: &b {}\n  eve: {groups: [none]}\n",
		`a.yaml:2: /users/ada/permissions/0: is not a permission: write app.action_object, app.action without an object, or action without an app, in letters, digits and underscores, for example "dcim.view_device"
a.yaml:3: /users/ada: is written twice, first in line 2: keep one of them
a.yaml:4: /users/bob: is an anchor or an alias: write out its content
a.yaml:5: /users/eve/groups/0: has the group "none", which is not in groups: correct the name, or add the group`},
	{"a user twice in JSON", "a.json", "{\"users\": {\n\"ada\": {},\n\"\\u0061da\": {}}}",
		"a.json:3: /users/ada: is written twice, first in line 2: keep one of them"},
	{"names twice and more in JSON", "a.json",
		"{\"users\": {\n\"ada\": {\"groups\": [\"g\"],\n\"groups\": []},\n\"ada\": {}},\n\"user\": 1}",
		`a.json:2: /users/ada/groups/0: has the group "g", which is not in groups: correct the name, or add the group
a.json:3: /users/ada/groups: is written twice, first in line 2: keep one of them
a.json:4: /users/ada: is written twice, first in line 2: keep one of them
a.json:5: /user: is not a known key: use actions, exempt, groups, users`},
	{"a permission twice", "a.yaml", "users: {ada: {permissions: [a.b, a.b]}}",
		"a.yaml:1: /users/ada/permissions/1: is in its list twice: remove one"},
	{"text for a truth", "a.yaml", "users: {ada: {active: yes}}",
		"a.yaml:1: /users/ada/active: is text: write true or false"},
	{"a number for a truth", "a.json", `{"users": {"ada": {"superuser": 1}}}`,
		"a.json:1: /users/ada/superuser: is a number: write true or false"},
	{"nothing for a user", "a.yaml", "users:\n  ada:\n",
		"a.yaml:2: /users/ada: is nothing: write a mapping"},
	{"text for a list", "a.yaml", "users: {ada: {groups: admins}}",
		"a.yaml:1: /users/ada/groups: is text: write a list"},
	{"a number for a name", "a.yaml", "users: {ada: {permissions: [7]}}",
		"a.yaml:1: /users/ada/permissions/0: is a number: write text"},
	{"a number that names", "a.yaml", "users: {7: {}}",
		"a.yaml:1: /users/7: has a name that is not clearly a string: quote it"},
	{"a merge", "a.yaml", "users: {ada: {<<: {superuser: true}}}",
		"a.yaml:1: /users/ada/<<: has a name that is not clearly a string: quote it"},
	{"a list that names", "a.yaml", "users: {? [a] : {}}",
		"has a name that is not clearly a string: quote it"},
	{"an anchor", "a.yaml", "users: {ada: &a {}, bob: *a}",
		"a.yaml:1: /users/ada: is an anchor or an alias: write out its content\n" +
			"a.yaml:1: /users/bob: is an anchor or an alias"},
	{"a tag", "a.yaml", "users: {ada: {superuser: !!bool yes}}",
		"a.yaml:1: /users/ada/superuser: has the tag !!bool: remove it, and quote strings"},
	{"a name of nothing", "a.yaml", "users: {'': {}}",
		"a.yaml:1: /users/: is not a name: write one without control characters, and without " +
			"white space at its ends"},
	{"a name with a blank", "a.yaml", "users: {'ada ': {}}",
		"/users/ada : is not a name: write one without control characters"},
	{"a name with a control character", "a.json", `{"users": {"a\nb": {}}}`,
		`a.json:1: /users/a\nb: is not a name: write one without control characters`},
	{"an unknown group", "a.yaml", "users:\n  ada:\n    groups:\n      - admins\n",
		`a.yaml:4: /users/ada/groups/0: has the group "admins", which is not in groups: ` +
			`correct the name, or add the group`},
	{"a permission without its app", "a.yaml", "users: {ada: {permissions: [.view_device]}}",
		"/users/ada/permissions/0: is not a permission: write app.action_object"},
	{"a permission that is a pattern", "a.yaml", "users: {ada: {permissions: ['dcim.*']}}",
		"/users/ada/permissions/0: is not a permission: write app.action_object"},
	{"a permission that is not listed", "a.yaml",
		"actions: [dcim.view_device]\nusers: {ada: {permissions: [dcim.veiw_device]}}",
		"a.yaml:2: /users/ada/permissions/0: dcim.veiw_device is not in actions: correct the " +
			"name, or add it there"},
	{"a constrained one that is not listed", "a.yaml",
		"actions: []\nusers: {ada: {constrained: {a.b: [{c: 1}]}}}",
		"/users/ada/constrained/a.b: a.b is not in actions"},
	{"an exemption that is not listed", "a.yaml",
		"actions: [dcim.view]\nexempt: {dcim.device: [view]}\nusers: {}",
		"/exempt/dcim.device/0: dcim.view_device is not in actions"},
	{"an exemption on no object that is not listed", "a.yaml",
		"actions: [dcim.view]\nexempt: {dcim: [veiw]}\nusers: {}",
		"/exempt/dcim/0: dcim.veiw is not in actions"},
	{"no constraint", "a.yaml", "users: {ada: {constrained: {a.b: []}}}",
		"/users/ada/constrained/a.b: has no constraint: write one, or move the permission to permissions if it covers all objects"},
	{"a constraint on nothing", "a.yaml", "users: {ada: {constrained: {a.b: [{}]}}}",
		"/users/ada/constrained/a.b/0: has no condition: write which objects it covers, or move the " +
			"permission to permissions if it covers all"},
	{"a constraint that is null", "a.yaml", "users: {ada: {constrained: {a.b: [null]}}}",
		"/users/ada/constrained/a.b/0: is nothing: write a mapping"},
	{"constraints that are one", "a.yaml", "users: {ada: {constrained: {a.b: {site: x}}}}",
		"/users/ada/constrained/a.b: is a mapping: write a list"},
	{"a constraint that is contradicted", "a.yaml",
		"users: {ada: {constrained: {a.b: [{c: 1}]}, permissions: [a.b]}}",
		"/users/ada/constrained/a.b: is also in permissions, for all objects: remove one of the two"},
	{"a number that is not JSON's", "a.yaml", "users: {ada: {constrained: {a.b: [{c: 0x1F}]}}}",
		"/users/ada/constrained/a.b/0/c: is not a JSON number: write it in fewer digits, or quote it"},
	{"a number that has no end", "a.yaml", "users: {ada: {constrained: {a.b: [{c: 1e999999}]}}}",
		"/users/ada/constrained/a.b/0/c: is not a JSON number: write it in fewer digits, or quote it"},
	{"no number", "a.yaml", "users: {ada: {constrained: {a.b: [{c: .nan}]}}}",
		"/users/ada/constrained/a.b/0/c: is not a JSON number: write it in fewer digits, or quote it"},
	{"everything for everybody", "a.yaml", "exempt: {'*': ['*']}\nusers: {}",
		"/exempt/*/0: allows everything: write superuser: true for each such user instead"},
	{"a pattern of objects", "a.yaml", "exempt: {'dcim.*': [view]}\nusers: {}",
		`/exempt/dcim.*: is not an object type: write app.object, for example "dcim.device", only ` +
			`the app for actions without an object, or "*" for all`},
	{"a pattern of actions", "a.yaml", "exempt: {dcim.device: ['v*']}\nusers: {}",
		`/exempt/dcim.device/0: is not an action: write an action, for example "view", or "*" for all`},
	{"depth", "a.yaml", "users: " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		"is nested more than 100 deep"},
	{"depth in JSON", "a.json", `{"users": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) +
		"}", "a.json:1: /users/0/0/0"},
	{"a name twice and bad JSON", "a.json", "{\"a\": 1,\n\"a\": 2,\n!}",
		"a.json:3: is not JSON: invalid character '!'"},
	{"a name twice and depth", "a.json", "{\"a\": 1,\n\"a\":\n" + strings.Repeat("[", 200) +
		strings.Repeat("]", 200) + "}", "a.json:3: /a/0/0/0"},
	{"a number that has no end in JSON", "a.json", "{\"users\":\n{\"ada\": 1e999999}}",
		"a.json:2: /users/ada"},
}

func TestMistakesAreReportedWithTheirPlaceAndCure(t *testing.T) {
	for _, m := range mistakes {
		s, err := static.OpenFS(write(m.file, m.text), m.file)
		if err == nil || !strings.Contains(err.Error(), m.want) || s != nil {
			t.Errorf("%s: %v, want %s", m.name, err, m.want)
		}
		for line := range strings.Lines(fmt.Sprint(err)) {
			if !placed.MatchString(line) && m.file != "a.toml" {
				t.Errorf("%s: no line in %s", m.name, line)
			}
		}
	}
}

// placed is a problem with its file and line.
var placed = regexp.MustCompile(`^a\.(yaml|json):[1-9][0-9]*: `)

func TestAllMistakesOfAFileAreReportedInItsOrder(t *testing.T) {
	_, err := static.OpenFS(write("a.yaml",
		"users:\n  ada: {groups: [x], superuser: 1}\n  bob: {active: no}\ngruops: {}\n"), "a.yaml")
	want := `a.yaml:2: /users/ada/groups/0: has the group "x", which is not in groups: correct the name, or add the group
a.yaml:2: /users/ada/superuser: is a number: write true or false
a.yaml:3: /users/bob/active: is text: write true or false
a.yaml:4: /gruops: is not a known key: use actions, exempt, groups, users`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	_, err = static.OpenFS(write("a.yaml", "users: {a: {permissions: ["+strings.Repeat("x.,", 60)+
		"]}}\n"), "a.yaml")
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 51 ||
		lines[50] != "a.yaml: and 10 more problems" {
		t.Errorf("%v", err)
	}
}

func TestFilesThatCannotBeReadAreAnError(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := static.Open(none); !errors.Is(err, fs.ErrNotExist) || err.Error() !=
		none+": no such file or directory" {
		t.Errorf("%v", err)
	}
	if _, err := static.Open(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
	huge := fstest.MapFS{"a.yaml": {Data: make([]byte, 16<<20+1)}}
	if _, err := static.OpenFS(huge, "a.yaml"); err == nil || !strings.Contains(err.Error(),
		"a.yaml: is larger than 16 MiB") {
		t.Errorf("%v", err)
	}
}

func TestReloadTakesTheNewFileAsAWholeOrKeepsTheOld(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("users: {ada: {permissions: [a.view_b]}}")
	s, err := static.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	ada, bob := access.Principal{User: "ada"}, access.Principal{User: "bob"}
	old, err := s.Capabilities(t.Context(), ada)
	if err != nil || !old.Has("a.view_b") {
		t.Fatalf("%v, %v", old, err)
	}
	check := func(what string, user access.Principal, permission string) {
		t.Helper()
		if set, err := s.Capabilities(t.Context(), user); err != nil || permission != "" &&
			!set.Has(permission) {
			t.Errorf("%s: %v, %v", what, set, err)
		}
	}
	for _, bad := range []string{"", "users: {bob: {}, ada: {active: maybe}}", "users: ["} {
		put(bad)
		if err := s.Reload(); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", bad, err)
		}
		check(bad, ada, "a.view_b")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	check("a file that is gone", ada, "a.view_b")
	put("actions: [a.change_b]\nusers: {bob: {permissions: [a.change_b]}}")
	check("before it is read", ada, "a.view_b")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	check("afterwards", bob, "a.change_b")
	if _, err := s.Resolve(t.Context(), ada); !errors.Is(err, capability.ErrNoUser) {
		t.Errorf("%v", err)
	}
	if actions, err := s.Actions(t.Context()); err != nil ||
		!slices.Equal(actions, []string{"a.change_b"}) {
		t.Errorf("%v, %v", actions, err)
	}
	if !old.Has("a.view_b") || old.Has("a.change_b") {
		t.Error("an answer that was given was changed")
	}
}

// TestAnswersAreOfOneFile reads while two files take turns: in each of them ada's two permissions
// are equal.
func TestAnswersAreOfOneFile(t *testing.T) {
	fsys := &turns{texts: []string{
		"users: {ada: {permissions: [a.x, a.y]}}",
		"users: {ada: {}}",
	}}
	s, err := static.OpenFS(fsys, "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				set, err := s.Capabilities(t.Context(), access.Principal{User: "ada"})
				if err != nil || set.Has("a.x") != set.Has("a.y") {
					t.Errorf("%v, %v", set, err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for range 100 {
				if err := s.Reload(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// turns is a file system whose one file is another one each time.
type turns struct {
	mu    sync.Mutex
	texts []string
	n     int
}

func (f *turns) Open(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return write(name, f.texts[f.n%len(f.texts)]).Open(name)
}

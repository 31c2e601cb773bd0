package scan

import (
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesAreWrittenAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(string) string
		want map[string]string
	}{
		{"snake", snake, map[string]string{
			"GetByID": "get_by_id", "NapalmFacts": "napalm_facts", "userID": "user_id",
			"UserIDs": "user_ids",
			"ListVMs": "list_vms", "GetIPv4": "get_ipv4", "OAuth2Login": "oauth2_login", "V2": "v2",
			"HTTPServer": "http_server", "List_All": "list_all", "x": "x", "URLs2": "urls2",
		}},
		{"exported", exported, map[string]string{
			"id": "ID", "userID": "UserID", "limit": "Limit", "device_name": "DeviceName",
			"größe": "Größe", "日": "X日",
		}},
		{"lowerFirst", lowerFirst, map[string]string{
			"GetByIDInput": "getByIDInput", "IDInput": "idInput", "HTTP": "http", "V2": "v2",
			"device": "device", "X": "x", "ÄFoo": "äFoo",
		}},
		{"upperFirst", upperFirst, map[string]string{"get": "Get", "öffne": "Öffne", "": ""}},
	} {
		for in, want := range c.want {
			if got := c.make(in); got != want {
				t.Errorf("%s(%s): got %s, want %s", c.name, in, got, want)
			}
		}
	}
}

// Whatever a parameter is called, its field can be written and set.
func TestEveryParameterHasAnExportedField(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[\p{L}_][\p{L}\p{Nd}_]{0,12}`).Draw(t, "name")
		if !token.IsIdentifier(name) || name == "_" {
			return
		}
		if field := exported(name); !token.IsIdentifier(field) || !token.IsExported(field) {
			t.Fatalf("%s has the field %s", name, field)
		}
	})
}

func TestOneNameATypeAndOneTypeAName(t *testing.T) {
	var n names
	if got := []string{n.name("a", "x"), n.name("b", "x"), n.name("a", "y"), n.name("c", "x"),
		n.name("d", "y")}; !slices.Equal(got, []string{"x", "x2", "x", "x3", "y"}) {
		t.Errorf("got %v", got)
	}
}

func TestWordsForTypes(t *testing.T) {
	here, there := types.NewPackage("example.com/here", "here"),
		types.NewPackage("example.com/sites", "sites")
	named := func(p *types.Package, name string) types.Type {
		return types.NewNamed(types.NewTypeName(token.NoPos, p, name, nil),
			types.NewStruct(nil, nil), nil)
	}
	device, page := named(here, "Device"), named(there, "Page")
	text := types.Typ[types.String]
	for _, c := range []struct {
		t    types.Type
		want string
	}{
		{device, "device"},
		{types.NewPointer(page), "sitesPage"},
		{types.NewSlice(device), "deviceList"},
		{types.NewArray(text, 2), "stringArray"},
		{types.NewMap(text, types.NewSlice(page)), "stringSitesPageListMap"},
		{types.NewInterfaceType(nil, nil), "any"},
		{types.NewAlias(types.NewTypeName(token.NoPos, here, "Nick", nil), text), "nick"},
		{types.Universe.Lookup("error").Type(), "error"},
		{types.NewStruct(nil, nil), ""},
	} {
		if got := word(c.t, here); got != c.want {
			t.Errorf("%s: got %s, want %s", c.t, got, c.want)
		}
	}
}

func TestVerbsOfHandlerNames(t *testing.T) {
	for name, want := range map[string]string{
		"GetByID": "get view", "List": "list view", "RetrieveOne": "retrieve view",
		"CreateSite": "create add", "AddSite": "add add", "Update": "update change",
		"PartialUpdate": "partial_update change", "PartialUpdateSite": "partial_update change",
		"SetName": "set change", "DeleteAll": "delete delete", "RemoveSite": "remove delete",
		"Destroy": "destroy delete", "DestroySite": "destroy delete",
		"Getaway": " ", "Listen": " ", "Reboot": " ", "Partial": " ", "ForgetGet": " ", "view": " ",
		"Destroyer": " ",
	} {
		a := rule{object: "site"}.access(name, "dcim")
		if got := a.Verb + " " + a.Action; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// An action has the same verb and permission, whether action= or the handler's name has it.
func TestPermissionsOfActions(t *testing.T) {
	for _, test := range []struct{ app, action, object, verb, permission string }{
		{"dcim", "destroy", "site", "destroy", "dcim.delete_site"},
		{"dcim", "partial_update", "site", "partial_update", "dcim.change_site"},
		{"dcim", "view", "site", "", "dcim.view_site"},
		{"dcim", "destroy", "", "destroy", "dcim.delete"},
		{"", "destroy", "", "destroy", "delete"},
		{"", "list", "", "list", "view"},
		{"", "napalm_read", "", "", "napalm_read"},
		{"", "none", "", "", ""},
		{"", "", "", "", ""},
	} {
		a := rule{action: test.action, object: test.object}.access("List", test.app)
		if a.Verb != test.verb || a.Permission != test.permission {
			t.Errorf("%+v: verb %q, permission %q", test, a.Verb, a.Permission)
		}
	}
}

func anyRule(t *rapid.T, label string) rule {
	if rapid.IntRange(0, 4).Draw(t, label+" public") == 0 {
		return rule{public: true}
	}
	return rule{
		authenticated: rapid.Bool().Draw(t, label+" authenticated"),
		minRole:       rapid.SampledFrom([]string{"", "Viewer", "Admin"}).Draw(t, label+" minrole"),
		scopes: rapid.SampledFrom([][]string{nil, {"read"}, {"read", "write"}}).Draw(
			t, label+" scopes"),
		action: rapid.SampledFrom([]string{"", "none", "reboot"}).Draw(t, label+" action"),
		object: rapid.SampledFrom([]string{"", "device"}).Draw(t, label+" object"),
	}
}

// The laws of defaults, as the design states them.
func TestDefaultsAreInheritedAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own, base := anyRule(t, "own"), anyRule(t, "base")
		got := own.over(base)
		if own.public {
			if !reflect.DeepEqual(got, rule{public: true}) {
				t.Fatalf("public inherits: %+v", got)
			}
			return
		}
		who := func(r rule) []any { return []any{r.public, r.authenticated, r.minRole, r.scopes} }
		from := base
		if own.authenticated || own.minRole != "" || own.scopes != nil {
			from = own
		}
		if !reflect.DeepEqual(who(got), who(from)) {
			t.Fatalf("who may call: got %+v of %+v over %+v", got, own, base)
		}
		for _, k := range [][3]string{{got.action, own.action, base.action},
			{got.object, own.object, base.object}} {
			want := k[1]
			if want == "" {
				want = k[2]
			}
			if k[0] != want {
				t.Fatalf("action and object: got %+v of %+v over %+v", got, own, base)
			}
		}
		if again := got.over(base); !reflect.DeepEqual(again, got) {
			t.Fatalf("inheriting twice changes %+v to %+v", got, again)
		}
	})
}

func TestPermissionStrings(t *testing.T) {
	for _, c := range []struct {
		handler    string
		r          rule
		permission string
	}{
		{"NapalmFacts", rule{action: "napalm_read", object: "device"}, "dcim.napalm_read_device"},
		{"GetByID", rule{object: "device"}, "dcim.view_device"},
		{"GetByID", rule{minRole: "Viewer"}, ""},
		{"GetByID", rule{action: "none", object: "device"}, ""},
		{"Reboot", rule{action: "delete", object: "device"}, "dcim.delete_device"},
		{"Reboot", rule{action: "partial_update"}, "dcim.change"},
		{"Reboot", rule{action: "reboot"}, "dcim.reboot"},
		{"Reboot", rule{object: "device"}, ""},
	} {
		if got := c.r.access(c.handler, "dcim").Permission; got != c.permission {
			t.Errorf("%s %+v: %q, want %q", c.handler, c.r, got, c.permission)
		}
	}
}

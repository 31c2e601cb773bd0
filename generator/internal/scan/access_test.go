package scan

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

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
		minRole: rapid.SampledFrom([][]string{nil, {"Viewer"}, {"Viewer", "Auditor"}}).Draw(
			t, label+" minrole"),
		scopes: rapid.SampledFrom([][][]string{nil, {{"read"}}, {{"read", "write"}, {"all"}}}).Draw(
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
		if own.authenticated || own.minRole != nil || own.scopes != nil {
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
		{"GetByID", rule{minRole: []string{"Viewer"}}, ""},
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

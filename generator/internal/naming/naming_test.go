package naming

import (
	"go/token"
	"go/types"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesAreWrittenAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(string) string
		want map[string]string
	}{
		{"Snake", Snake, map[string]string{
			"GetByID": "get_by_id", "NapalmFacts": "napalm_facts", "userID": "user_id",
			"UserIDs": "user_ids",
			"ListVMs": "list_vms", "GetIPv4": "get_ipv4", "OAuth2Login": "oauth2_login", "V2": "v2",
			"HTTPServer": "http_server", "List_All": "list_all", "x": "x", "URLs2": "urls2",
		}},
		{"Field", Field, map[string]string{
			"id": "ID", "userID": "UserID", "limit": "Limit", "device_name": "DeviceName",
			"größe": "Größe", "日": "X日",
		}},
		{"LowerFirst", LowerFirst, map[string]string{
			"GetByIDInput": "getByIDInput", "IDInput": "idInput", "HTTP": "http", "V2": "v2",
			"device": "device", "X": "x", "ÄFoo": "äFoo", "Viewer": "viewer", "DBAdmin": "dbAdmin",
			"SRE": "sre", "DepotManager": "depotManager", "x": "x", "ÄB": "äb",
			"HTTP2Admin": "http2Admin", "": "",
		}},
		{"UpperFirst", UpperFirst, map[string]string{"get": "Get", "öffne": "Öffne", "": ""}},
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
		if field := Field(name); !token.IsIdentifier(field) || !token.IsExported(field) {
			t.Fatalf("%s has the field %s", name, field)
		}
	})
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
		if got := Word(c.t, here); got != c.want {
			t.Errorf("%s: got %s, want %s", c.t, got, c.want)
		}
	}
}

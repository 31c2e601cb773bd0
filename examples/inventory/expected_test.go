package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// part is what somebody needs for a tool, a prompt or a resource. It is written by hand from what
// the handlers say of themselves, and from nothing that decides.
type part struct {
	permission string // of the host; empty is none
	role       string // empty is none
	ask        any    // valid arguments, or the URI
}

var tools = map[string]part{
	"list_devices": {permission: "dcim.view_device", ask: map[string]any{"site": "berlin"}},
	"get_device":   {permission: "dcim.view_device", ask: map[string]any{"name": "edge-1"}},
	"add_device": {permission: "dcim.add_device",
		ask: map[string]any{"name": "new", "site": "oslo", "role": "router"}},
	"update_device": {permission: "dcim.change_device",
		ask: map[string]any{"name": "edge-1", "status": "offline"}},
	"rename_device": {permission: "dcim.rename_device",
		ask: map[string]any{"name": "edge-1", "new_name": "edge-1"}},
	"delete_device": {permission: "dcim.delete_device", role: "Manager",
		ask: map[string]any{"name": "new"}},
	"napalm_facts": {permission: "dcim.napalm_read_device", role: "Member",
		ask: map[string]any{"device": "edge-1"}},
	"list_dns_records": {permission: "dcim.view_dnsrecord", ask: map[string]any{}},
	"get_dns_record":   {permission: "dcim.view_dnsrecord", ask: map[string]any{"id": 1}},
	"add_dns_record": {permission: "dcim.add_dnsrecord",
		ask: map[string]any{"zone": "example.net", "name": "x", "type": "A", "value": "192.0.2.7"}},
	"update_dns_record": {permission: "dcim.change_dnsrecord",
		ask: map[string]any{"id": 1, "value": "192.0.2.1"}},
	"delete_dns_record": {permission: "dcim.delete_dnsrecord", ask: map[string]any{"id": 4}},
	"list_ip_addresses": {permission: "dcim.view_ipaddress", ask: map[string]any{}},
	"get_ip_address":    {permission: "dcim.view_ipaddress", ask: map[string]any{"id": 1}},
	"add_ip_address": {permission: "dcim.add_ipaddress",
		ask: map[string]any{"address": "192.0.2.77"}},
	"update_ip_address": {permission: "dcim.change_ipaddress",
		ask: map[string]any{"id": 2, "device": "edge-2"}},
	"delete_ip_address": {permission: "dcim.delete_ipaddress", ask: map[string]any{"id": 3}},
	"check_references":  {role: "Manager", ask: map[string]any{}},
}

var prompts = map[string]part{
	"reconcile_dns": {permission: "dcim.view_dnsrecord",
		ask: map[string]string{"zone": "example.net"}},
	"decommission": {permission: "dcim.delete_device", role: "Manager",
		ask: map[string]string{"device": "edge-1"}},
}

var resources = map[string]part{
	"inventory://zones/{zone}": {permission: "dcim.view_dnsrecord",
		ask: "inventory://zones/example.net"},
	"inventory://devices/{name}": {permission: "dcim.view_device",
		ask: "inventory://devices/edge-1"},
}

// ranks are the roles, by height; no role is the lowest.
var ranks = []string{"", "Viewer", "Member", "Manager", "Admin"}

// may is whether somebody of a role may do something, where Django says what it says.
func (p part) may(role string, django userPermissions) bool {
	return django.Active && slices.Index(ranks, role) >= slices.Index(ranks, p.role) &&
		(p.permission == "" || slices.Contains(django.Has, p.permission))
}

// names are the parts that somebody may use, sorted.
func names(parts map[string]part, role string, django userPermissions) []string {
	list := []string{}
	for name, p := range parts {
		if p.may(role, django) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func TestEverythingHasAnExpectation(t *testing.T) {
	text, err := os.ReadFile("dcim/mcp.manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Tools, Prompts []struct{ Name string }
		Resources      []struct{ URI string }
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, v := range slices.Concat(m.Tools, m.Prompts) {
		served[v.Name] = true
	}
	for _, v := range m.Resources {
		served[v.URI] = true
	}
	expected := 0
	for _, parts := range []map[string]part{tools, prompts, resources} {
		for name := range parts {
			if expected++; !served[name] {
				t.Errorf("%s is not served", name)
			}
		}
	}
	if expected != len(served) {
		t.Errorf("%d are served and %d are expected: write down who may use them", len(served),
			expected)
	}
}

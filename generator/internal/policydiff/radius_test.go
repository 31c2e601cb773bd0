package policydiff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/internal/boundaryfile"
)

// part is the manifest of a package of a server. Each tool is as in "name rule fact,fact".
func part(t *testing.T, pkg, server, roles string, tools ...string) *policydiff.Manifest {
	t.Helper()
	var list []string
	for _, tool := range tools {
		words := strings.Fields(tool)
		list = append(list, fmt.Sprintf(
			`{"name": %q, "handler": %[1]q, "access": {"minRole": [%q]}, "facts": ["%s"]}`, words[0],
			words[1], strings.ReplaceAll(words[2], ",", `","`)))
	}
	return read(t, pkg+".json", fmt.Appendf(nil,
		`{"manifest": 3, "package": %q, "server": {"name": %q}, "roles": %s, "tools": [%s]}`,
		pkg, server, roles, strings.Join(list, ",")))
}

// The packages of one server count together, and those of another server do not. A package without
// roles has those of its server.
func TestRadiusIsOfOneServer(t *testing.T) {
	set := []*policydiff.Manifest{
		part(t, "p/a", "one", "[]", "a lowest private", "b highest egress"),
		part(t, "p/b", "one", `[["Viewer", "Admin"]]`, "c Viewer untrusted"),
		part(t, "p/c", "two", "[]", "d lowest private,untrusted"),
	}
	got, notes, err := policydiff.RadiusOf(set, policydiff.Agents{Boundaries: []boundaryfile.Entry{
		{Party: boundaryfile.Party{Client: "x"}, Boundary: boundaryfile.Boundary{Where: "f:2",
			Roles: []string{"Admin"}, Items: []string{"tool:d", "tool:a", "tool:e", "catalog:k"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, server := range got {
		for _, a := range server.Agents {
			lines = append(lines, fmt.Sprint(server.Server, " ", server.Packages, " ", a, ": ", a.Private,
				a.Untrusted, a.Egress, a.AllThree))
		}
	}
	want := `one [p/a p/b] anonymous: [] [] [] false
one [p/a p/b] no role: [] [] [] false
one [p/a p/b] Viewer: [tool:a] [tool:c] [] false
one [p/a p/b] Admin: [tool:a] [tool:c] [tool:b] true
one [p/a p/b] boundary client x of no issuer (f:2): [tool:a] [] [] false
two [p/c] anonymous: [] [] [] false
two [p/c] no role: [] [] [] false
two [p/c] lowest role: [tool:d] [tool:d] [] false
two [p/c] highest role: [tool:d] [tool:d] [] false
two [p/c] boundary client x of no issuer (f:2): [] [] [] false`
	if text := strings.Join(lines, "\n"); text != want {
		t.Errorf("got\n%s", text)
	}
	if n := strings.Join(notes, "\n"); n != "f:2: no package has tool:e\nf:2: no package has "+
		"catalog:k" {
		t.Error(n)
	}
}

// A server is the same one if its name is, or if it is the only one of both sides. Agents of a new
// server had nothing before.
func TestServersArePaired(t *testing.T) {
	all := func(pkg, server, roles string) *policydiff.Manifest {
		return part(t, pkg, server, roles, "a highest private,untrusted,egress")
	}
	const roles = `[["Viewer", "Admin"]]`
	other := part(t, "p/o", "other", "[]", "b lowest private")
	for name, test := range map[string]struct {
		before, after []*policydiff.Manifest
		want          string
	}{
		"renamed": {[]*policydiff.Manifest{all("p", "one", roles)}, []*policydiff.Manifest{
			all("q", "two", roles)}, ""},
		"of several": {[]*policydiff.Manifest{all("p", "one", roles), other},
			[]*policydiff.Manifest{other, all("q", "one", roles)}, ""},
		"new": {[]*policydiff.Manifest{other}, []*policydiff.Manifest{other, all("p", "one",
			roles)}, "Admin p.json:1"},
		"roles come": {[]*policydiff.Manifest{all("p", "one", "[]")}, []*policydiff.Manifest{
			all("p", "one", roles)}, ""},
		"roles leave": {[]*policydiff.Manifest{all("p", "one", roles)}, []*policydiff.Manifest{
			all("p", "one", "[]")}, ""},
		"none before": {nil, []*policydiff.Manifest{all("p", "one", "[]")}, "highest role p.json:1"},
	} {
		changes, err := policydiff.CompareRadius(test.before, test.after, policydiff.Agents{},
			policydiff.Agents{})
		var got []string
		for _, c := range changes {
			got = append(got, fmt.Sprintf("%s %s:%d", c.Name, c.File, c.Line))
		}
		if strings.Join(got, ", ") != test.want || err != nil {
			t.Errorf("%s: %q, want %q, %v", name, got, test.want, err)
		}
	}
}

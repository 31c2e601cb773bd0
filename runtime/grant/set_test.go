package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// mustSet makes a set of lines, as Parse reads them, with the ids 1, 2 and so on. A line is
// unrestricted unless it contains "restricted".
func mustSet(t testing.TB, lines ...string) *Set {
	t.Helper()
	var grants []Grant
	for i, line := range lines {
		if !strings.Contains(line, "restricted") {
			line += " unrestricted"
		}
		p, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		grants = append(grants, Grant{ID: fmt.Sprint(i + 1), Permission: p})
	}
	set, err := NewSet(grants...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestNothingIsAllowedThatNoGrantAllows(t *testing.T) {
	queries := []Query{
		{Kind: FileRead, Resource: "public/a"}, {Kind: FileRead, Resource: "."},
		{Kind: SystemCommand, Argv: []string{"echo"}},
		{Kind: NetConnect, Resource: "example.com:80"}, {Kind: "db.read", Resource: "a"},
		{Kind: "", Resource: "a"}, {},
	}
	empty, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	other := mustSet(t, "file.write **", "db.write *", "queue.push *")
	for _, set := range []*Set{nil, {}, empty, other} {
		for _, query := range queries {
			d := set.Decide(noon, query)
			var denied *Denied
			if d.Allowed || !errors.As(d.Err(), &denied) || !strings.HasPrefix(denied.Error(),
				"permission_denied: ") {
				t.Errorf("%+v: %+v", query, d)
			}
		}
		_ = set.Grants()
	}
}

func TestRefusalsNameKindAndResourceAsTheClientDid(t *testing.T) {
	set, err := NewSet(
		Grant{ID: "1", Permission: Permission{Type: FileRead, Resource: "old/**",
			Unrestricted: true}, Expires: noon},
		Grant{ID: "2", Permission: Permission{Type: SystemCommand, Resource: "git **"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query Query
		cause Cause
		text  string
		grant string
	}{
		{Query{Kind: FileRead, Resource: "x/y", Named: "x//y"}, NoGrant,
			`permission_denied: file.read "x//y": no grant allows it`, ""},
		{Query{Kind: FileRead, Resource: "old/a"}, HasExpired,
			`permission_denied: file.read "old/a": the grant has expired at 2026-03-04T12:00:00Z`,
			"1"},
		{Query{Kind: SystemCommand, Argv: []string{"git", "log"}}, Restricted,
			`permission_denied: system.command "git log": the grant applies to isolated calls only`,
			"2"},
		{Query{Kind: SystemCommand, Argv: []string{"a b", ";"}}, NoGrant,
			`permission_denied: system.command "[\"a b\",\";\"]": no grant allows it`, ""},
		{Query{Kind: SystemCommand}, Malformed,
			`permission_denied: system.command "": write the program as a bare name or an absolute path`,
			""},
		{Query{Kind: SystemCommand, Argv: []string{"./git"}}, Malformed,
			`permission_denied: system.command "./git": write the program as a bare name or ` +
				`an absolute path`, ""},
		{Query{Kind: SystemCommand, Argv: []string{"git", "a\x00b"}}, Malformed,
			`permission_denied: system.command "git a\x00b": an argument contains NUL`, ""},
		{Query{Kind: FileRead, Resource: "old/../x"}, Malformed,
			`permission_denied: file.read "old/../x": it is not a path below a root`, ""},
		{Query{Kind: NetConnect, Resource: "127.1"}, Malformed,
			`permission_denied: net.connect "127.1": some programs parse a name that ends in a number ` +
				`as an address`, ""},
		{Query{Kind: "db.read"}, Malformed, `permission_denied: db.read "": it is empty`, ""},
	} {
		d := set.Decide(noon, c.query)
		var denied *Denied
		if !errors.As(d.Err(), &denied) || denied.Error() != c.text || denied.Cause != c.cause ||
			denied.Kind != c.query.Kind {
			t.Errorf("%+v: %v", c.query, d.Err())
		}
		if got := d.Grant; (got == nil) != (c.grant == "") || got != nil && got.ID != c.grant {
			t.Errorf("%+v: grant %+v", c.query, got)
		}
	}
	if d := set.Decide(noon.Add(-1), Query{Kind: FileRead, Resource: "old/a"}); !d.Allowed ||
		d.Err() != nil || d.Grant.ID != "1" {
		t.Errorf("before it expires: %+v", d)
	}
	if d := set.Decide(noon, Query{Kind: SystemCommand, Argv: []string{"git"},
		Isolated: true}); !d.Allowed {
		t.Errorf("inside isolation: %+v", d)
	}
}

func TestPathsThatNobodyOpenedAreNotDecidedOn(t *testing.T) {
	set := mustSet(t, "file.read **")
	for _, path := range []string{"", "/a", "a/", "a//b", "a/./b", "./a", "..", "a/..", "a/../b",
		"a\x00", "\xff", "a/\xff", strings.Repeat("a", 5000)} {
		if set.Decide(noon, Query{Kind: FileRead, Resource: path}).Allowed {
			t.Errorf("%q is allowed", path)
		}
	}
	for _, path := range []string{".", "a", "...", "a/..b", "a/b.", "é"} {
		if !set.Decide(noon, Query{Kind: FileRead, Resource: path}).Allowed {
			t.Errorf("%q is refused", path)
		}
	}
}

func TestSetsOfGrantsThatAreNotValidAreNone(t *testing.T) {
	set, err := NewSet(
		Grant{ID: "good", Permission: Permission{Type: FileRead, Resource: "a"}},
		Grant{ID: "bad1", Permission: Permission{Type: FileRead, Resource: "/a"}},
		Grant{ID: "bad2", Permission: Permission{Type: "file", Resource: "a"}})
	if set != nil || err == nil || !strings.Contains(err.Error(), "grant bad1: ") ||
		!strings.Contains(err.Error(), "grant bad2: ") || strings.Contains(err.Error(), "good") {
		t.Errorf("%v, %v", set, err)
	}
}

func TestSetsDoNotChangeWithWhatTheyWereMadeOf(t *testing.T) {
	grants := []Grant{{ID: "1", Permission: Permission{Type: FileRead, Resource: "a"}}}
	set, err := NewSet(grants...)
	if err != nil {
		t.Fatal(err)
	}
	grants[0].Expires = noon
	set.Grants()[0].Expires = noon
	if !set.Decide(noon, Query{Kind: FileRead, Resource: "a", Isolated: true}).Allowed {
		t.Error("a set was changed from outside")
	}
}

func TestRevokingOnePatternLeavesTheOthers(t *testing.T) {
	set := mustSet(t, "file.read public/**", "file.read public/a", "file.read public/*",
		"file.write public/**", `system.command "git log"`, "net.connect example.com")
	ids := func(grants []Grant) string {
		out := ""
		for _, g := range grants {
			out += g.ID
		}
		return out
	}
	for _, c := range []struct{ kind, resource, kept, revoked string }{
		{FileRead, "public/**", "23456", "1"},
		{FileRead, "public/a", "13456", "2"},
		{FileRead, "", "456", "123"},
		{FileRead, "public", "123456", ""},
		{FileRead, "/public/**", "123456", ""},
		{SystemCommand, `["git","log"]`, "12346", "5"},
		{NetConnect, "EXAMPLE.com.", "12345", "6"},
		{"file.reads", "", "123456", ""},
		{"", "", "123456", ""},
	} {
		kept, revoked := Revoke(set.Grants(), c.kind, c.resource)
		if ids(kept) != c.kept || ids(revoked) != c.revoked {
			t.Errorf("%s %s: kept %s, revoked %s", c.kind, c.resource, ids(kept), ids(revoked))
		}
	}
}

func TestTheLeastIsAPublicFolderAndEcho(t *testing.T) {
	set, err := NewSet(Default(Minimal("public")...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query Query
		want  string
	}{
		{Query{Kind: FileRead, Resource: "public/a/b"}, "default:1"},
		{Query{Kind: SystemCommand, Argv: []string{"echo", "a", "; rm"}}, "default:2"},
		{Query{Kind: FileRead, Resource: "private"}, ""},
		{Query{Kind: FileWrite, Resource: "public/a"}, ""},
		{Query{Kind: SystemCommand, Argv: []string{"/tmp/echo"}}, ""},
	} {
		if set.Decide(noon, c.query).Allowed {
			t.Errorf("%+v is allowed outside isolation", c.query)
		}
		c.query.Isolated = true
		if d := set.Decide(noon, c.query); d.Allowed != (c.want != "") || d.Allowed &&
			d.Grant.ID != c.want {
			t.Errorf("%+v: %+v", c.query, d)
		}
	}
}

func TestPermissionsAreRestrictedUnlessTheySayOtherwise(t *testing.T) {
	for text, want := range map[string]Unrestricted{
		`{"type":"db.read","resource":"a"}`:                      false,
		`{"type":"db.read","resource":"a","restricted":null}`:    false,
		`{"type":"db.read","resource":"a","restricted":true}`:    false,
		`{"type":"db.read","resource":"a","unrestricted":true}`:  false,
		`{"type":"db.read","resource":"a","restricted":false}`:   true,
		`{"type":"db.read","resource":"a","parameters":{"k":1}}`: false,
	} {
		p := Permission{Unrestricted: true}
		if !strings.Contains(text, `"restricted"`) {
			p.Unrestricted = false
		}
		var g Grant
		if err := errors.Join(json.Unmarshal([]byte(text), &p),
			json.Unmarshal([]byte(text), &g)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if p.Unrestricted != want || g.Unrestricted != want || !p.Equal(g.Permission) {
			t.Errorf("%s: %s and %s", text, p, g)
		}
		if data, err := json.Marshal(g); err != nil || !strings.Contains(string(data),
			fmt.Sprintf(`"restricted":%t`, !want)) || strings.Contains(string(data), "params") {
			t.Errorf("%s, %v", data, err)
		}
	}
	literal := Grant{ID: "1", Permission: Permission{Type: "db.read", Resource: "a"}}
	set, err := NewSet(literal)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []Query{{Kind: "db.read", Resource: "a"},
		{Kind: "db.read", Resource: "a", Isolated: true}} {
		if got := set.Decide(noon, query); got.Allowed != query.Isolated ||
			!query.Isolated && got.Cause != Restricted {
			t.Errorf("%+v: %+v", query, got)
		}
	}
}

// A dropped parameter would widen: the name of earlier versions is an error.
func TestParametersOfTheEarlierNameAreRefused(t *testing.T) {
	for _, params := range []string{`{"k":"v"}`, `{}`, `{"k":1}`} {
		text := []byte(`{"type":"db.read","resource":"a","params":` + params + `}`)
		for _, into := range []any{new(Permission), new(Grant), new(Request)} {
			if err := json.Unmarshal(text, into); err == nil ||
				!strings.Contains(err.Error(), `rename "params" of a permission to "parameters"`) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestParametersAreCanonicalJSON(t *testing.T) {
	deep := strings.Repeat("[", maxDepth) + "1" + strings.Repeat("]", maxDepth)
	for text, want := range map[string]string{
		` 1 `: `1`, `1.0`: `1.0`, `-0`: `-0`, `1e999`: `1e999`,
		`123456789012345678901234567890`: `123456789012345678901234567890`,
		`null`:                           `null`, `true`: `true`, `""`: `""`,
		`"\u0041\/<\u003c"`:                  `"A/<<"`,
		`[1, [ ], {}]`:                       `[1,[],{}]`,
		`{"b" : 1, "a": {"d":null,"c":"é"}}`: `{"a":{"c":"é","d":null},"b":1}`,
		deep:                                 deep,
		"":                                   "", "nul": "", `"a`: "", `1 2`: "",
		`{"a":1,"a":1}`: "", `{"a":1,"\u0061":1}`: "",
		`{"x":[{"a":1,"b":2,"a":1}]}`: "", "\"\xff\"": "", `"\u0000"`: "", `{"\u0000":1}`: "",
		"[" + deep + "]": "", `"` + strings.Repeat("a", maxValue-1) + `"`: "",
		// The text of an earlier version with the longest JSON, and another spelling of it.
		`"` + strings.Repeat(`\"`, pattern.MaxLength) + `"`: `"` +
			strings.Repeat(`\"`, pattern.MaxLength) + `"`,
		`"` + strings.Repeat(`\u0022`, pattern.MaxLength) + `"`: `"` +
			strings.Repeat(`\"`, pattern.MaxLength) + `"`,
	} {
		p := Permission{Type: "db.read", Resource: "a",
			Parameters: map[string]json.RawMessage{"k": json.RawMessage(text)}}
		err := p.Validate()
		if (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(),
			`parameter "k": `) {
			t.Errorf("%.100s: %v", text, err)
		} else if got := string(p.Canonical().Parameters["k"]); err == nil && got != want {
			t.Errorf("%s is %s", text, got)
		}
		if string(p.Parameters["k"]) != text {
			t.Errorf("%s was changed", text)
		}
		if back, err2 := Parse(p.String()); err == nil && (err2 != nil || !back.Equal(p)) {
			t.Errorf("%s: %v", p, err2)
		}
	}
}

func TestGrantsAndRequestsGoThroughJSON(t *testing.T) {
	p := Permission{Type: NetConnect, Resource: "a:80",
		Parameters: texts(map[string]string{"a": "b"})}
	g := Grant{ID: "1", Permission: p, Issuer: "i", Client: "c", By: "b", Reason: "r",
		Created: noon, Expires: noon.Add(1)}
	r := Request{ID: "2", Permission: p, Client: "c", Reason: "r", Status: Open, Created: noon}
	data, err := json.Marshal([]any{g, r})
	if err != nil {
		t.Fatal(err)
	}
	var g2 Grant
	var r2 Request
	if err := json.Unmarshal(data, &[]any{&g2, &r2}); err != nil || !reflect.DeepEqual(g, g2) ||
		!reflect.DeepEqual(r, r2) {
		t.Errorf("%s: %+v %+v %v", data, g2, r2, err)
	}
	if !strings.Contains(string(data),
		`"type":"net.connect","resource":"a:80","restricted":true,"parameters":{"a":"b"}`) {
		t.Errorf("%s", data)
	}
}

func TestSetsDecideAsTheirGrantsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var grants []Grant
		for i := range rapid.IntRange(0, 12).Draw(t, "grants") {
			g := Grant{ID: fmt.Sprint(i), Permission: genPermission(t, kinds.Draw(t, "kind"))}
			if rapid.Bool().Draw(t, "expires") {
				g.Expires = noon.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "when")))
			}
			grants = append(grants, g)
		}
		set, err := NewSet(grants...)
		if err != nil {
			t.Fatal(err)
		}
		from := genPermission(t, kinds.Draw(t, "kind"))
		if len(grants) > 0 && rapid.IntRange(0, 3).Draw(t, "likely") > 0 {
			from = rapid.SampledFrom(grants).Draw(t, "from").Permission
		}
		query := Query{Kind: from.Type, Isolated: rapid.Bool().Draw(t, "isolated")}
		query.Resource, query.Argv = within(t, from)
		if pattern.FamilyOf(query.Kind) == pattern.Paths && query.Resource == "" {
			query.Resource = "."
		}
		var want *Grant
		for i := range grants {
			g := &grants[i]
			resource := query.Resource
			if pattern.FamilyOf(g.Type) == pattern.Paths && resource == "." {
				resource = ""
			}
			usable := g.Type == query.Kind && (g.Expires.IsZero() || g.Expires.After(noon)) &&
				bool(g.Unrestricted || Unrestricted(query.Isolated))
			if pattern.FamilyOf(g.Type) == pattern.Paths && !pattern.CanonicalPath(resource) ||
				pattern.FamilyOf(g.Type) == pattern.Commands &&
					(len(query.Argv) == 0 || !pattern.ProgramName(query.Argv[0])) ||
				pattern.FamilyOf(g.Type) == pattern.Customs && resource == "" {
				usable = false
			}
			if usable && matches(t, g.Permission, resource, query.Argv) {
				want = g
				break
			}
		}
		d := set.Decide(noon, query)
		if d.Allowed != (want != nil) || want != nil && d.Grant.ID != want.ID {
			t.Fatalf("%+v: %+v, want %+v", query, d, want)
		}
	})
}

// hundred is a set of 100 grants, and queries that its last ones allow.
func hundred(t testing.TB) (*Set, map[string]Query) {
	var lines []string
	for i := range 25 {
		lines = append(lines,
			fmt.Sprintf("file.read public/team%d/**", i),
			fmt.Sprintf("file.read **/reports%d/*.csv", i),
			fmt.Sprintf(`system.command "tool%d run *"`, i),
			fmt.Sprintf("net.connect *.host%d.example.com:443", i))
	}
	return mustSet(t, lines...), map[string]Query{
		"prefix":  {Kind: FileRead, Resource: "public/team24/some/folder/deep/down/readme.md"},
		"glob":    {Kind: FileRead, Resource: "work/some/folder/reports24/of-the-year.csv"},
		"none":    {Kind: FileRead, Resource: "work/some/folder/deep/down/of-the-year.csv"},
		"command": {Kind: SystemCommand, Argv: []string{"tool24", "run", "all"}},
		"host":    {Kind: NetConnect, Resource: "api.host24.example.com:443"},
	}
}

func TestDecisionsAllocateNothing(t *testing.T) {
	set, queries := hundred(t)
	for name, query := range queries {
		if d := set.Decide(noon, query); d.Allowed != (name != "none") {
			t.Errorf("%s: %+v", name, d)
		}
		if n := testing.AllocsPerRun(100, func() { set.Decide(noon, query) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkDecideWithAHundredGrants(b *testing.B) {
	set, queries := hundred(b)
	for _, name := range []string{"prefix", "glob", "none", "command", "host"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Decide(noon, queries[name])
			}
		})
	}
}

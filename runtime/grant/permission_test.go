package grant

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// matches decides on a resource by the compiled pattern alone.
func matches(t interface{ Fatalf(string, ...any) }, p Permission, resource string,
	argv []string) bool {
	_, compiled, err := p.validate()
	if err != nil {
		t.Fatalf("%v", err)
	}
	switch c := compiled.(type) {
	case *pattern.Path:
		return c.Match(resource)
	case *pattern.Command:
		return c.Match(argv)
	case *pattern.Host:
		e, problem := pattern.ParseEndpoint(resource)
		return problem == "" && c.Match(e)
	case *pattern.Custom:
		return c.Match(resource)
	}
	t.Fatalf("%T", compiled)
	return false
}

func TestPathPatternsMatchWholeSegments(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not []string
	}{
		{"public/**", []string{"public", "public/a", "public/a/b", "public/.hidden"},
			[]string{"", "publicity", "public2/a", "Public/a", "x/public/a"}},
		{"public/*", []string{"public/a", "public/..."}, []string{"public", "public/a/b"}},
		{"public/*.md", []string{"public/a.md", "public/.md"},
			[]string{"public/a.MD", "public/a.md.", "public/a.md ", "public/a/b.md"}},
		{"public/?", []string{"public/a", "public/é", "public/\xff"},
			[]string{"public/ab", "public/e\u0301"}},
		{"public/[^a]", []string{"public/b", "public/\xff"}, []string{"public/a", "public/",
			"public/b/c"}},
		{"public/[^x]etc", []string{"public/aetc"}, []string{"public/etc", "public//etc"}},
		{"public/**/a", []string{"public/a", "public/x/a", "public/x/y/a"},
			[]string{"a", "public/a/b", "public/xa"}},
		{"**/secret/*", []string{"secret/a", "x/secret/a"}, []string{"secret", "xsecret/a"}},
		{"**", []string{"", "a", "a/b"}, nil},
		{".", []string{""}, []string{"a"}},
		{`public/\*`, []string{"public/*"}, []string{"public/a"}},
		{`public/[\-\]a-c\[]`, []string{"public/-", "public/]", "public/b", "public/["},
			[]string{`public/\`, "public/d"}},
		{"public/caf\u00e9", []string{"public/caf\u00e9"}, []string{"public/cafe\u0301",
			"public/CAF\u00c9"}},
		{"a/**/b/**/c", []string{"a/b/c", "a/x/b/y/z/c", "a/b/b/c/c"}, []string{"a/c/b", "a/b/cc"}},
		{"a*b*c/d", []string{"abc/d", "axbxbxc/d"}, []string{"a/bc/d", "abcc"}},
	} {
		p := Permission{Type: FileRead, Resource: c.pattern}
		for _, name := range c.yes {
			if !matches(t, p, name, nil) {
				t.Errorf("%s does not match %q", c.pattern, name)
			}
		}
		for _, name := range c.not {
			if matches(t, p, name, nil) {
				t.Errorf("%s matches %q", c.pattern, name)
			}
		}
	}
}

func TestCommandPatternsMatchArgumentsAndNeverALine(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not [][]string
	}{
		{"git *", [][]string{{"git", "status"}, {"git", "status; rm -rf /"}, {"git", ""}},
			[][]string{{"git"}, {"git", "status;", "rm"}, {"git", "status", ";", "rm", "-rf", "/"},
				{"/tmp/git", "status"}, {"git status; rm -rf /"}, {"Git", "status"}}},
		{"git", [][]string{{"git"}}, [][]string{{"git", "x"}, {"git "}}},
		{"git log **", [][]string{{"git", "log"}, {"git", "log", "a", "b"}},
			[][]string{{"git"}, {"git", "push"}}},
		{`["git","log","a b","*"]`, [][]string{{"git", "log", "a b", "x"}},
			[][]string{{"git", "log", "a", "b", "x"}}},
		{`["sh",""]`, [][]string{{"sh", ""}}, [][]string{{"sh"}, {"sh", "x"}}},
		{"tail -n[0-9] --file=*.log", [][]string{{"tail", "-n5", "--file=/a/b.log"}},
			[][]string{{"tail", "-nx", "--file=a.log"}}},
		{"/usr/bin/*", [][]string{{"/usr/bin/git"}}, [][]string{{"/usr/bin/x/git"}, {"git"},
			{"/usr/bin/git", "a"}}},
		{"/bin/g?t", [][]string{{"/bin/git"}}, [][]string{{"/bin/g/t"}}},
		{"/bin/g[^a]t", [][]string{{"/bin/git"}}, [][]string{{"/bin/g/t"}, {"/bin/gat"}}},
		{"git*", [][]string{{"git"}, {"git-x"}}, [][]string{{"git/../rm"}}},
		{"* **", [][]string{{"git", "a"}}, [][]string{{"/bin/sh"}}},
		{"**", [][]string{{"git", "a"}, {"/bin/sh"}}, nil},
		{`echo \*`, [][]string{{"echo", "*"}}, [][]string{{"echo", "a"}}},
	} {
		p := Permission{Type: SystemCommand, Resource: c.pattern}
		for _, argv := range c.yes {
			if !matches(t, p, "", argv) {
				t.Errorf("%s does not match %q", c.pattern, argv)
			}
		}
		for _, argv := range c.not {
			if matches(t, p, "", argv) {
				t.Errorf("%s matches %q", c.pattern, argv)
			}
		}
	}
}

func TestHostPatternsMatchNamesByNameAndAddressesByAddress(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not []string
	}{
		{"example.com", []string{"example.com", "EXAMPLE.com.", "example.com:1",
			"https://example.com/x?y=@", "http://example.com:8080"}, []string{"www.example.com",
			"example.com.evil", "badexample.com", "1.2.3.4", ""}},
		{"Example.COM:443", []string{"example.com:443", "https://example.com", "example.com"},
			[]string{"example.com:80", "http://example.com", "http://example.com:443@evil.com/",
				"https://evil.com\\@example.com"}},
		{"example.com:80-90", []string{"example.com:80", "example.com:90"},
			[]string{"example.com:79", "example.com:91"}},
		{"*.example.com", []string{"a.example.com"}, []string{"example.com", "a.b.example.com",
			"aexample.com", ".example.com"}},
		{"**.example.com", []string{"a.example.com", "a.b.example.com"},
			[]string{"example.com", "example.com.evil"}},
		{"**", []string{"localhost", "a.b"}, []string{"1.2.3.4", "::1", "[::1]:80", "127.1",
			"0x7f.1", "0x7f000001", "2130706433", "127.0.0.1.", "017700000001"}},
		{"*", []string{"localhost"}, []string{"a.b"}},
		{"10.0.0.0/8", []string{"10.1.2.3", "10.1.2.3:80", "::ffff:10.0.0.1",
			"[::ffff:10.0.0.1]:80"}, []string{"11.0.0.1", "ten.example", "::1", "[10.0.0.1]:80"}},
		{"10.0.0.0/8:443", []string{"10.1.2.3:443"}, []string{"10.1.2.3:80"}},
		{"127.0.0.1", []string{"127.0.0.1", "http://127.0.0.1/"},
			[]string{"127.0.0.2", "localhost"}},
		{"[2001:db8::/32]:443", []string{"[2001:db8::5]:443", "https://[2001:db8::5]/"},
			[]string{"[2001:db9::5]:443", "[2001:db8::5]:80", "[2001:db8::5%eth0]:443",
				"2001:db8::5:443x"}},
		{"::1", []string{"::1", "[::1]:80", "[::1]"}, []string{"127.0.0.1", "[::1", "[::1]x",
			"[::1]:", "[::1]:0"}},
		{"::/0", []string{"::1"}, []string{"1.2.3.4", "::ffff:1.2.3.4"}},
		{"xn--bcher-kva.example", []string{"XN--bcher-kva.example"},
			[]string{"b\u00fccher.example"}},
	} {
		p := Permission{Type: NetConnect, Resource: c.pattern}
		for _, host := range c.yes {
			if !matches(t, p, host, nil) {
				t.Errorf("%s does not match %q", c.pattern, host)
			}
		}
		for _, host := range c.not {
			if matches(t, p, host, nil) {
				t.Errorf("%s matches %q", c.pattern, host)
			}
		}
	}
}

func TestCustomKindsKnowNoPaths(t *testing.T) {
	p := Permission{Type: "db.table.read", Resource: "sales.*"}
	for resource, want := range map[string]bool{"sales.a": true, "sales.a/b.c": true,
		"sales.": true, "sales": false, "Sales.a": false, "xsales.a": false} {
		if matches(t, p, resource, nil) != want {
			t.Errorf("%q: %v", resource, !want)
		}
	}
}

func TestErrorsOfPermissionsTeach(t *testing.T) {
	for _, c := range []struct {
		p       Permission
		offset  int
		message string
	}{
		{Permission{Type: FileRead}, 0, "it is empty"},
		{Permission{Type: FileRead, Resource: "/etc"}, 0, "absolute"},
		{Permission{Type: FileRead, Resource: "a//b"}, 2, "segment is empty"},
		{Permission{Type: FileRead, Resource: "a/"}, 2, "segment is empty"},
		{Permission{Type: FileRead, Resource: "a/../b"}, 2, "segment .."},
		{Permission{Type: FileRead, Resource: "a/./b"}, 2, "segment ."},
		{Permission{Type: FileRead, Resource: `a/\.`}, 2, "a segment is not a file name"},
		{Permission{Type: FileRead, Resource: "a/**/**"}, 5, "write it once"},
		{Permission{Type: FileRead, Resource: "a/**b"}, 2, "must be a whole segment"},
		{Permission{Type: FileRead, Resource: "a/{b,c}"}, 2, "braces"},
		{Permission{Type: FileRead, Resource: "a/[b/c]"}, 4, "not closed"},
		{Permission{Type: FileRead, Resource: "a/[!b]"}, 3, "write \"^\" to negate a class"},
		{Permission{Type: FileRead, Resource: "a/[]"}, 3, "class is empty"},
		{Permission{Type: FileRead, Resource: "a/[b-]"}, 5, "range has no end"},
		{Permission{Type: FileRead, Resource: "a/[b-"}, 5, "range has no end"},
		{Permission{Type: FileRead, Resource: "a/[b-["}, 5, "range has no end"},
		{Permission{Type: FileRead, Resource: "a/[c-a]"}, 6, "a range is reversed"},
		{Permission{Type: FileRead, Resource: "a/[-a]"}, 3, "characters and ranges"},
		{Permission{Type: FileRead, Resource: `a/[\`}, 4, "characters and ranges"},
		{Permission{Type: FileRead, Resource: `a/b\`}, 3, "backslash"},
		{Permission{Type: FileRead, Resource: "a/\\\x00"}, 3, "other than NUL"},
		{Permission{Type: FileRead, Resource: "a/\x00"}, 2, "NUL"},
		{Permission{Type: FileRead, Resource: "a/\xff"}, 2, "not UTF-8"},
		{Permission{Type: FileRead, Resource: strings.Repeat("a", 5000)}, 4096, "longer than 4096"},
		{Permission{Type: SystemCommand, Resource: "git status; rm -rf /"}, 10,
			"does not run in a shell"},
		{Permission{Type: SystemCommand, Resource: "echo 'a b'"}, 5, "does not run in a shell"},
		{Permission{Type: SystemCommand, Resource: "git ** log"}, 4, "write it last"},
		{Permission{Type: SystemCommand, Resource: "bin/git log"}, 0, "absolute path"},
		{Permission{Type: SystemCommand, Resource: "echo a**"}, 6, "must be a whole segment"},
		{Permission{Type: SystemCommand, Resource: "[1]"}, 0, "JSON array"},
		{Permission{Type: SystemCommand, Resource: "[]"}, 0, "the program is missing"},
		{Permission{Type: SystemCommand, Resource: `[""]`}, 0, "absolute path"},
		{Permission{Type: SystemCommand, Resource: "  "}, 0, "the program is missing"},
		{Permission{Type: NetConnect, Resource: "example.com:0"}, 12, "1 to 65535"},
		{Permission{Type: NetConnect, Resource: "example.com:90-80"}, 12, "a range of ports is reversed"},
		{Permission{Type: NetConnect, Resource: "*example.com"}, 0, "whole labels"},
		{Permission{Type: NetConnect, Resource: "a.*.com"}, 0, "whole labels"},
		{Permission{Type: NetConnect, Resource: "*.b\u00fccher.example"}, 2, "Punycode"},
		{Permission{Type: NetConnect, Resource: "10.0.0.1/8"}, 0, "begins at 10.0.0.0/8"},
		{Permission{Type: NetConnect, Resource: "10.0.0.0/99"}, 0, "it is not a range of addresses"},
		{Permission{Type: NetConnect, Resource: "::ffff:10.0.0.0/104"}, 0,
			"it is an IPv4 address inside IPv6"},
		{Permission{Type: NetConnect, Resource: "fe80::1%eth0"}, 0, "zone"},
		{Permission{Type: NetConnect, Resource: "127.1"}, 0, "ends in a number"},
		{Permission{Type: NetConnect, Resource: "a.0x7f"}, 0, "ends in a number"},
		{Permission{Type: NetConnect, Resource: "a..b"}, 0, "1 to 63"},
		{Permission{Type: NetConnect, Resource: "a b"}, 0, "letters, digits"},
		{Permission{Type: NetConnect, Resource: "*."}, 2, "name is empty"},
		{Permission{Type: NetConnect, Resource: strings.Repeat("a.", 127) + "com"}, 0, "253"},
		{Permission{Type: NetConnect, Resource: "[::1"}, 0, "not closed"},
		{Permission{Type: NetConnect, Resource: "[::1]80"}, 5, "no port"},
		{Permission{Type: NetConnect, Resource: "[example.com]:80"}, 1, "an IPv6 address"},
		{Permission{Type: NetConnect, Resource: "https://example.com/x"}, 0,
			"it is a URL; write host and port, for example example.com:443"},
		{Permission{Type: NetConnect, Resource: "file:///etc"}, 0,
			"it is a URL; write host and port, for example example.com:443"},
		{Permission{Type: NetConnect, Resource: "example.com/x"}, 11,
			"a host does not contain a path; write host and port, for example example.com:443"},
		{Permission{Type: NetConnect, Resource: "example.com:443/x:1"}, 15,
			"a host does not contain a path; write host and port, for example example.com:443"},
	} {
		err := c.p.Validate()
		var wrong *pattern.Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", c.p.Resource, err)
			continue
		}
		if wrong.Offset != c.offset || !strings.Contains(err.Error(), c.message) || wrong.Cure == "" {
			t.Errorf("%q: at %d: %v", c.p.Resource, wrong.Offset, err)
		}
	}
	for _, p := range []Permission{
		{Type: "file.raed", Resource: "a"}, {Type: "file.read.all", Resource: "a"},
		{Type: "net.listen", Resource: "a"}, {Type: "system.comand", Resource: "a"},
		{Type: "file", Resource: "a"}, {Type: "File.read", Resource: "a"},
		{Type: "file..read", Resource: "a"}, {Type: "file.re ad", Resource: "a"},
		{Type: strings.Repeat("a.", 100) + "b", Resource: "a"},
		{Type: "db.read", Resource: "a", Parameters: map[string]json.RawMessage{"": []byte("1")}},
		{Type: "db.read", Resource: "a", Parameters: map[string]json.RawMessage{
			"a b": []byte("1")}},
		{Type: "db.read", Resource: "a", Parameters: map[string]json.RawMessage{
			"a": []byte(`"\u0000"`)}},
	} {
		if err := p.Validate(); err == nil {
			t.Errorf("%+v is valid", p)
		} else if p.Covers(p) || (Permission{Type: p.Type, Resource: "*"}).Covers(p) {
			t.Errorf("%+v is covered", p)
		}
	}
}

func TestKindsNearTheRuntimesOwnAreItsOwnOrNone(t *testing.T) {
	for kind, message := range map[string]string{
		"file.raed":     `type "file.raed": the only kinds of file. are file.read and file.write`,
		"file.read.all": "the only kinds of file. are file.read and file.write",
		"system.shell":  "the only kind of system. is system.command",
		"net.listen":    "the only kind of net. is net.connect",
	} {
		if err := (Permission{Type: kind, Resource: "a"}).Validate(); err == nil ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for _, kind := range []string{"db.read", "a.z", "z.a", "files.read", "filesystem.read",
		"network.connect", "systems.command", "my.file.read"} {
		if err := (Permission{Type: kind, Resource: "a"}).Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestLinesThatAreNoPermissionAreRefused(t *testing.T) {
	for _, line := range []string{
		"", "file.read", "file.read a", "file.read a b", `file.read "a restricted`,
		"file.read a`b restricted", `file.read "a"b restricted`, "file.read restricted",
		"file.read a restricted restricted", "file.read a restricted unrestricted",
		"db.read a x=1 x=2", "db.read a restricted x=1 x=2", "db.read a restricted x=1 x:=2",
		`file.read a "restricted"`, "file.read a restricted=x", "db.read a restricted =1",
		"db.read a restricted :=1", "db.read a restricted x:=y", "db.read a restricted x:=",
		"db.read a x=1 restricted", "db.read a Restricted", "file.read a unrestricted x=1",
		"system.command git log restricted", "file.read /etc restricted",
	} {
		if p, err := Parse(line); err == nil {
			t.Errorf("%q is %+v", line, p)
		}
	}
	for line, want := range map[string]string{
		`file.read "a"b restricted`: "no space follows",
		"file.read a`b restricted":  "are not closed",
	} {
		if _, err := Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestPermissionsAreKeptInOneCanonicalForm(t *testing.T) {
	written := Permission{Type: "net.connect", Resource: "EXAMPLE.com.:443-443"}
	g, err := Grant{Permission: written, Client: "c"}.Keepable(time.Now())
	if err != nil || g.Resource != "example.com:443" {
		t.Errorf("%q, %v", g.Resource, err)
	}
	r, err := Request{Permission: written, Client: "c", Reason: "r"}.Keepable(time.Now())
	if err != nil || r.Resource != "example.com:443" {
		t.Errorf("%q, %v", r.Resource, err)
	}
}

func TestPermissionsArePrintedInOneCanonicalForm(t *testing.T) {
	for line, want := range map[string]string{
		"file.read  public/** unrestricted":                         "file.read public/** unrestricted",
		"file.read\t\"public/my docs/*\" restricted":                `file.read "public/my docs/*" restricted`,
		"net.connect EXAMPLE.com.:443 restricted":                   "net.connect example.com:443 restricted",
		"db.read t restricted b=2 a=\"x y\"":                        `db.read t restricted a="x y" b=2`,
		"net.connect [2001:DB8::1]:80-80 restricted":                "net.connect [2001:db8::1]:80 restricted",
		"net.connect [::1]  restricted ":                            "net.connect ::1 restricted",
		"net.connect 10.0.0.0/8:1-2 restricted":                     "net.connect 10.0.0.0/8:1-2 restricted",
		"net.connect **.Example.com restricted":                     "net.connect **.example.com restricted",
		"net.connect *:80 restricted":                               "net.connect *:80 restricted",
		"net.connect ** restricted":                                 "net.connect ** restricted",
		"system.command `[\"git\", \"log\", \"*\"]` restricted":     `system.command "git log *" restricted`,
		"system.command `[\"echo\",\"a b\",\"<\"]` restricted":      "system.command `[\"echo\",\"a b\",\"<\"]` restricted",
		"system.command `[\"[ab]x\"]` restricted":                   "system.command `[\"[ab]x\"]` restricted",
		"db.read \"\\n\" restricted q=\"\"":                         `db.read "\n" restricted q=""`,
		"db.read a=b unrestricted restricted=x":                     `db.read a=b unrestricted restricted=x`,
		"db.read t restricted c:=`{\"b\": 1.0, \"a\":[ ]}`":         "db.read t restricted c:=`{\"a\":[],\"b\":1.0}`",
		"db.read t restricted c:=1e400 b:=null a:=`\"x\"`":          `db.read t restricted a=x b:=null c:=1e400`,
		"db.read t restricted c=null d=1 e:=\"\\\"<\\\\u0026\\\"\"": `db.read t restricted c=null d=1 e=<&`,
	} {
		p, err := Parse(line)
		if err != nil {
			t.Error(err)
		} else if p.String() != want {
			t.Errorf("%q is printed as %s", line, p)
		}
	}
	if got := (Permission{Type: "x", Resource: "a b", Parameters: map[string]json.RawMessage{
		"k": []byte("\u202e")}}).String(); got != `x "a b" restricted k:="\u202e"` {
		t.Errorf("what is not valid is printed as %s", got)
	}
}

// texts are parameters that are strings.
func texts(of map[string]string) map[string]json.RawMessage {
	parameters := map[string]json.RawMessage{}
	for key, text := range of {
		parameters[key], _ = json.Marshal(text)
	}
	return parameters
}

func TestPermissionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPermission(t, kinds.Draw(t, "kind"))
		line := p.String()
		if strings.ContainsAny(line, "\n\r") {
			t.Fatalf("%q is more than a line", line)
		}
		back, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(p) || back.String() != line || back.Resource != p.Canonical().Resource ||
			!maps.EqualFunc(back.Parameters, p.Canonical().Parameters, slices.Equal) {
			t.Fatalf("%+v became %+v by %s", p, back, line)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again Permission
		if err := json.Unmarshal(data, &again); err != nil || !again.Equal(p) {
			t.Fatalf("%s: %+v, %v", data, again, err)
		}
		if !p.Covers(back) || !back.Covers(p) {
			t.Fatalf("%s does not cover itself", line)
		}
	})
}

func TestAnythingThatParsesPrintsAsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Permission{Type: rapid.SampledFrom([]string{FileWrite, "db.x", SystemCommand}).Draw(t,
			"kind"), Resource: rapid.String().Draw(t, "resource"),
			Parameters: texts(map[string]string{"k": rapid.String().Draw(t, "value")})}
		if p.Validate() != nil {
			return
		}
		if back, err := Parse(p.String()); err != nil || !back.Equal(p) {
			t.Fatalf("%q became %+v, %v", p.Resource, back, err)
		}
	})
}

// slowPath is the matcher of paths as a regular expression, made by another reading of the pattern.
func slowPath(pattern string) *regexp.Regexp {
	if pattern == "." {
		return regexp.MustCompile(`^$`)
	}
	var b strings.Builder
	for _, s := range strings.Split(pattern, "/") {
		if s == "**" {
			b.WriteString(`(?:[^/]+/)*`)
			continue
		}
		b.WriteString(slowGlob(s, `[^/]`) + "/")
	}
	return regexp.MustCompile(`(?s)^` + b.String() + `$`)
}

func slowGlob(pattern, one string) string {
	var b strings.Builder
	class, escaped := false, false
	for _, c := range pattern {
		switch {
		case escaped:
			escaped = false
			b.WriteString(regexp.QuoteMeta(string(c)))
		case c == '\\':
			escaped = true
		case class:
			class = c != ']'
			b.WriteRune(c)
		case c == '[':
			class = true
			b.WriteRune(c)
		case c == '*':
			b.WriteString(one + "*")
		case c == '?':
			b.WriteString(one)
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	// no class of these tests but for segments is negated over "/"
	return strings.ReplaceAll(b.String(), `[^`, `[^/`)
}

func genName(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c", "abb", "*",
		"é", "a b", "aab"}), 0, 5).Draw(t, "names"), "/")
}

func TestPathsMatchAsARegularExpressionDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, name := genPath(t), genName(t)
		p := Permission{Type: FileRead, Resource: text}
		folder := name
		if folder != "" {
			folder += "/"
		}
		if want := slowPath(text).MatchString(folder); matches(t, p, name, nil) != want {
			t.Fatalf("%s on %q: %v", text, name, !want)
		}
	})
}

func TestCoversIsFalseWhereAResourceIsOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := kinds.Draw(t, "kind")
		p, o := genPermission(t, kind), genPermission(t, kind)
		if !p.Covers(p) {
			t.Fatalf("%s does not cover itself", p)
		}
		if c := rapid.SampledFrom(pairs).Draw(t, "pair"); c.want && rapid.Bool().Draw(t, "of them") {
			p, o = Permission{Type: c.kind, Resource: c.a}, Permission{Type: c.kind, Resource: c.b}
		}
		if !p.Covers(o) {
			return
		}
		for range 20 {
			resource, argv := within(t, o)
			if matches(t, o, resource, argv) && !matches(t, p, resource, argv) {
				t.Fatalf("%s covers %s, and not %q %q", p, o, resource, argv)
			}
		}
		if bool(o.Unrestricted && !p.Unrestricted) {
			t.Fatalf("%s covers %s", p, o)
		}
	})
}

// pairs are patterns of which a covers b, or back.
var pairs = []struct {
	kind, a, b string
	want, back bool
}{
	{FileRead, "public/**", "public", true, false},
	{FileRead, "public/**", "public/**/*.md", true, false},
	{FileRead, "public/**", "publicity", false, false},
	{FileRead, "public/**", "**/public", false, false},
	{FileRead, "public/**/*", "public/*/**", true, true},
	{FileRead, "public/**/a", "public/x/**/a", true, false},
	{FileRead, "**", ".", true, false},
	{FileRead, "a/?*", "a/*?", true, true},
	{FileRead, "a/[a-z]", "a/[c-e]", true, false},
	{FileRead, "a/[^a]", "a/[b-z]", true, false},
	{FileRead, "a/*", "a/\\*", true, false},
	{FileRead, "a/*", "a/**", false, true},
	{SystemCommand, "git **", "git *", true, false},
	{SystemCommand, "git *", "git * *", false, false},
	{SystemCommand, "git *", "git", false, false},
	{SystemCommand, "**", "/bin/sh **", true, false},
	{SystemCommand, "* **", "/bin/sh **", false, false},
	{SystemCommand, "/bin/*", "/bin/[/a]sh", true, false},
	{SystemCommand, "/bin/*", "/bin/*/git", false, false},
	{SystemCommand, "*", "/bin/?h", false, false},
	{SystemCommand, "* *", "* ?*", true, false},
	{FileRead, "a/[abc]", "a/[a-c]", true, true},
	{SystemCommand, `["git","a b"]`, "git a b", false, false},
	{NetConnect, "**.example.com", "*.example.com:443", true, false},
	{NetConnect, "**.example.com", "*.a.example.com", true, false},
	{NetConnect, "**.example.com", "example.com", false, false},
	{NetConnect, "*", "**", false, true},
	{NetConnect, "**", "10.0.0.1", false, false},
	{NetConnect, "10.0.0.0/8", "10.1.0.0/16:80", true, false},
	{NetConnect, "a:80-90", "a:81", true, false},
	{"db.read", "*", "a/b", true, false},
	{"db.read", "a*b", "a*c*b", true, false},
}

func TestCoversFindsWhatIsMeant(t *testing.T) {
	for _, c := range pairs {
		a, b := Permission{Type: c.kind, Resource: c.a}, Permission{Type: c.kind, Resource: c.b}
		if a.Covers(b) != c.want || b.Covers(a) != c.back {
			t.Errorf("%s and %s: %v, %v", a, b, a.Covers(b), b.Covers(a))
		}
	}
	read := Permission{Type: FileRead, Resource: "**", Unrestricted: true}
	for _, o := range []Permission{{Type: FileWrite, Resource: "a"},
		{Type: "file.readx", Resource: "a"}} {
		if read.Covers(o) {
			t.Errorf("%s covers %s", read, o)
		}
	}
	rows := Permission{Type: "db.read", Resource: "*"}
	narrow := Permission{Type: "db.read", Resource: "*",
		Parameters: texts(map[string]string{"max": "1"})}
	if !rows.Covers(narrow) || narrow.Covers(rows) ||
		narrow.Covers(Permission{Type: "db.read", Resource: "a",
			Parameters: texts(map[string]string{"max": "2"})}) {
		t.Error("parameters do not narrow")
	}
	// What nobody would heed must not pass for less.
	if err := (Permission{Type: FileRead, Resource: "**",
		Parameters: narrow.Parameters}).Validate(); err == nil || !strings.Contains(err.Error(),
		"parameters: permissions on files, commands and hosts have none: remove them") {
		t.Error(err)
	}
	inside := Permission{Type: FileRead, Resource: "**"}
	if !read.Covers(inside) || inside.Covers(read) {
		t.Error("restricted permissions are not narrower")
	}
}

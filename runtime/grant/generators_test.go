package grant

import (
	"encoding/json"
	"strings"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

var (
	pathSegment = rapid.SampledFrom([]string{"a", "b", "ab", "*", "?", "a*", "*b", "?*", "*?", "a?",
		"[ab]", "[^a]", "[a-c]*", "*a*b", `\*`, "**", "é", "a b", "[^é]"})
	hostLabels = rapid.SampledFrom([]string{"a", "b", "c", "A-b"})
)

func genPath(t *rapid.T) string {
	var out []string
	for _, s := range rapid.SliceOfN(pathSegment, 1, 5).Draw(t, "segments") {
		if s == "**" && len(out) > 0 && out[len(out)-1] == "**" {
			continue
		}
		out = append(out, s)
	}
	return strings.Join(out, "/")
}

func genCustom(t *rapid.T) string {
	out := ""
	for _, s := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", ".", "*", "?",
		"[ab]", "[^a]", "[^/]", `\?`, "é"}), 1, 6).Draw(t, "signs") {
		if s != "*" || !strings.HasSuffix(out, "*") {
			out += s
		}
	}
	return out
}

func genCommand(t *rapid.T) string {
	words := []string{rapid.SampledFrom([]string{"git", "rm", "*", "g*", "[gr]*", "/bin/*",
		"/bin/g?t", "/*/git", "/bin/git"}).Draw(t, "program")}
	words = append(words, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "*", "a*", "*b", "?", "?*",
		"[^a]", "a b", "", ";", "[ab]*"}), 0, 3).Draw(t, "words")...)
	if rapid.Bool().Draw(t, "rest") {
		words = append(words, "**")
	}
	if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
		words = []string{"**"}
	}
	return pattern.CommandText(words)
}

func genHost(t *rapid.T) string {
	host := rapid.SampledFrom([]string{"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "0.0.0.0/0", "::/0",
		"[2001:db8::/32]", "[2001:db8::1]", "*", "**", "name", "*.name", "**.name"}).Draw(t, "form")
	if prefix, ok := strings.CutSuffix(host, "name"); ok {
		host = prefix + strings.Join(rapid.SliceOfN(hostLabels, 1, 3).Draw(t, "labels"), ".")
	}
	if strings.HasPrefix(host, ":") {
		return host
	}
	return host + rapid.SampledFrom([]string{"", ":80", ":443", ":80-443", ":1-65535",
		":81-90"}).Draw(t, "port")
}

func genPermission(t *rapid.T, kind string) Permission {
	p := Permission{Type: kind, Unrestricted: Unrestricted(rapid.Bool().Draw(t, "unrestricted"))}
	switch pattern.FamilyOf(kind) {
	case pattern.Paths:
		p.Resource = genPath(t)
	case pattern.Commands:
		p.Resource = genCommand(t)
	case pattern.Hosts:
		p.Resource = genHost(t)
	default:
		p.Resource = genCustom(t)
	}
	if pattern.FamilyOf(kind) == pattern.Customs && rapid.Bool().Draw(t, "with parameters") {
		p.Parameters = map[string]json.RawMessage{}
		for key, value := range rapid.MapOfN(rapid.SampledFrom([]string{"a", "b.c", "restricted"}),
			rapid.SampledFrom([]string{`""`, `"1"`, `"a b"`, `"\""`, `"="`, `"restricted"`, "1",
				"1.0",
				"-1e400", "true", "null", "[]", "{}", `{"b":[1,{"a":" "}],"a":"é"}`, `"null"`}),
			1, 2).Draw(t, "parameters") {
			p.Parameters[key] = json.RawMessage(value)
		}
	}
	return p
}

var kinds = rapid.SampledFrom([]string{FileRead, SystemCommand, NetConnect, "db.read"})

// within draws a resource that is likely to be in the pattern.
func within(t *rapid.T, p Permission) (string, []string) {
	fill := func(s string) string {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '*':
				b.WriteString(rapid.SampledFrom([]string{"", "a", "b", "ab", "é", "x/y", "git",
					"a.b"}).Draw(t, "run"))
			case '?':
				b.WriteString(rapid.SampledFrom([]string{"a", "b", "é", "/", "\xff"}).Draw(t,
					"one"))
			case '[':
				b.WriteString(rapid.SampledFrom([]string{"a", "b", "c", "g", "r", "é", "/",
					"\xff"}).Draw(t, "class"))
				i += strings.IndexByte(s[i:], ']')
			case '\\':
			default:
				b.WriteByte(s[i])
			}
		}
		return b.String()
	}
	switch pattern.FamilyOf(p.Type) {
	case pattern.Commands:
		compiled, _ := pattern.ParseCommand(p.Resource)
		var argv, words []string
		if strings.HasPrefix(compiled.Canonical(), "[") {
			_ = json.Unmarshal([]byte(compiled.Canonical()), &words)
		} else {
			words = strings.Fields(compiled.Canonical())
		}
		for _, w := range words {
			if w == "**" {
				argv = append(argv,
					rapid.SliceOfN(rapid.SampledFrom([]string{"git", "a", "b", "ab", "",
						"/bin/git"}), 0, 3).Draw(t, "rest")...)
				continue
			}
			argv = append(argv, fill(w))
		}
		if len(argv) == 0 {
			argv = []string{"git"}
		}
		return "", argv
	case pattern.Hosts:
		host, _, _ := strings.Cut(p.Resource, ":")
		switch {
		case strings.HasPrefix(p.Resource, "["), strings.HasPrefix(p.Resource, ":"):
			return rapid.SampledFrom([]string{"[2001:db8::1]:80", "[2001:db8::1]:443",
				"[2001:db8:1::]:85", "[::1]:80", "2001:db8::1"}).Draw(t, "address"), nil
		case strings.HasPrefix(p.Resource, "10.") || strings.HasPrefix(p.Resource, "0."):
			return rapid.SampledFrom([]string{"10.1.2.3:80", "10.1.2.3:443", "10.1.9.9:85",
				"10.9.9.9:80", "9.9.9.9:80", "10.1.2.3"}).Draw(t, "address"), nil
		}
		more := strings.Join(rapid.SliceOfN(hostLabels, 1, 3).Draw(t, "more"), ".")
		host = strings.Replace(strings.Replace(host, "**", more, 1), "*", "a", 1)
		return host + rapid.SampledFrom([]string{"", ":80", ":443", ":85", ":9999"}).Draw(t,
			"port"), nil
	case pattern.Paths:
		var out []string
		for _, s := range strings.Split(p.Resource, "/") {
			if s == "**" {
				out = append(out, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0,
					3).Draw(t, "deep")...)
			} else if s = strings.ReplaceAll(fill(s), "/", "a"); s != "" {
				out = append(out, s)
			}
		}
		return strings.Join(out, "/"), nil
	}
	return fill(p.Resource), nil
}

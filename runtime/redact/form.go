package redact

import "strings"

// keyForm is how well-known keys begin, and how many characters at least follow.
type keyForm struct {
	prefix string
	least  int
	of     *[256]bool
}

var (
	alphanumeric = set(func(c byte) bool { return letter[c] && c != '-' && c != '_' })
	capitals     = set(func(c byte) bool { return 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' })
	dotted       = set(func(c byte) bool { return letter[c] || c == '.' })
	// RFC 6750, section 2.1, and base64 of RFC 7617
	credential = set(func(c byte) bool { return letter[c] || strings.IndexByte("._~+/", c) >= 0 })
)

// keyForms are the documented prefixes of keys, by their first byte.
var keyForms = func() (by [256][]keyForm) {
	for _, group := range []struct {
		prefixes string
		least    int
		of       *[256]bool
	}{
		{"ghp_ gho_ ghu_ ghs_ ghr_ shpat_ shpss_ lin_api_ gsk_ hf_ dop_v1_ dckr_pat_", 20, &letter},
		{"github_pat_ glpat- gldt- glrt- glcbt- glptt- glsoat- tskey- sk-", 16, &letter},
		{"xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xapp- sk_live_ sk_test_ rk_live_ rk_test_ whsec_", 10, &letter},
		{"AIza pypi- GOCSPX- AGE-SECRET-KEY-1", 20, &letter},
		{"npm_", 30, &alphanumeric}, // npm_config_registry is a variable
		{"AKIA ASIA", 16, &capitals},
		{"ya29. hvs. hvb. SG.", 16, &dotted},
	} {
		for prefix := range strings.FieldsSeq(group.prefixes) {
			by[prefix[0]] = append(by[prefix[0]], keyForm{prefix, group.least, group.of})
		}
	}
	return by
}()

// form hides a secret that is known by its form and begins at i, and returns where the search goes on;
// i where there is none.
func (t *scanner) form(i int) int {
	s := t.s[i:]
	for _, k := range keyForms[s[0]] {
		if strings.HasPrefix(s, k.prefix) {
			if end := runEnd(s, len(k.prefix), k.of); end-len(k.prefix) >= k.least {
				return t.hide(i, i+end, Mask)
			}
		}
	}
	if n := t.jwt(i); n > 0 {
		return t.hide(i, i+n, Mask)
	}
	return i
}

// jwt is the length of the JWT at i (RFC 7515 and 7516, compact), or 0. Its header is a JSON object,
// whose base64url begins with eyJ.
func (t *scanner) jwt(i int) int {
	const shortest = len(`{"alg":""}`) * 4 / 3
	if !strings.HasPrefix(t.s[i:], "eyJ") || t.word-i < shortest || at(t.s, t.word) != '.' {
		return 0
	}
	return runEnd(t.s, t.word, &dotted) - i
}

// withoutPEM masks the PEM blocks (RFC 7468) of a text; one that is cut off, to the end of the text. They come
// before all else, for they alone go over several lines.
func withoutPEM(s string) string {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	from := strings.Index(s, begin)
	if from < 0 {
		return s
	}
	var out strings.Builder
	for ; from >= 0; from = strings.Index(s, begin) {
		out.WriteString(s[:from])
		out.WriteString(Mask)
		_, rest, _ := strings.Cut(s[from+len(begin):], end)
		_, s, _ = strings.Cut(rest, dashes)
	}
	out.WriteString(s)
	return out.String()
}

// schemes of HTTP whose credentials are one word.
var schemes = [...]string{"bearer", "basic", "dpop", "negotiate"}

func scheme(word string) bool {
	for _, known := range schemes {
		if strings.EqualFold(word, known) {
			return true
		}
	}
	return strings.EqualFold(word, "token") || strings.EqualFold(word, "digest")
}

// scheme hides the credential behind the name of a scheme that begins at i, and returns where the
// search goes on; i where there is none.
func (t *scanner) scheme(i int) int {
	switch t.s[i] {
	case 'B', 'b', 'D', 'd', 'N', 'n':
	default:
		return i
	}
	for _, known := range schemes {
		end := i + len(known)
		if end >= len(t.s) || !strings.EqualFold(t.s[i:end], known) {
			continue
		}
		from := skipSpaces(t.s, end)
		if from == end {
			return i
		}
		to := runEnd(t.s, from, &credential)
		padded := to
		for at(t.s, padded) == '=' {
			padded++
		}
		if prose(t.s[from:to]) || padded == to+1 && strings.Trim(t.s[from:to], "abcdefghijklmnopqrstuvwxyz_") == "" { // realm="…"
			return i
		}
		return t.hide(from, padded, Mask)
	}
	return i
}

// prose reports whether what follows the name of a scheme is a word of a sentence: short, and
// letters alone, none but the first a capital.
func prose(word string) bool {
	word = strings.TrimRight(word, ".")
	if len(word) < 4 || len(word) >= 20 {
		return len(word) < 4
	}
	for i := 0; i < len(word); i++ {
		if c := word[i]; (c < 'a' || c > 'z') && (i > 0 || c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// opaqueUser is from how many characters on a URL's user without a password is a token.
const opaqueUser = 20

// url hides the password of the URL whose authority begins at i (RFC 3986, section 3.2), and returns
// where the search goes on.
func (t *scanner) url(i int) int {
	if i >= t.runEnd {
		t.runEnd = i
		for t.runEnd < len(t.s) && t.s[t.runEnd] > ' ' && strings.IndexByte("\"<>`", t.s[t.runEnd]) < 0 {
			t.runEnd++
		}
		t.lastAt = i + strings.LastIndexByte(t.s[i:t.runEnd], '@')
	}
	if t.lastAt < i {
		return i
	}
	authority := t.s[i:t.runEnd]
	if end := strings.IndexAny(authority, `/?#\`); end >= 0 {
		authority = authority[:end]
	}
	user := strings.LastIndexByte(authority, '@')
	colon := strings.IndexByte(authority, ':')
	if user < 0 {
		// A password with one of /?# unescaped in it hides where the authority ends; a port has digits alone.
		if colon < 0 || authority[0] == '[' || strings.Trim(authority[colon+1:], "0123456789") == "" {
			return i
		}
		user = t.lastAt - i
	}
	if colon < 0 || colon > user {
		if user >= opaqueUser {
			return t.hide(i, i+user, Mask)
		}
		return i
	}
	return t.hide(i+colon+1, i+user, Mask)
}

// longestSource bounds how far back a data source name is looked for.
const longestSource = 256

// dataSource hides the password of user:password@tcp(host:port)/database, whose "@" stands at i.
func (t *scanner) dataSource(i int) {
	network := i + 1
	for network < len(t.s) && 'a' <= t.s[network] && t.s[network] <= 'z' {
		network++
	}
	switch t.s[i+1 : network] {
	case "tcp", "unix", "udp", "cloudsql":
	default:
		return
	}
	if at(t.s, network) != '(' {
		return
	}
	from := i
	for from > t.done && i-from < longestSource && t.s[from-1] > ' ' && strings.IndexByte("\"'`<>", t.s[from-1]) < 0 {
		from--
	}
	if colon := strings.IndexByte(t.s[from:i], ':'); colon >= 0 && t.s[from+colon+1:i] != Mask {
		t.hide(from+colon+1, i, Mask)
	}
}

package redact

import (
	"slices"
	"strings"
)

// keyForm is how well-known keys begin, and how many characters at least follow.
type keyForm struct {
	prefix string
	least  int
	of     *[256]bool
}

var (
	alphanumeric = set(func(c byte) bool { return letter[c] && c != '-' && c != '_' })
	capitals     = set(func(c byte) bool { return 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' })
	hex          = set(func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' })
	dotted       = set(func(c byte) bool { return letter[c] || c == '.' })
	// RFC 6750, section 2.1, and base64 of RFC 7617
	credential = set(func(c byte) bool { return letter[c] || strings.IndexByte("._~+/", c) >= 0 })
	escaped    = set(func(c byte) bool { return credential[c] || c == '%' || c == '=' })
)

// formsOf are the prefixes of keys that begin with one byte, and their second bytes, which exclude
// most words.
type formsOf struct {
	second [4]uint64
	forms  []keyForm
}

func (f *formsOf) may(second byte) bool { return f.second[second>>6]&(1<<(second&63)) != 0 }

// keyForms are the documented prefixes of keys, by their first byte. Keys that only identify, such
// as Stripe's published ones (pk_live_), are not secrets.
var keyForms = func() (by [256]formsOf) {
	for _, group := range []struct {
		prefixes string
		least    int
		of       *[256]bool
	}{
		// where code is kept and packages are published
		{"ghp_ gho_ ghu_ ghs_ ghr_ shpat_ shpss_ shpca_ shppa_ hf_ dckr_pat_ dckr_oat_ " +
			"rubygems_ CFPAT- PMAK- atlasv1.", 20, &letter},
		{"github_pat_ GR1348941 tskey- sk-", 16, &letter},
		// routable ones have parts
		{"glpat- gldt- glrt- glcbt- glptt- glsoat- glft- glimt- glagent- gloas- glffct-", 16,
			&dotted},
		{"npm_", 30, &alphanumeric}, // npm_config_registry is a variable
		{"pypi- oy2", 40, &letter},
		{"ATATT3 ATCTT3 ATBB", 20, &credential},
		// clouds
		{"AKIA ASIA ABIA ACCA", 16, &capitals},
		{"LTAI AKID", 16, &alphanumeric},
		{"AIza GOCSPX- AGE-SECRET-KEY-1", 20, &letter},
		{"AQ.Ab", 30, &letter},
		{"1//0", 30, &letter},
		{"ya29. hvs. hvb. hvr. SG.", 16, &dotted},
		{"dop_v1_ doo_v1_ dor_v1_ pscale_tkn_ pscale_oauth_ pscale_pw_ sbp_ sb_secret_ " +
			"fo1_ nfp_ napi_ HRKU- vcp_ AVNS_", 16, &letter},
		{"fm1r_ fm2_", 40, &escaped},
		{"dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", 20, &dotted},
		{"dapi pul-", 32, &hex},
		// messages and mail
		{"xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxc- xapp- xwfp-", 10, &letter},
		{"xoxd- hooks.slack.com/services/ discord.com/api/webhooks/ discordapp.com/api/webhooks/",
			10, &escaped},
		{"SK key-", 32, &hex}, // of Twilio and of Mailgun
		{"xkeysib- xsmtpsib-", 20, &letter},
		// money
		{"sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_ sq0atp- " +
			"sq0csp- FLWSECK- rzp_live_", 10, &letter},
		// models
		{"gsk_ xai- pplx- csk- nvapi- pcsk_ lsv2_pt_ lsv2_sk_ tvly- apify_api_ api_org_", 20,
			&letter},
		{"r8_", 30, &alphanumeric},
		// what watches and plans
		{"lin_api_ lin_oauth_ glc_ glsa_ NRAK- sntrys_ sntryu_ phx_ ntn_ figd_ sgp_ CCIPAT_ bkua_",
			20, &credential},
		{"sqp_ sqa_ squ_", 40, &hex},
		{"dt0c01. dt0s01. dt0s02. dt0s16.", 20, &dotted},
		{"eyJrIjoi ops_eyJ", 40, &credential}, // JSON like a JWT's, in one part
		{"sha256~", 40, &letter},              // of OpenShift
		{"LS0tLS1CRUdJTi", 20, &credential},   // -----BEGIN in base64
	} {
		for prefix := range strings.FieldsSeq(group.prefixes) {
			of, second := &by[prefix[0]], prefix[1]
			of.forms = append(of.forms, keyForm{prefix, group.least, group.of})
			of.second[second>>6] |= 1 << (second & 63)
		}
	}
	for _, head := range jwtHeads {
		second := &by[head[0]].second
		second[head[1]>>6] |= 1 << (head[1] & 63)
	}
	return by
}()

// form hides a secret at i with a known form, and returns where the search continues; i without
// one.
func (t *scanner) form(i int) int {
	s := t.s[i:]
	if len(s) < 2 || !keyForms[s[0]].may(s[1]) {
		return i
	}
	for _, k := range keyForms[s[0]].forms {
		if !strings.HasPrefix(s, k.prefix) {
			continue
		}
		end := runEnd(s, len(k.prefix), k.of)
		for k.of['.'] && s[end-1] == '.' && end > len(k.prefix) { // of a sentence
			end--
		}
		if end-len(k.prefix) >= k.least {
			return t.hide(i, i+end, Mask)
		}
	}
	if n := t.jwt(i); n > 0 { // a key of Grafana's begins as it does, so that it has got here
		return t.hide(i, i+n, Mask)
	}
	return i
}

// jwtHeads are {", { " and { before a line end.
var jwtHeads = [...]string{"eyJ", "eyAi", "ewog"}

// jwt is the length of the JWT at i (RFC 7515 and 7516, compact), or 0. Its header is a JSON
// object, whose base64url begins with one of jwtHeads.
func (t *scanner) jwt(i int) int {
	const shortest = len(`{"alg":""}`) * 4 / 3
	if !slices.ContainsFunc(jwtHeads[:], func(head string) bool {
		return strings.HasPrefix(t.s[i:], head)
	}) || t.word-i < shortest || at(t.s, t.word) != '.' {
		return 0
	}
	return runEnd(t.s, t.word, &dotted) - i
}

// armor is the form of a key of several lines: it begins with begin if opens accepts the text after
// that, and closing is where the text after the key begins.
type armor struct {
	begin   string
	opens   func(behind string) bool
	closing func(s string) int
}

// armors are of RFC 7468, of RFC 4716, and of PuTTY's files.
var armors = [...]armor{
	{"-----BEGIN", gapped, func(s string) int { return closing(s, "-----END", "-----") }},
	{"---- BEGIN SSH2", gapped, func(s string) int { return closing(s, "---- END SSH2", "----") }},
	{"Private-Lines", counts, func(s string) int {
		_, code, closed := strings.Cut(s, "Private-MAC")
		if code, is := field(code); closed && is {
			return len(s) - len(code) + runEnd(code, 0, &hex)
		}
		return len(s) - len(code)
	}},
}

// gapped reports whether a space is between BEGIN and the label, plain or escaped for URLs or JSON.
func gapped(behind string) bool {
	for _, gap := range [...]string{" ", "+", "%20", `\u0020`} {
		if strings.HasPrefix(behind, gap) {
			return true
		}
	}
	return false
}

// counts reports whether a colon and a number follow the name of a field.
func counts(behind string) bool {
	number, is := field(behind)
	return is && number != "" && '0' <= number[0] && number[0] <= '9'
}

// field returns the text after a colon and a space, plain or escaped for URLs.
func field(s string) (value string, is bool) {
	for _, colon := range [...]string{":", "%3A", "%3a"} {
		if value, is := strings.CutPrefix(s, colon); is {
			for _, gap := range [...]string{" ", "+", "%20"} {
				value = strings.TrimPrefix(value, gap)
			}
			return value, true
		}
	}
	return s, false
}

// withoutKeys masks the keys of several lines in a text, before all other secrets are looked for.
// A key that is cut off is masked to the end of the text.
func withoutKeys(s string) string {
	for _, a := range armors {
		from := opening(s, a)
		if from < 0 {
			continue
		}
		var out strings.Builder
		for ; from >= 0; from = opening(s, a) {
			out.WriteString(s[:from])
			out.WriteString(Mask)
			s = s[from+len(a.begin):]
			s = s[a.closing(s):]
		}
		out.WriteString(s)
		s = out.String()
	}
	return s
}

// opening is where an armor begins, or -1.
func opening(s string, a armor) int {
	for done := 0; ; {
		i := strings.Index(s[done:], a.begin)
		if i < 0 {
			return -1
		}
		done += i + len(a.begin)
		if a.opens(s[done:]) {
			return done - len(a.begin)
		}
	}
}

// closing is where the text after a block begins; the end of the text if the block is not closed. A
// line without a label and dashes after END closes nothing, nor do the dashes that open the next
// block: otherwise such a line before a key would expose the key.
func closing(s, end, dashes string) int {
	for done := 0; ; {
		i := strings.Index(s[done:], end)
		if i < 0 {
			return len(s)
		}
		done = runEnd(s, done+i+len(end), &label)
		if !strings.HasPrefix(s[done:], dashes) {
			continue
		}
		if after := done + len(dashes); !strings.HasPrefix(s[after:], "BEGIN") {
			return after
		}
		return done
	}
}

// label are the characters of a block's label, spaces and their escapes included.
var label = set(func(c byte) bool {
	return alphanumeric[c] || c == ' ' || c == '+' || c == '%' || c == '\\'
})

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

// scheme hides the credential after the name of a scheme that begins at i, and returns where the
// search continues; i without one.
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
		from, of := skipSpaces(t.s, end), &credential
		if from == end { // as in a query string
			switch {
			case t.s[end] == '+':
				from++
			case strings.HasPrefix(t.s[end:], "%20"):
				from += len("%20")
			default:
				return i
			}
			of = &escaped
		}
		to := from
		for to < len(t.s) && of[t.s[to]] && (t.s[to] != '%' || !separates(t.s[to:])) {
			to++
		}
		padded := to
		for at(t.s, padded) == '=' {
			padded++
		}
		// realm="…"
		if proses(t.s[from:to]) || padded == to+1 &&
			strings.Trim(t.s[from:to], "abcdefghijklmnopqrstuvwxyz_") == "" {
			return i
		}
		return t.hide(from, padded, Mask)
	}
	return i
}

// proses is prose, also for words with slashes between them, as in authentication/authorization.
func proses(words string) bool {
	first, rest, more := strings.Cut(words, "/")
	for more && len(first) > 1 && len(words) < 48 &&
		strings.Trim(first, "abcdefghijklmnopqrstuvwxyz") == "" {
		if first, rest, more = strings.Cut(rest, "/"); !more {
			return len(first) > 1 && strings.Trim(first, "abcdefghijklmnopqrstuvwxyz.") == ""
		}
	}
	return prose(words)
}

// prose reports whether the word after the name of a scheme belongs to a sentence: it is short and
// has letters only, of which only the first may be a capital.
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

// opaqueUser is the least number of characters of a URL's user that count as a token.
const opaqueUser = 20

// authority is where the authority of a URL begins whose scheme ends at i, or -1. JSON may escape
// the slashes.
func authority(s string, i int) int {
	if at(s, i) != ':' {
		return -1
	}
	for range 2 {
		if i = skipBackslashes(s, i+1); at(s, i) != '/' {
			return -1
		}
	}
	return i + 1
}

// url hides the password of the URL that begins at from and whose authority begins at i (RFC 3986,
// section 3.2), and a user that is long enough for a token. It returns where the search continues.
func (t *scanner) url(from, i int) int {
	if i >= t.runEnd {
		t.runEnd = runEnd(t.s, i, &inURL)
		t.lastAt = i + strings.LastIndexByte(t.s[i:t.runEnd], '@')
	}
	authority := t.s[i:t.runEnd]
	if end := strings.IndexAny(authority, `/?#\`); end >= 0 {
		authority = authority[:end]
	}
	user := strings.LastIndexByte(authority, '@')
	colon := strings.IndexByte(authority, ':')
	if user < 0 {
		if colon < 0 || authority[0] == '[' {
			return i
		}
		port := strings.Trim(strings.TrimRight(authority[colon+1:], ".,;:!)]}'"),
			"0123456789") == ""
		switch {
		case t.lastAt >= i && !port:
			// With one of /?# unescaped in a password, the end of the authority is ambiguous; a
			// port has digits only.
			user = t.lastAt - i
		case t.lastAt < i:
			if user = t.beyond(from, i, port) - i; user <= colon {
				return i
			}
		default:
			return i
		}
	}
	if colon < 0 || colon > user {
		if user >= opaqueUser {
			return t.hide(i, i+user, Mask)
		}
		return i
	}
	if colon >= opaqueUser { // the password is empty, or marks the user as the token
		t.hide(i, i+colon, Mask)
	}
	return t.hide(i+colon+1, i+user, Mask)
}

var inURL = set(func(c byte) bool { return c > ' ' && strings.IndexByte("\"<>`", c) < 0 })

// beyond is the position of the last "@" after i, for a password with white space, quotes or angle
// brackets: on the line, or in the quotes around the URL that begins at from; -1 without one. After
// a port it counts in quotes only, and if no quote ends the port.
func (t *scanner) beyond(from, i int, port bool) int {
	if i >= t.lineEnd {
		t.lineEnd = len(t.s)
		if eol := strings.IndexAny(t.s[i:], "\r\n"); eol >= 0 {
			t.lineEnd = i + eol
		}
		t.lineAt = i + strings.LastIndexByte(t.s[i:t.lineEnd], '@')
	}
	q := from - 1
	quoted := q >= 0 && (t.s[q] == '"' || t.s[q] == '\'' || t.s[q] == '`')
	if t.lineAt < i || port && !quoted {
		return -1
	}
	if !quoted {
		return t.lineAt
	}
	first := q
	for first > 0 && t.s[first-1] == '\\' {
		first--
	}
	end := quoteEnd(t.s[:t.lineEnd], q, q-first)
	if t.lineAt < end {
		return t.lineAt
	}
	if end <= i {
		return -1
	}
	if at := strings.LastIndexByte(t.s[i:end], '@'); at >= 0 {
		return i + at
	}
	return -1
}

// wholeURL hides the password of a value that is a URL as a whole, with any characters in the
// password.
func wholeURL(value string) string {
	const between = "://"
	scheme := runEnd(value, 0, &inScheme)
	if scheme == 0 || !strings.HasPrefix(value[scheme:], between) {
		return value
	}
	rest := value[scheme+len(between):]
	user := strings.LastIndexByte(rest, '@')
	colon := strings.IndexAny(rest, ":/?#")
	if colon < 0 || user < colon || rest[colon] != ':' || runEnd(rest, 0, &inURL) > user {
		return value
	}
	if port := strings.TrimLeft(rest[colon+1:user], "0123456789"); port == "" ||
		strings.IndexByte("/?#", port[0]) >= 0 {
		return value
	}
	return value[:len(value)-len(rest)+colon+1] + Mask + rest[user:]
}

var inScheme = set(func(c byte) bool { return alphanumeric[c] || c == '+' || c == '-' || c == '.' })

// longestSource bounds the search backwards for a data source name.
const longestSource = 256

var (
	source = set(func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`<>", c) < 0 })
	host   = set(func(c byte) bool { return alphanumeric[c] || c == '-' || c == '.' })
)

// dataSource hides the password of user:password@tcp(host:port)/database, user:password@/database
// and user:password@proxy:3128, whose "@" is at i.
func (t *scanner) dataSource(i int) {
	end := runEnd(t.s, i+1, &host)
	to := t.s[i+1 : end]
	bare := false // without the driver's parentheses
	switch at(t.s, end) {
	case '(':
		if to == "" || strings.Contains(to, ".") {
			return
		}
	case '/':
		switch to {
		case "", "tcp", "tcp4", "tcp6", "udp", "unix":
		default:
			return
		}
		bare = true
	case ':':
		port := end + 1
		for port < len(t.s) && '0' <= t.s[port] && t.s[port] <= '9' {
			port++
		}
		if n := port - end - 1; to == "" || n == 0 || n > len("65535") || port < len(t.s) &&
			alphanumeric[t.s[port]] {
			return
		}
		bare = true
	default:
		return
	}
	from := i
	for from > t.done && i-from < longestSource && source[t.s[from-1]] {
		from--
	}
	if bare && strings.Contains(t.s[from:i], "//") { // a URL, whose authority has been looked at
		from += strings.LastIndexByte(t.s[from:i], '/') + 1
	}
	if colon := strings.IndexByte(t.s[from:i], ':'); colon >= 0 && t.s[from+colon+1:i] != Mask {
		t.hide(from+colon+1, i, Mask)
	}
}

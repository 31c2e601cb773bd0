package redact

import (
	"regexp"
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

// firstTwo is a small number for the first two bytes of a key, which exclude most words.
func firstTwo(s string) int { return (int(s[0])*31 + int(s[1])) % 1024 }

// keyForms are the documented prefixes of keys, by their firstTwo. Keys that only identify, such
// as Stripe's published ones (pk_live_), are not secrets.
var keyForms = func() (by [1024][]keyForm) {
	for _, group := range []struct {
		prefixes string
		least    int
		of       *[256]bool
	}{
		{"xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxc- xapp- xwfp- sk_live_ sk_test_ sk_prod_ rk_live_ " +
			"rk_test_ rk_prod_ whsec_ sq0atp- sq0csp- FLWSECK- rzp_live_", 10, &letter},
		{"xoxd- hooks.slack.com/services/ discord.com/api/webhooks/ discordapp.com/api/webhooks/",
			10, &escaped},
		{"github_pat_ GR1348941 tskey- sk- dop_v1_ doo_v1_ dor_v1_ pscale_tkn_ pscale_oauth_ " +
			"pscale_pw_ sbp_ sb_secret_ fo1_ nfp_ napi_ HRKU- vcp_ AVNS_", 16, &letter},
		{"glpat- gldt- glrt- glcbt- glptt- glsoat- glft- glimt- glagent- gloas- glffct- ya29. hvs. " +
			"hvb. hvr. SG.", 16, &dotted},
		{"AKIA ASIA ABIA ACCA", 16, &capitals},
		{"LTAI AKID", 16, &alphanumeric},
		{"ghp_ gho_ ghu_ ghs_ ghr_ shpat_ shpss_ shpca_ shppa_ hf_ dckr_pat_ dckr_oat_ rubygems_ " +
			"CFPAT- PMAK- atlasv1. AIza GOCSPX- AGE-SECRET-KEY-1 xkeysib- xsmtpsib- gsk_ xai- pplx- " +
			"csk- nvapi- pcsk_ lsv2_pt_ lsv2_sk_ tvly- apify_api_ api_org_", 20, &letter},
		{"dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dt0c01. dt0s01. dt0s02. dt0s16.", 20,
			&dotted},
		{"ATATT3 ATCTT3 ATBB lin_api_ lin_oauth_ glc_ glsa_ NRAK- sntrys_ sntryu_ phx_ ntn_ figd_ " +
			"sgp_ CCIPAT_ bkua_ LS0tLS1CRUdJTi", 20, &credential}, // the last: -----BEGIN in base64
		{"npm_ r8_", 30, &alphanumeric}, // npm_config_registry is a variable
		{"AQ.Ab 1//0", 30, &letter},
		{"dapi pul- SK key-", 32, &hex}, // SK of Twilio, key- of Mailgun
		{"pypi- oy2 sha256~", 40, &letter},
		{"sqp_ sqa_ squ_", 40, &hex},
		{"fm1r_ fm2_", 40, &escaped},
		{"eyJrIjoi ops_eyJ", 40, &credential}, // JSON like a JWT's, in one part
	} {
		for prefix := range strings.FieldsSeq(group.prefixes) {
			i := firstTwo(prefix)
			by[i] = append(by[i], keyForm{prefix, group.least, group.of})
		}
	}
	return by
}()

// form hides a secret at i with a known form, in the word that ends at end.
func (t *scanner) form(i, end int) {
	s := t.s[i:]
	if len(s) < 2 {
		return
	}
	for _, k := range keyForms[firstTwo(s)] {
		if !strings.HasPrefix(s, k.prefix) {
			continue
		}
		to := runEnd(s, len(k.prefix), k.of)
		for k.of['.'] && s[to-1] == '.' && to > len(k.prefix) { // of a sentence
			to--
		}
		if to-len(k.prefix) >= k.least {
			t.keyEnd = t.hide(i, i+to, Mask)
			return
		}
	}
	// A JWT (RFC 7515 and 7516, compact). A key of Grafana's begins as it does.
	const shortest = len(`{"alg":""}`) * 4 / 3
	if end-i >= shortest && at(t.s, end) == '.' && s[0] == 'e' {
		// {", { " and { before a line end, in base64url: the header is a JSON object.
		for _, head := range [...]string{"eyJ", "eyAi", "ewog"} {
			if strings.HasPrefix(s, head) {
				t.keyEnd = t.hide(i, runEnd(t.s, end, &dotted), Mask)
			}
		}
	}
}

// armors are how keys of several lines begin, and how their last lines begin and end: of RFC 7468,
// of RFC 4716, and of PuTTY's files.
var armors = [...]struct{ begin, end, dashes string }{
	{"-----BEGIN", "-----END", "-----"}, {"---- BEGIN SSH2", "---- END SSH2", "----"},
	{"Private-Lines", "Private-MAC", ""},
}

// armored hides the keys of several lines, and returns their spans. A key that is cut off is hidden
// to the end of the text.
func (t *scanner) armored() []span {
	for _, a := range armors {
		for done := 0; ; {
			i := strings.Index(t.s[done:], a.begin)
			if i < 0 {
				break
			}
			i += done
			done = i + len(a.begin)
			to := t.gap(done)
			opens := to > done
			if a.dashes == "" {
				to = t.gap(done + 1)
				opens = at(t.s, done) == ':' && '0' <= at(t.s, to) && at(t.s, to) <= '9'
			}
			if opens {
				done = t.hide(i, t.closing(to, a.end, a.dashes), Mask)
			}
		}
	}
	slices.SortFunc(t.found, inOrder)
	return t.found
}

// gap is where the spaces at i end, which a query string has as "+".
func (t *scanner) gap(i int) int {
	return len(t.s) - len(strings.TrimLeft(t.s[min(i, len(t.s)):], " +"))
}

// closing is where the text after a block begins; the end of the text if the block is not closed. A
// line without a label and dashes after END closes nothing, nor do the dashes that open the next
// block: otherwise such a line before a key would expose the key.
func (t *scanner) closing(i int, end, dashes string) int {
	for {
		i = indexFrom(t.s, i, end)
		if i == len(t.s) {
			return i
		}
		if dashes == "" {
			if i += len(end); at(t.s, i) == ':' {
				i = runEnd(t.s, t.gap(i+1), &hex)
			}
			return i
		}
		i = runEnd(t.s, i+len(end), &label)
		if after := i + len(dashes); strings.HasPrefix(t.s[i:], dashes) {
			if strings.HasPrefix(t.s[after:], "BEGIN") {
				return i
			}
			return after
		}
	}
}

// label are the characters of a block's label, spaces and their escapes included.
var label = set(func(c byte) bool {
	return alphanumeric[c] || c == ' ' || c == '+' || c == '%' || c == '\\'
})

// schemes of HTTP whose credentials are one word.
var schemes = [...]string{"bearer", "basic", "dpop", "negotiate"}

func isScheme(word string) bool {
	return isOne(word, schemes[:]...) || isOne(word, "token", "digest")
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
		if len(t.s)-i < len(known) || !strings.EqualFold(t.s[i:i+len(known)], known) {
			continue
		}
		end := i + len(known)
		from, of := t.blanks(end), &credential
		if t.query {
			of = &bareInQuery
		} else if from == end && at(t.s, end) == '+' { // as in a query string
			from, of = end+1, &escaped
		}
		if from >= t.credentialEnd { // or it is within another one
			t.credentialEnd = runEnd(t.s, from, of)
		}
		to := t.credentialEnd
		padded := to
		for at(t.s, padded) == '=' {
			padded++
		}
		// realm="…"
		if from == end || to-from < 48 && prose.MatchString(t.s[from:to]) || padded == to+1 &&
			strings.Trim(t.s[from:to], lowers+"_") == "" {
			return i
		}
		t.hide(from, padded, Mask)
		return from
	}
	return i
}

// prose is a word of a sentence after the name of a scheme: it is short and has letters only, of
// which only the first may be a capital; or several words with slashes between them.
var prose = regexp.MustCompile(
	`^(?:.{0,3}|[A-Za-z][a-z]{3,18}|[a-z]{2,}(?:/[a-z]{2,})+)\.*$`)

const (
	lowers = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
)

// opaqueUser is the least number of characters of a URL's user that count as a token.
const opaqueUser = 20

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
		port := strings.Trim(strings.TrimRight(authority[colon+1:], ".,;:!)]}'"), digits) == ""
		if t.lastAt >= i && port {
			return i
		}
		// With one of /?# unescaped in a password, the end of the authority is ambiguous; a port
		// has digits only.
		user = t.lastAt - i
		if t.lastAt < i {
			if user = t.beyond(from, i, port) - i; user <= colon {
				return i
			}
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
// a port it counts in quotes only, and if no quote ends the port. Escaped quotes are those of an
// inner text.
func (t *scanner) beyond(from, i int, port bool) int {
	end, open := t.eol(i), at(t.s, from-1)
	if t.line.at < i || port && !quote(open) || quote(open) && at(t.s, from-2) == '\\' {
		return -1
	}
	if quote(open) {
		if end = quoteEnd(t.s[:end], i, open); t.line.at > end {
			return i + strings.LastIndexByte(t.s[i:end], '@')
		}
	}
	return t.line.at
}

// wholeURL hides the password of a value that is a URL as a whole, with any characters in the
// password.
func wholeURL(value string) string {
	at := passwordInURL.FindStringSubmatchIndex(value)
	if at == nil || runEnd(value, at[4], &inURL) >= at[1] { // Text finds passwords of such characters
		return value
	}
	return value[:at[3]] + Mask + value[at[1]-1:]
}

// passwordInURL has a URL up to the "@" before its host, up to its password, and behind its scheme.
var passwordInURL = regexp.MustCompile(
	`(?s)^([A-Za-z0-9+.-]+://()[^:/?#]*:)[0-9]*[^0-9/?#].*@`)

// longestSource bounds the search backwards for a data source name.
const longestSource = 256

var source = set(func(c byte) bool { return c > ' ' && strings.IndexByte("\"'`<>", c) < 0 })

// sourceHost is the host of a data source name, with or without the driver's parentheses, and of a
// proxy.
var sourceHost = regexp.MustCompile(
	`^(?:[A-Za-z0-9-]+\(|(?:tcp[46]?|udp|unix)?/|[A-Za-z0-9.-]+:[0-9]{1,5}(?:[^A-Za-z0-9]|$))`)

// dataSource hides the password of user:password@tcp(host:port)/database, user:password@/database
// and user:password@proxy:3128, whose "@" is at i.
func (t *scanner) dataSource(i int) {
	behind := sourceHost.FindString(t.s[i+1 : min(len(t.s), i+1+longestSource)])
	if behind == "" {
		return
	}
	bare := !strings.HasSuffix(behind, "(")
	from := i
	for from > 0 && i-from < longestSource && source[t.s[from-1]] {
		from--
	}
	if bare && strings.Contains(t.s[from:i], "//") { // a URL, whose authority has been looked at
		from += strings.LastIndexByte(t.s[from:i], '/') + 1
	}
	colon := strings.IndexByte(t.s[from:i], ':')
	if colon >= 0 && !strings.HasSuffix(t.s[:i], Mask) {
		t.hide(from+colon+1, i, Mask)
	}
}

// Package redact is the one masker of secrets: what logs, errors, audit and debug tools show goes
// through it.
//
// A secret is known by its name or by its form. By name: a value whose name holds, in any case,
//
//	TOKEN KEY SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CONNECTION_STRING CONNECTIONSTRING
//	PRIVATE AUTH DSN COOKIE SESSION PWD
//
// or has PASS as one of several words, as in DB_PASS and dbPass, or JWT, BEARER or OTP as the last
// of them, as in X-Jwt. PASS alone is the name of a variable, a field or a member in JSON with text
// behind it, and counts tests where a number is. PWD alone is the working directory, and so is
// OLDPWD. MONKEY is masked, and that is meant: a name too many costs less than one too few. By
// form, wherever it stands in a text:
//
//   - the password of a URL, and a user of 20 characters and more, which is a token whether or not a password follows; of a URL that is
//     escaped in a query string or in JSON as well. A password with a space, a quote or an angle bracket in it reaches to the last "@" of the line
//     or of the quotes around the URL, where no "@" comes before these;
//   - the password of a data source name as Go's MySQL driver writes it, user:password@tcp(host) and user:password@/database, and of a
//     proxy without a scheme, user:password@host:port;
//   - a PEM block, one of SSH2, and the private lines of a PuTTY key; to the end of the text where
//     nothing closes it; the base64 of a PEM block;
//   - a JWT, signed or encrypted;
//   - what follows the word Bearer, Basic, DPoP or Negotiate, unless that is a word of prose;
//   - a key of a well-known prefix, such as ghp_, glpat-, xoxb-, sk-, AKIA, AIza, npm_ or hf_, with as many characters behind it as
//     such a key has at least;
//   - a value beside a name as above: password=…, "password": "…", Password:… (what Go's %+v prints),
//     X-Api-Key: …, Cookie: …, token%3D…, --password …, ["--password", "…"], <password>…</password>, {"name":"DB_PASSWORD","value":"…"};
//     the value may be a block scalar of YAML, a text of several lines in TOML, CDATA, or bytes as
//     Python prints them (b'…'), and JSON may be escaped up to three times as in a query string
//     (%22password%22%3A%22…%22)
//
// In prose, "token: expired" and the like stay: a single word before a colon and a space is a name
// only if it can hardly be anything else, as password and Authorization are. Behind such a name and
// behind a flag any word is masked, also in "password: must be at least 8 characters". A number or
// a duration stays if the name asks for one, as in max_tokens: 4096.
//
// A bare value ends at white space, a quote, "&" or ";". A password that contains one of these is
// hidden in full only if it is quoted or escaped.
package redact

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mask stands where a secret was.
const Mask = "***MASKED***"

// Masker masks what this package knows to be secret, and more. The zero value masks exactly what
// the package's documentation says, as the functions of the package do. It is safe for concurrent
// use, as long as nobody changes its fields.
type Masker struct {
	// Names are further parts of names, in any case, whose values are secret: "PIN" hides
	// "user_pin" and "spinner". An empty element is ignored. Nil adds none.
	Names []string
	// Values are further forms: each match is masked, anywhere in a text. They see a text as it is,
	// but for its PEM blocks. What is masked without them stays masked. Nil adds none.
	Values []*regexp.Regexp
	// Texts returns further texts that are secret anywhere: as they are, as JSON, Go and URLs
	// escape them, and as the end of a text that was cut. It is called for each text, from many
	// goroutines at once. Texts of fewer than 4 bytes are ignored. Nil adds none.
	Texts func() []string
}

// WithTexts returns a masker that masks further Texts.
func (m Masker) WithTexts(texts func() []string) Masker {
	if own := m.Texts; own != nil {
		m.Texts = func() []string { return append(texts(), own()...) }
	} else {
		m.Texts = texts
	}
	return m
}

// Name reports whether what goes by a name is secret whatever it looks like.
func Name(name string) bool { return Masker{}.Name(name) }

// Text masks the secrets in a text.
func Text(s string) string { return Masker{}.Text(s) }

// Value masks what goes by a name: an environment variable, a form field.
func Value(name, value string) string { return Masker{}.Value(name, value) }

// Header returns a copy of a header with its secrets masked.
func Header(h http.Header) http.Header { return Masker{}.Header(h) }

// Query masks the secrets of a query string.
func Query(raw string) string { return Masker{}.Query(raw) }

// Any masks what a value shows. See [Masker.Any].
func Any(v any) any { return Masker{}.Any(v) }

// Value masks what goes by a name: all of it where the name says so, or else the secrets in it.
// An empty value stays, since it hides nothing and whether something is set is worth knowing.
func (m Masker) Value(name, value string) string {
	if value != "" && m.namesSecret(name) {
		return Mask
	}
	return m.Text(wholeURL(value))
}

// Header returns a copy of a header with its secrets masked, nil for nil.
func (m Masker) Header(h http.Header) http.Header {
	masked := h.Clone()
	for name, values := range masked {
		for i, value := range values {
			values[i] = m.Value(name, value)
		}
	}
	return masked
}

// inQueries are names of the web's protocols that say little elsewhere: authorization codes (RFC
// 6749), assertions (RFC 7521), the signatures of signed URLs, and what single sign-on passes on.
var inQueries = []string{"code", "assertion", "client_assertion", "sig", "signature",
	"x-amz-signature", "x-goog-signature", "jwt",
	"samlresponse", "ticket", "sid", "otp"}

func inQuery(name string) bool {
	return slices.ContainsFunc(inQueries, func(known string) bool {
		return strings.EqualFold(name, known)
	})
}

// Query masks the secrets of a query string and leaves the rest as it was written.
func (m Masker) Query(raw string) string {
	if raw == "" {
		return ""
	}
	pairs := strings.Split(raw, "&")
	for i, pair := range pairs {
		name, value, named := strings.Cut(pair, "=")
		if named && value != "" && m.secretField(name) {
			pairs[i] = m.part(name) + "=" + Mask
			continue
		}
		pairs[i] = m.part(name)
		if named {
			pairs[i] += "=" + m.part(value)
		}
	}
	return strings.Join(pairs, "&")
}

// secretField reports whether a field of a query string is secret by its name. One that cannot be
// unescaped is looked at as it is, and without the percent signs that stand in it.
func (m Masker) secretField(name string) bool {
	plain, err := url.QueryUnescape(name)
	if err != nil {
		return m.namesSecret(name) || m.namesSecret(strings.ReplaceAll(name, "%", ""))
	}
	return m.namesSecret(plain) || inQuery(plain)
}

// part masks one part of a query string. What it holds is looked at unescaped; what cannot be
// unescaped is looked at as it is.
func (m Masker) part(escaped string) string {
	plain, err := url.QueryUnescape(escaped)
	if err != nil {
		return m.Text(escaped)
	}
	if masked := m.Text(plain); masked != plain {
		return strings.ReplaceAll(url.QueryEscape(masked), url.QueryEscape(Mask), Mask)
	}
	return escaped
}

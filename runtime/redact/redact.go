// Package redact masks secrets in logs, errors, audit records and the output of debug tools.
//
// It detects a secret by its name or by its form. By name: a value whose name contains, in any
// case,
//
//	TOKEN KEY SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CONNECTION_STRING CONNECTIONSTRING
//	PRIVATE AUTH DSN COOKIE SESSION PWD
//
// or has PASS as one of several words, as in DB_PASS and dbPass, or JWT, BEARER or OTP as its
// last word, as in X-Jwt. PASS alone is a secret name for a variable, a field or a JSON member
// with text; with a number it counts tests. PWD and OLDPWD alone are directories. MONKEY is
// masked on purpose: it is safer to mask too much. By form, anywhere in a text:
//
//   - the password of a URL, also if the URL is escaped in a query string or in JSON. A user of
//     at least 20 characters is a token and is masked too. A password with a space, a quote or
//     an angle bracket extends to the last "@" of the line, or of the quotes around the URL, if
//     no "@" comes before these characters;
//   - the password of a data source name of Go's MySQL driver, user:password@tcp(host) and
//     user:password@/database, and of a proxy without a scheme, user:password@host:port;
//   - a PEM block, an SSH2 block, and the private lines of a PuTTY key, up to the end of the
//     text if the end of the block is missing; the base64 of a PEM block;
//   - a JWT, signed or encrypted;
//   - the word after Bearer, Basic, DPoP or Negotiate, unless it is a word of prose;
//   - a key with a well-known prefix, such as ghp_, glpat-, xoxb-, sk-, AKIA, AIza, npm_ or hf_,
//     and at least the number of characters that such a key has;
//   - a value after a secret name: password=…, "password": "…", Password:… (Go's %+v),
//     X-Api-Key: …, Cookie: …, token%3D…, --password …, ["--password", "…"],
//     <password>…</password>, {"name":"DB_PASSWORD","value":"…"}. The value may be a block
//     scalar of YAML, a text of several lines in TOML, CDATA, or Python bytes (b'…'). JSON may
//     be escaped up to three times, as in a query string (%22password%22%3A%22…%22)
//
// In prose, "token: expired" and similar texts stay. There, a single word before a colon and a
// space is a name only if it can hardly be anything else, as password and Authorization are.
// After such a name and after a flag any word is masked, also in "password: must be at least 8
// characters". A number or a duration stays if the name means one, as in max_tokens: 4096.
//
// A value without quotes ends at white space, a quote, "&" or ";". A password that contains one
// of these is masked completely only if it is quoted or escaped.
package redact

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Mask is the text in place of a secret.
const Mask = "***MASKED***"

// Masker masks the secrets of the package documentation and the ones in its fields. The zero
// value masks the same as the functions of the package. It is safe for concurrent use as long as
// its fields do not change.
type Masker struct {
	// Names are further parts of secret names, in any case: "PIN" masks "user_pin" and "spinner". An
	// empty element is ignored. Nil adds none.
	Names []string
	// Values are further forms: each match anywhere in a text is masked. They run on the original
	// text without its PEM blocks, and unmask nothing. Nil adds none.
	Values []*regexp.Regexp
	// Texts returns further secret texts. They are masked as they are, as JSON, Go and URLs escape
	// them, in hexadecimal, in base64 and base64url together with other bytes, and as the end of a
	// text that was cut. It is called for each text, concurrently. Texts of fewer than 4 bytes are
	// ignored. Nil adds none.
	Texts func() []string

	escapes bool // of characters that hide or reorder text, for a log
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

// Name reports whether every value with this name is secret.
func Name(name string) bool { return Masker{}.Name(name) }

// Text masks the secrets in a text.
func Text(s string) string { return Masker{}.Text(s) }

// Value masks the value of a name, such as an environment variable or a form field.
func Value(name, value string) string { return Masker{}.Value(name, value) }

// Header returns a copy of a header with its secrets masked.
func Header(h http.Header) http.Header { return Masker{}.Header(h) }

// Query masks the secrets of a query string.
func Query(raw string) string { return Masker{}.Query(raw) }

// Any returns a printable form of a value, with the secrets masked. See [Masker.Any].
func Any(v any) any { return Masker{}.Any(v) }

// Value masks the value of a name: all of it if the name is secret, or else the secrets in it. An
// empty value stays, because it reveals nothing and shows that it is empty.
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

// inQuery reports whether a name is secret in queries alone: authorization codes (RFC 6749),
// assertions (RFC 7521), the signatures of signed URLs, and the parameters of single sign-on.
func inQuery(name string) bool {
	return isOne(name, "code", "assertion", "client_assertion", "sig", "signature", "x-amz-signature",
		"x-goog-signature", "jwt", "samlresponse", "ticket", "sid", "otp")
}

// Query masks the secrets of a query string and leaves the rest unchanged.
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

// secretField reports whether a field of a query string is secret by its name. A name that cannot
// be unescaped is checked as it is, and without its percent signs.
func (m Masker) secretField(name string) bool {
	plain, err := url.QueryUnescape(name)
	if err != nil {
		return m.namesSecret(name) || m.namesSecret(strings.ReplaceAll(name, "%", ""))
	}
	return m.namesSecret(plain) || inQuery(plain)
}

// part masks one part of a query string. It searches the unescaped text, or the text as it is if
// that cannot be unescaped.
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

// Package secret recognizes secrets by the names of properties and by the form of texts.
package secret

import (
	"strings"
	"unicode"
)

// secrets are words of secret names: api_key, apiKey, MYSQL_PWD. They are whole words, so that
// monkey and tokenizer stay readable.
var secrets = map[string]bool{
	"auth": true, "authorization": true, "bearer": true, "cookie": true, "cookies": true,
	"credential": true, "credentials": true, "creds": true, "dsn": true, "jwt": true,
	"key": true, "keys": true, "passphrase": true, "passwd": true, "password": true,
	"passwords": true, "pin": true, "pwd": true, "secret": true, "secrets": true,
	"signature": true, "token": true, "tokens": true,
}

// parts are parts of secret names, for names that do not separate their words.
var parts = []string{
	"password", "passwd", "passphrase", "secret", "apikey", "privatekey", "accesskey",
	"accesstoken", "authtoken", "refreshtoken", "credential", "databaseurl",
}

// Name reports whether the value of a property with this name is a secret. In doubt it
// reports true: a hidden harmless value costs a reader little.
func Name(name string) bool {
	flat := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	for _, part := range parts {
		if strings.Contains(flat, part) {
			return true
		}
	}
	for _, word := range words(name) {
		if secrets[word] {
			return true
		}
	}
	return false
}

// opaqueUser is the length from which a URL's user without a password counts as a token.
const opaqueUser = 20

// accounts are the separators of user, password and host in a URL, a data source name or a proxy,
// plain and escaped.
var accounts = []struct{ scheme, password, host string }{
	{"://", ":", "@"}, {"%3A%2F%2F", "%3A", "%40"}, {"%3a%2f%2f", "%3a", "%40"},
}

// forms are parts of secret texts, in lower case.
var forms = append([]string{"token=", "bearer ", "basic ", "-----begin "}, parts...)

// Value reports whether JSON text is a string that contains a secret under a harmless name: a URL
// or a data source name with a password, a URL with a token, an Authorization header, a PEM block,
// a JSON Web Token. Pass the whole text, not only the shown part: half a secret does not look like
// one.
func Value(literal string) bool {
	if literal[0] != '"' {
		return false
	}
	text := literal[1:]
	for _, of := range accounts {
		if at := strings.LastIndex(text, of.host); at >= 0 &&
			strings.Contains(strings.ReplaceAll(text[:at], of.scheme, ""), of.password) {
			return true
		}
		for rest, ok := text, true; ok; {
			if _, rest, ok = strings.Cut(rest, of.scheme); ok {
				user, _, is := strings.Cut(rest, of.host)
				if is && len(user) >= opaqueUser && !strings.Contains(user, "/") {
					return true
				}
			}
		}
	}
	lowered := strings.ToLower(text)
	for _, form := range forms {
		if strings.Contains(lowered, form) {
			return true
		}
	}
	return strings.Contains(text, "eyJ")
}

// words splits a name where it changes from lower to upper case and at everything that is
// neither letter nor digit, and lowers the words: "apiKey" is api, key; "HTTPToken" http, token.
func words(name string) []string {
	var found []string
	runes := append([]rune(name), 0) // an end that is no letter
	start := -1
	for i, r := range runes {
		letter := unicode.IsLetter(r)
		if start >= 0 && (!letter || unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || unicode.IsLower(runes[i+1]))) {
			found = append(found, strings.ToLower(string(runes[start:i])))
			start = -1
		}
		if start < 0 && letter {
			start = i
		}
	}
	return found
}

package decode

import (
	"strings"
	"unicode"
)

// secretWords make a name look secret when one of its words is among them: api_key, apiKey,
// MYSQL_PWD. Whole words, so that monkey and tokenizer stay readable.
var secretWords = map[string]bool{
	"auth": true, "authorization": true, "bearer": true, "cookie": true, "cookies": true,
	"credential": true, "credentials": true, "creds": true, "dsn": true, "jwt": true,
	"key": true, "keys": true, "passphrase": true, "passwd": true, "password": true,
	"passwords": true, "pin": true, "pwd": true, "secret": true, "secrets": true,
	"signature": true, "token": true, "tokens": true,
}

// secretParts make a name look secret wherever they stand, for names that do not separate
// their words.
var secretParts = []string{
	"password", "passwd", "passphrase", "secret", "apikey", "privatekey", "accesskey",
	"accesstoken", "authtoken", "refreshtoken", "credential", "databaseurl",
}

// SecretName reports whether the value of a property with this name is a secret. In doubt it
// reports true: a hidden harmless value costs a reader little.
func SecretName(name string) bool {
	flat := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	for _, part := range secretParts {
		if strings.Contains(flat, part) {
			return true
		}
	}
	for _, word := range words(name) {
		if secretWords[word] {
			return true
		}
	}
	return false
}

// SecretPointer reports whether a pointer names or lies within a property that looks secret.
func SecretPointer(pointer string) bool {
	for pointer != "" {
		var segment string
		segment, pointer = cutSegment(pointer)
		if SecretName(pointerUnescapes.Replace(segment)) {
			return true
		}
	}
	return false
}

// opaqueUser is from how many characters on a URL's user without a password is a token.
const opaqueUser = 20

// accounts are how a user and a password stand before a host, in a URL, a data source name or a
// proxy, and how they do escaped.
var accounts = []struct{ scheme, password, host string }{{"://", ":", "@"}, {"%3A%2F%2F", "%3A", "%40"}, {"%3a%2f%2f", "%3a", "%40"}}

// secretForms make a text look secret wherever they stand in it, in lower case.
var secretForms = append([]string{"token=", "bearer ", "basic ", "-----begin "}, secretParts...)

// secretValue reports whether JSON text is a string that carries a secret under a harmless name: a
// URL or a data source name with a password, a URL with a token, an Authorization header, a PEM
// block, a JSON Web Token. The whole text is looked at, not only what would be shown: half a secret
// does not look like one.
func secretValue(literal string) bool {
	if literal[0] != '"' {
		return false
	}
	text := literal[1:]
	for _, of := range accounts {
		if at := strings.LastIndex(text, of.host); at >= 0 && strings.Contains(strings.ReplaceAll(text[:at], of.scheme, ""), of.password) {
			return true
		}
		for rest, ok := text, true; ok; {
			if _, rest, ok = strings.Cut(rest, of.scheme); ok {
				if user, _, is := strings.Cut(rest, of.host); is && len(user) >= opaqueUser && !strings.Contains(user, "/") {
					return true
				}
			}
		}
	}
	lowered := strings.ToLower(text)
	for _, form := range secretForms {
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
	runes := []rune(name)
	start := -1
	for i, r := range runes {
		if !unicode.IsLetter(r) {
			if start >= 0 {
				found = append(found, strings.ToLower(string(runes[start:i])))
			}
			start = -1
			continue
		}
		if start >= 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			found = append(found, strings.ToLower(string(runes[start:i])))
			start = i
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		found = append(found, strings.ToLower(string(runes[start:])))
	}
	return found
}

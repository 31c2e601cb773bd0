// Package secrettest makes secrets for the inputs of tests, and finds them in outputs. It is for
// tests only.
package secrettest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Place is where a secret is planted.
type Place string

// The places.
const (
	Environment  Place = "environment"
	Header       Place = "header"
	Query        Place = "query"
	Claim        Place = "claim"
	Argument     Place = "argument"
	ArgumentName Place = "name of an argument"
	UnknownName  Place = "name of nothing"
	Error        Place = "error"
	Panic        Place = "panic"
	Log          Place = "log"
	SinkError    Place = "error of the audit sink"
	SourceError  Place = "error of the identity source"
	HostError    Place = "error of the host"
	CatalogError Place = "error of the source of catalogs"
	Readiness    Place = "error of a check of readiness"
)

// counts are how many secrets there are at each place, 200 in all.
var counts = []struct {
	place Place
	n     int
}{
	{Environment, 28}, {Header, 24}, {Query, 20}, {Claim, 24}, {Argument, 22}, {ArgumentName, 8},
	{UnknownName, 12},
	{Error, 26}, {Panic, 6}, {Log, 14}, {SinkError, 4}, {SourceError, 4}, {HostError, 4},
	{CatalogError, 2}, {Readiness, 2},
}

// Secret is one secret. Nobody could take it for anything else, and nothing would be lost by
// showing what stands around it.
type Secret struct {
	Place Place
	// by which it is recognised, as of a variable, a header or a member; empty where it is by its
	// form
	Name  string
	Value string // with the form, where it has one
	Core  string // what must not come out
}

// Text is the secret as it stands in a sentence.
func (s Secret) Text() string {
	if s.Name == "" {
		return s.Value
	}
	return s.Name + "=" + s.Value
}

// Before is the secret behind so many words that a cut at n bytes, or a few bytes more or less,
// goes through it and leaves ten characters of it or more.
func (s Secret) Before(n int) Secret {
	filler := strings.Repeat("- ", max(0, n-16-strings.Index(s.Text(), s.Core))/2)
	if s.Name != "" {
		return Secret{s.Place, "", filler + s.Text(), s.Core}
	}
	return Secret{s.Place, "", filler + s.Value, s.Core}
}

// String is the place and the secret, for a test that fails.
func (s Secret) String() string { return fmt.Sprintf("%s: %s", s.Place, s.Text()) }

// Names are those of secrets whose form says nothing: one for each part of a name, in cases and
// with separators of all kinds.
var Names = []string{
	"GITHUB_TOKEN", "tokens", "ACCESS-TOKEN", "monkey", "KEY_ID", "X-Api-Key", "API_KEY", "apikey",
	"clientSecret", "SECRET",
	"db.password", "PASSWORD", "Passwd", "ssh_passphrase", "AWS_CREDENTIALS", "credential",
	"CONNECTION_STRING", "ConnectionString",
	"Db-Connection-String", "private", "PRIVATE_ID", "X-Auth", "Author", "MYSQL_PWD", "pwd_file",
	"dbPwd", "DB_PASS", "SENTRY_DSN",
	"LAST_COOKIE", "SESSION", "sessionId",
}

const (
	mixed    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	hex      = "0123456789abcdef"
)

// Form is a form that says of a value what it is.
type Form struct {
	Format   string // with one %s
	alphabet string
}

// Forms are those of secrets that stand under harmless names.
var Forms = []Form{
	{"postgres://ada:%s@db.example/app", mixed}, {"https://%s@git.example/app", mixed},
	{"redis://:%s@cache:6379/0", mixed}, {"ada:%s@tcp(db:3306)/app", mixed},
	{"https://app.example/cb?access_token=%s&page=2", mixed}, {"https://app.example/cb?code=%s",
		mixed}, {"next=https%%3A%%2F%%2Fada%%3A%s%%40db.example%%2Fx", mixed},
	{"-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----", mixed},
	{"-----BEGIN RSA PRIVATE KEY-----\nMII%s", mixed},
	{"eyJhbGciOiJIUzI1NiJ9.%s.c2lnbmVk", mixed}, {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.%s", mixed},
	{"Bearer %s", mixed}, {"Basic %s=", mixed}, {"DPoP %s", mixed}, {"Authorization: Token %s",
		mixed}, {"Cookie: sid=%s; theme=dark", mixed}, {"X-Api-Key: %s", mixed},
	{"password=%s", mixed}, {"mysql --password %s app", mixed}, {`{"api_key":"%s"}`, mixed},
	{"{User:ada Password:%s}", mixed}, {"Server=db;Uid=sa;Pwd=%s;", mixed},
	{"ghp_%s", mixed}, {"github_pat_%s", mixed}, {"glpat-%s", mixed}, {"xoxb-1234567890-%s", mixed},
	{"https://hooks.slack.com/services/T0/B0/%s", mixed}, {"sk-ant-%s", mixed},
	{"AKIA%s", capitals}, {"AIza%s", mixed}, {"npm_%s", mixed}, {"hf_%s", mixed},
	{"sk_live_%s", mixed}, {"SG.%s.x", mixed}, {"hvs.%s", mixed}, {"dapi%s", hex},
	{"dop_v1_%s", hex},
	{`["--password","%s"]`, mixed}, {"{'password': b'%s'}", mixed}, {"password: |\n  %s\n", mixed},
	{"Private-Lines: 1\n%s\nPrivate-MAC: 0a", mixed},
	{"<password><![CDATA[%s]]></password>", mixed}, {"password = \"\"\"\n%s\n\"\"\"", mixed},
	{"q=%%7B%%22password%%22%%3A%%22%s%%22%%7D", mixed},
}

// All are the 200 secrets of a seed. Each name and each form is there several times, at other
// places for another seed.
func All(seed uint64) []Secret {
	random := rand.New(rand.NewPCG(seed, 7))
	names, forms := random.Perm(len(Names)), random.Perm(len(Forms))
	next := 0
	var all []Secret
	for _, at := range counts {
		for i := range at.n {
			if i%2 == 0 {
				core := draw(random, mixed)
				all = append(all, Secret{at.place, Names[names[len(all)/2%len(names)]], core, core})
				continue
			}
			form := Forms[forms[next%len(forms)]]
			for next++; at.place.oneLine() && strings.Contains(form.Format, "\n"); next++ {
				form = Forms[forms[next%len(forms)]]
			}
			core := draw(random, form.alphabet)
			all = append(all, Secret{at.place, "", fmt.Sprintf(form.Format, core), core})
		}
	}
	return all
}

// oneLine reports whether a secret of this place goes through a header.
func (p Place) oneLine() bool { return p == Header || p == UnknownName }

// draw is a text of 32 characters.
func draw(random *rand.Rand, alphabet string) string {
	core := make([]byte, 32)
	for i := range core {
		core[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(core)
}

// At are the secrets of a place.
func At(all []Secret, place Place) []Secret {
	return slices.DeleteFunc(slices.Clone(all), func(s Secret) bool { return s.Place != place })
}

// window is how much of a secret is enough to find it.
const window = 10

// Finder finds secrets in texts: as they are, in base64 (RFC 4648, both alphabets) and in
// hexadecimal.
type Finder struct {
	all     []Secret
	windows map[string]sight // by their first ten characters
	begins  [1 << 18]bool    // what begin says of one of them: most of a text need not be looked up
}

// begin is a number for how a text of three characters or more begins.
func begin(text string) int {
	return int(text[0]&63)<<12 | int(text[1]&63)<<6 | int(text[2]&63)
}

// sight is a part of the secret of an index: what follows it is the rest.
type sight struct {
	of   int
	rest string
}

// NewFinder returns a finder of secrets.
func NewFinder(all []Secret) *Finder {
	f := &Finder{all: all, windows: map[string]sight{}}
	for i, s := range all {
		for at := 0; at+window <= len(s.Core); at++ {
			part := s.Core[at : at+window]
			lower := fmt.Sprintf("%x", part)
			// Nine bytes are twelve characters, wherever in a longer text a group of three bytes
			// begins.
			nine := []byte(part[:9])
			for _, shown := range []string{part, lower, strings.ToUpper(lower),
				base64.StdEncoding.EncodeToString(nine), base64.URLEncoding.EncodeToString(nine)} {
				f.windows[shown[:window]], f.begins[begin(shown)] = sight{i, shown[window:]}, true
			}
		}
	}
	return f
}

// In are the secrets of which a text shows ten characters in a row or more, or nine of them in
// base64.
func (f *Finder) In(text string) []Secret {
	shown := map[int]bool{}
	for at := 0; at+window <= len(text); at++ {
		if !f.begins[begin(text[at:])] {
			continue
		}
		if seen, is := f.windows[text[at:at+window]]; is && strings.HasPrefix(text[at+window:],
			seen.rest) {
			shown[seen.of] = true
		}
	}
	var found []Secret
	for i, s := range f.all {
		if shown[i] {
			found = append(found, s)
		}
	}
	return found
}

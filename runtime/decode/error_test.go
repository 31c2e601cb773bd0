package decode

import (
	"fmt"
	"strings"
	"testing"
)

func TestAnErrorIsOneLineOfSortedProblems(t *testing.T) {
	err := NewError([]Problem{
		{"/vlan/id", "5000 is more than the maximum 4094"},
		{"/name", "is required"},
		{"/list/10", "c"},
		{"/list/2", "b"},
		{"/list", "a"},
		{"/name", "is required"},
		{"/name", "another"},
		{"", "has 9 properties"},
		{"/list/2/x", "d"},
		{"/list/02", "e"},
	})
	want := "(root): has 9 properties; /list: a; /list/02: e; /list/2: b; /list/2/x: d; /list/10: c; " +
		"/name: another; /name: is required; /vlan/id: 5000 is more than the maximum 4094"
	if err.Error() != want {
		t.Errorf("got %s\nwant %s", err, want)
	}
}

func TestNoProblemsAreNoError(t *testing.T) {
	if err := NewError(nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorHasABoundedNumberOfProblems(t *testing.T) {
	var problems []Problem
	for i := range 3 * MaxProblems {
		problems = append(problems, Problem{fmt.Sprintf("/%d", i), "is wrong"})
	}
	e := NewError(problems).(*Error)
	if len(e.Problems) != MaxProblems+1 {
		t.Fatalf("%d problems", len(e.Problems))
	}
	if first, last := e.Problems[0], e.Problems[MaxProblems-1]; first.Pointer != "/0" || last.Pointer != fmt.Sprintf("/%d", MaxProblems-1) {
		t.Errorf("from %v to %v", first, last)
	}
	if rest := e.Problems[MaxProblems]; rest != (Problem{"", "has more problems than are shown"}) {
		t.Errorf("the rest is %v", rest)
	}
}

func TestOrderOfPointersIsTotal(t *testing.T) {
	sorted := []string{"", "/", "/0", "/2", "/2/a", "/10", "/10/0", "/a", "/a/b", "/a/b/c", "/b"}
	for i, a := range sorted {
		for j, b := range sorted {
			got := comparePointers(a, b)
			if (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("compare(%q, %q) = %d", a, b, got)
			}
		}
	}
}

func TestPointersAreEscapedAndShort(t *testing.T) {
	if got := Pointer(Pointer("", "a/b~c"), "0"); got != "/a~1b~0c/0" {
		t.Errorf("got %s", got)
	}
	if got := Pointer("", strings.Repeat("é", 1000)); got != "/"+strings.Repeat("é", 32)+"…" {
		t.Errorf("got %s", got)
	}
}

func TestMessagesShowTheBeginningOfAValueOnly(t *testing.T) {
	for _, c := range []struct{ literal, want string }{
		{`5000`, `5000 is wrong`},
		{`"short"`, `"short" is wrong`},
		{`"` + strings.Repeat("x", 5000) + `"`, `"` + strings.Repeat("x", 63) + `…" (5002 bytes) is wrong`},
		{`"` + strings.Repeat("é", 100) + `"`, `"` + strings.Repeat("é", 31) + `…" (202 bytes) is wrong`},
		{strings.Repeat("1", 100), strings.Repeat("1", 64) + `… (100 bytes) is wrong`},
		{`{"a":1}`, `is wrong`},
		{`[1]`, `is wrong`},
		{``, `is wrong`},
		{"\"\x7f\u202e\u0085\"", `"\u007f\u202e\u0085" is wrong`},
		{"\"\uffff\U00010fff\"", `"\uffff\U00010fff" is wrong`},
		{"\"\U000E0001\"", `"\U000e0001" is wrong`},
	} {
		if got := NewProblem("/a", c.literal, "is wrong").Message; got != c.want {
			t.Errorf("%.80s\n got %s\nwant %s", c.literal, got, c.want)
		}
	}
}

// Half a key does not look like one, and a masker of the text would not recognise it.
func TestWhatIsShownEndsBeforeAWordThatCouldBeAKey(t *testing.T) {
	for _, key := range []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ACME-0123456789abcdefghijABCDEFGHIJ", "https://x.example/cb?code=0123456789abcdefghijAB", "q7.Zq9hunter2hunter2hunter2"} {
		for at := 20; at < 100; at++ {
			text := strings.Repeat("- ", at)[:at-1] + " " + key + strings.Repeat(" x", 50)
			for _, shown := range []string{Show(`"` + text + `"`), Pointer("", text)} {
				secret := key[strings.LastIndex(key, "/")+1:]
				if strings.Contains(shown, secret[:4]) && !strings.Contains(shown, secret) {
					t.Errorf("%d: %s", at, shown)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"/srv/" + strings.Repeat("data/", 9) + "2026_archive_of_all/x":         "/srv/" + strings.Repeat("data/", 9) + "…",
		strings.Repeat("word ", 20):                                            strings.Repeat("word ", 12) + "word…",
		"- " + strings.Repeat("3", 100):                                        "- " + strings.Repeat("3", 62) + "…",
		strings.Repeat("x", MaxShown-4) + "-1.5 and " + strings.Repeat("y", 9): strings.Repeat("x", MaxShown-4) + "-1.5…",
	} {
		if got := shorten(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestNamesFromADocumentCannotBreakTheLine(t *testing.T) {
	err := NewError([]Problem{{Pointer("", "a\nlevel=error\x1b[31m"), "unknown property"}})
	if got, want := err.Error(), `/a\u000alevel=error\u001b[31m: unknown property`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestValuesOfSecretNamesAreNotShown(t *testing.T) {
	for _, name := range []string{
		"password", "Password", "user_password", "userPassword", "PASSWORDHASH", "token", "accessToken", "access_token",
		"API-Key", "apikey", "key", "privateKey", "private_key", "secret", "client.secret", "SENTRY_DSN", "MYSQL_PWD",
		"DATABASE_URL", "authorization", "X-Api-Key", "cookie", "HTTPToken", "jwt", "pin", "credentials", "token2",
	} {
		pointer := Pointer("", name)
		if p := NewProblem(pointer, `"hunter2"`, "is wrong"); p.Message != "is wrong" {
			t.Errorf("%s: %s", name, p)
		}
		if p := NewProblem(pointer+"/deep/0", `"hunter2"`, "is wrong"); p.Message != "is wrong" {
			t.Errorf("below %s: %s", name, p)
		}
	}
	for _, name := range []string{"name", "monkey", "keyboard", "tokenizer", "id", "pinned", "author", "0", "", "url", "spin"} {
		if p := NewProblem(Pointer("", name), `"x"`, "is wrong"); p.Message != `"x" is wrong` {
			t.Errorf("%s: %s", name, p)
		}
	}
}

func TestValuesThatLookSecretAreNotShown(t *testing.T) {
	for _, literal := range []string{
		`"postgres://app:hunter2@db/x"`, `"https://u:` + strings.Repeat("p", 100) + `@host"`, `"Bearer abc"`, `"basic dTpw"`,
		`"eyJhbGciOiJIUzI1NiJ9.e30.x"`, `"https://example.com/?access_token=abc"`, `"?token=abc"`, `"password=hunter2"`,
		`"root:hunter2@/app"`, `"ada:hunter2@tcp(db:3306)/app"`, `"ada:hunter2@proxy:3128"`, `"see Bearer abc"`, `"-----BEGIN PRIVATE KEY-----\nMII"`,
		`"https://a.example and https://` + strings.Repeat("k1", 10) + `@git.example"`, `"next=https%3A%2F%2Fada%3Ahunter2%40db"`,
		`"` + strings.Repeat("x", 47) + ` ada:hunter2Zq9@tcp(db:3306)/app"`, `"` + strings.Repeat("x ", 4000) + `password=hunter2"`,
	} {
		if p := NewProblem("/value", literal, "is wrong"); p.Message != "is wrong" {
			t.Errorf("%s", p)
		}
	}
	for _, literal := range []string{`"https://example.com/path"`, `"name@example.com"`, `"10:30"`, `5`, `"`, `"ftp://user@host"`} {
		if p := NewProblem("/value", literal, "is wrong"); p.Message != literal+" is wrong" {
			t.Errorf("%s", p)
		}
	}
}

package redact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

type account struct {
	User     string
	Password string `json:"pw_secret"`
	hidden   string
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type shy struct{ s string }

func (s shy) String() string { return "password=" + s.s }

type lazy struct{ v slog.Value }

func (l lazy) LogValue() slog.Value { return l.v }

type hasty struct{}

func (hasty) String() string { panic("password=x") }

type addressed struct{ s string }

func (a addressed) MarshalText() ([]byte, error) {
	if a.s == "" {
		return nil, errors.New("password=x")
	}
	return []byte("Bearer " + a.s), nil
}

func TestAnyMasksByNameAndForm(t *testing.T) {
	for name, test := range map[string]struct{ in, want any }{
		"null":          {nil, nil},
		"a number":      {7, 7},
		"a time":        {time.Unix(1, 0), time.Unix(1, 0)},
		"a JSON number": {json.Number("1.50"), json.Number("1.50")},
		"a text":        {"Bearer abc123", "Bearer " + mask},
		"bytes":         {[]byte("password=x"), "password=" + mask},
		"claims": {map[string]any{"sub": "ada", "auth_time": 7, "session": true,
			"cookie": nil, "private": []any{"x"}, "n": map[string]any{"api_key": "x", "token": ""}},
			map[string]any{"sub": "ada", "auth_time": mask, "session": true, "cookie": nil,
				"private": mask, "n": map[string]any{"api_key": mask, "token": ""}}},
		"texts by name": {map[string]string{"A": "b", "KEY": "x", "AUTH": ""},
			map[string]string{"A": "b", "KEY": mask, "AUTH": ""}},
		"a header": {http.Header{"Cookie": {"a", "b"}, "Via": {"x", "Bearer abc123"}},
			http.Header{"Cookie": {mask, mask}, "Via": {"x", "Bearer " + mask}}},
		"a query": {url.Values{"token": {"a"}, "b": {"c"}}, url.Values{"token": {mask},
			"b": {"c"}}},
		"lists by name": {map[string][]string{"keys": {"a"}, "b": nil},
			map[string][]string{"keys": {mask}, "b": nil}},
		"a list": {[]any{"a", "password=x", 1, []string{"Bearer abc123"}},
			[]any{"a", "password=" + mask, 1, []string{"Bearer " + mask}}},
		"a command": {[]string{"--password", "x1", "-token", "--user", "-db.key", "x2",
			"--page", "x", "--max-tokens", "4096", "--password"}, []string{"--password", mask,
			"-token", "--user", "-db.key", mask, "--page", "x", "--max-tokens", "4096",
			"--password"}},
		"any command": {[]any{"--password", "x1", "--token", json.Number("123456"), "--key",
			7.5, "--auth", nil, "--secret", []any{"y"}, "--key", ""}, []any{"--password", mask,
			"--token", mask, "--key", mask, "--auth", nil, "--secret", []any{"y"}, "--key", ""}},
		"commands in it": {struct{ Args []string }{[]string{"--password", "x1"}},
			map[string]any{"Args": []any{"--password", mask}}},
		"nil things": {[]any{map[string]any(nil), []any(nil), []string(nil),
			map[string]string(nil), http.Header(nil)}, []any{map[string]any(nil), []any(nil),
			[]string(nil), map[string]string(nil), http.Header(nil)}},
		"a struct": {account{"ada", "x", "y"}, map[string]any{"User": "ada",
			"pw_secret": mask}},
		"pointers": {&[]*account{{"ada", "x", "y"}},
			[]any{map[string]any{"User": "ada", "pw_secret": mask}}},
		"numbers in it": {struct{ N uint64 }{math.MaxUint64},
			map[string]any{"N": json.Number("18446744073709551615")}},
		"a name in it": {map[string]any{"Name": "DB_PASSWORD", "value": "x", "a": "b"},
			map[string]any{"Name": "DB_PASSWORD", "value": mask, "a": "b"}},
		"names in a list": {[]variable{{"DB_PASSWORD", "x"}, {"PASS", "x"}, {"HOME", "x"}},
			[]any{map[string]any{"name": "DB_PASSWORD", "value": mask},
				map[string]any{"name": "PASS", "value": mask}, map[string]any{"name": "HOME",
					"value": "x"}}},
		"names of texts": {map[string]string{"header": "Cookie", "value": "x"},
			map[string]string{"header": "Cookie", "value": mask}},
		"a form": {url.Values{"name": {"token"}, "value": {"x"}},
			url.Values{"name": {"token"}, "value": {mask}}},
		"a value alone": {map[string]any{"name": 7, "value": "x"}, map[string]any{"name": 7,
			"value": "x"}},
		"a word alone": {map[string]any{"pass": "x", "Pass": 3, "PASS": true},
			map[string]any{"pass": mask, "Pass": 3, "PASS": true}},
		"names alike": {map[string]string{"Bearer abc1": "1", "Bearer abc2": "2", "Bearer " +
			mask: "3"}, map[string]string{"Bearer " + mask: "3", "Bearer " + mask + " (2)": "1",
			"Bearer " + mask + " (3)": "2"}},
		"a text of a map": {map[string]string{"u": "https://a:b@c d@e"},
			map[string]string{"u": "https://a:" + mask + "@e"}},
		"an error": {fmt.Errorf("dial: %w", errors.New("postgres://a:b@h")),
			"dial: postgres://a:" + mask + "@h"},
		"a Stringer": {shy{"x"}, "password=" + mask},
		"a URL": {&url.URL{Scheme: "https", User: url.UserPassword("a", "b"), Host: "h"},
			"https://a:" + mask + "@h"},
		"an address":         {netip.MustParseAddr("::1"), "::1"},
		"text of its own":    {addressed{"abc123"}, "Bearer " + mask},
		"text with an error": {addressed{}, mask + " (redact_test.addressed)"},
		"a panic":            {hasty{}, mask + " (redact_test.hasty panicked)"},
		"a nil Stringer":     {(*url.URL)(nil), mask + " (*url.URL panicked)"},
		"a channel":          {make(chan int), mask + " (chan int)"},
		"a secret as name":   {map[string]any{jwt: 1}, map[string]any{mask: 1}},
	} {
		if got := redact.Any(test.in); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %#v, want %#v", name, got, test.want)
		}
	}
}

func TestAnyEndsOnWhatHoldsItself(t *testing.T) {
	loop := map[string]any{}
	loop["a"] = loop
	if got := fmt.Sprint(redact.Any(loop)); !strings.Contains(got, mask) {
		t.Error(got)
	}
}

// manifold is a log value that holds itself more than once.
type manifold struct{}

func (manifold) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("a", manifold{}), slog.Any("b", manifold{}))
}

// What holds itself twice has a way for each choice between the two at each step: these would not
// end by a bound of the depth alone. A wide value is looked into in full.
func TestWhatHoldsItselfTwiceEnds(t *testing.T) {
	twice := make([]any, 2)
	twice[0], twice[1] = twice, twice
	maps := map[string]any{}
	maps["a"], maps["b"] = maps, []any{maps}
	for name, v := range map[string]any{"a list": twice, "a map": maps, "a log value": manifold{}} {
		if got := fmt.Sprint(redact.Any(v)); !strings.Contains(got, mask) {
			t.Errorf("%s: %.100s", name, got)
		}
		for place, log := range map[string]func(*slog.Logger){
			"a record": func(log *slog.Logger) {
				log.Info("m", "x", v)
			}, "a logger": func(log *slog.Logger) { log.With("x", v).Info("m") },
		} {
			if got := logged(log); !strings.Contains(got, mask) {
				t.Errorf("%s in %s: %.100s", name, place, got)
			}
		}
	}
	wide := make([]any, 40_000)
	for i := range wide {
		wide[i] = map[string]any{"n": i}
	}
	if got := redact.Any(wide); !reflect.DeepEqual(got, any(wide)) {
		t.Error("a wide value is not shown in full")
	}
}

func TestAnyDoesNotChangeItsArgument(t *testing.T) {
	in := map[string]any{"token": "x", "a": []any{map[string]any{"key": "y"}}}
	redact.Any(in)
	header := http.Header{"Cookie": {"x"}}
	redact.Any(header)
	if got := redact.Header(header); got.Get("Cookie") != mask || redact.Header(nil) != nil {
		t.Error(got)
	}
	if fmt.Sprint(in, header) != "map[a:[map[key:y]] token:x] map[Cookie:[x]]" {
		t.Error(in, header)
	}
}

// logged is what a handler of each kind writes.
func logged(log func(*slog.Logger)) string {
	var out bytes.Buffer
	options := &slog.HandlerOptions{Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
	log(slog.New(redact.Handler(slog.NewJSONHandler(&out, options))))
	log(slog.New(redact.Handler(slog.NewTextHandler(&out, options))))
	return out.String()
}

func TestHandlerMasksRecords(t *testing.T) {
	got := logged(func(log *slog.Logger) {
		log = log.With("version", "1", "api_key", "x", slog.Group("db", "password", "x", "host",
			"h"))
		log.WithGroup("request").Info("got Bearer abc123", "principal", "ada", "tool", "get",
			"role", "Admin", "missing", "scope", "request_id", "r",
			"token", 7, "auth", false, "session", time.Second, "key", "", "cookie", nil, "private",
			errors.New("x"), "secret", account{},
			slog.Group("credentials", "user", "u", slog.Group("inner", "n", 1)),
			slog.Group("plain", "a", 1, "b", "password=x", "c", 2))
		log.WithGroup("session").Debug("m", "id", "x", "on", true)
		log.Error("failed", "error", fmt.Errorf("open %s: %w", "postgres://a:b@h", io.EOF), "value",
			lazy{slog.GroupValue(slog.String("token", "x"),
				slog.Any("v", lazy{slog.StringValue("y")}))}, "who", shy{"x"}, "account",
			account{"ada", "x", "y"})
	})
	want := `{"level":"INFO","msg":"got Bearer ***MASKED***","version":"1","api_key":"***MASKED***","db":{"password":"***MASKED***","host":"h"},"request":{"principal":"ada","tool":"get","role":"Admin","missing":"scope","request_id":"r","token":"***MASKED***","auth":false,"session":1000000000,"key":"","cookie":null,"private":"***MASKED***","secret":"***MASKED***","credentials":{"user":"***MASKED***","inner":{"n":"***MASKED***"}},"plain":{"a":1,"b":"password=***MASKED***","c":2}}}
{"level":"DEBUG","msg":"m","version":"1","api_key":"***MASKED***","db":{"password":"***MASKED***","host":"h"},"session":{"id":"***MASKED***","on":true}}
{"level":"ERROR","msg":"failed","version":"1","api_key":"***MASKED***","db":{"password":"***MASKED***","host":"h"},"error":"open postgres://a:***MASKED***@h: EOF","value":{"token":"***MASKED***","v":"y"},"who":"password=***MASKED***","account":{"User":"ada","pw_secret":"***MASKED***"}}
level=INFO msg="got Bearer ***MASKED***" version=1 api_key=***MASKED*** db.password=***MASKED*** db.host=h request.principal=ada request.tool=get request.role=Admin request.missing=scope request.request_id=r request.token=***MASKED*** request.auth=false request.session=1s request.key="" request.cookie=<nil> request.private=***MASKED*** request.secret=***MASKED*** request.credentials.user=***MASKED*** request.credentials.inner.n=***MASKED*** request.plain.a=1 request.plain.b="password=***MASKED***" request.plain.c=2
level=DEBUG msg=m version=1 api_key=***MASKED*** db.password=***MASKED*** db.host=h session.id=***MASKED*** session.on=true
level=ERROR msg=failed version=1 api_key=***MASKED*** db.password=***MASKED*** db.host=h error="open postgres://a:***MASKED***@h: EOF" value.token=***MASKED*** value.v=y who="password=***MASKED***" account="map[User:ada pw_secret:***MASKED***]"
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNamesOfSecretsInAttributesMaskTheValuesBesideThem(t *testing.T) {
	got := logged(func(log *slog.Logger) {
		log.With("header", "Authorization", "value", "x1").Info("m", "name", "DB_PASSWORD", "value",
			"x2", slog.Group("g", "value", "x3", "key", "token", "b", "c"))
		log.Info("m", "env", []variable{{"API_KEY", "x4"}}, "pass", "x5")
		log.Info("m", "name", "page", "value", "y1", slog.Group("g", "name", "page", "value", "y2"),
			"pass", 31)
	})
	for _, secret := range []string{"x1", "x2", "x3", "x4", "x5"} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is shown in %s", secret, got)
		}
	}
	for _, plain := range []string{"y1", "y2", "31"} {
		if strings.Count(got, plain) != 2 {
			t.Errorf("%s is not shown in %s", plain, got)
		}
	}
}

// last keeps the record that a handler was given.
type last struct {
	slog.Handler
	record slog.Record
}

func (l *last) Handle(_ context.Context, r slog.Record) error { l.record = r; return nil }

func TestHandlerPassesOnWhatHoldsNoSecretAsItIs(t *testing.T) {
	next := &last{Handler: slog.DiscardHandler}
	h := redact.Handler(next)
	if h.Enabled(t.Context(), slog.LevelError) {
		t.Error("the level is next's to decide")
	}
	r := slog.NewRecord(time.Unix(1, 0), slog.LevelInfo, "m", 42)
	r.AddAttrs(slog.String("tool", "x"), slog.Int("n", 1), slog.Group("g", "a", "b"))
	if err := h.Handle(t.Context(), r); err != nil || !reflect.DeepEqual(next.record, r) {
		t.Errorf("%v, %v", next.record, err)
	}
	r.AddAttrs(slog.String("token", "x"))
	if err := h.Handle(t.Context(), r); err != nil || next.record.PC != 42 ||
		!next.record.Time.Equal(r.Time) || next.record.NumAttrs() != 4 {
		t.Errorf("%v, %v", next.record, err)
	}
}

func TestNoPlantedSecretLeavesALog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := secrets.Draw(t, "secret")
		text := fmt.Sprintf(rapid.SampledFrom(forms).Draw(t, "form"), secret)
		var plant func(depth int) any
		plant = func(depth int) any {
			switch n := rapid.IntRange(0, 12).Draw(t, "kind"); {
			case n == 0:
				return errors.New(text)
			case n == 1:
				return errors.Join(io.EOF, fmt.Errorf("x: %w", errors.New(text)))
			case n == 2:
				return shy{secret}
			case n == 3:
				return account{User: text, Password: secret, hidden: secret}
			case n == 4:
				return &account{User: text, Password: secret, hidden: secret}
			case n == 5:
				return []byte(text)
			case n == 6:
				return map[string]any{"client_secret": secret, text: 1}
			case n == 7:
				return http.Header{"Authorization": {"Bearer " + secret}, "X": {text}}
			case n == 8 && depth < 3:
				return []any{plant(depth + 1), map[string]any{"x": plant(depth + 1)}}
			case n == 9 && depth < 3:
				return lazy{slog.GroupValue(slog.Any("a", plant(depth+1)),
					slog.String("token", secret))}
			case n == 10 && depth < 3:
				return slog.GroupValue(slog.Any("a", plant(depth+1)), slog.String(text, "x"))
			case n == 11:
				return []string{text}
			}
			return text
		}
		got := logged(func(log *slog.Logger) {
			switch rapid.IntRange(0, 3).Draw(t, "place") {
			case 0:
				log.With("x", plant(0)).Info("m")
			case 1:
				log.WithGroup(text).With("x", plant(0)).Info("m", "y", plant(0))
			case 2:
				log.Info(text, "y", plant(0))
			default:
				log.Info("m", slog.Group("g", "api_token", secret, "x", plant(0)))
			}
		})
		if strings.Contains(got, secret) {
			t.Fatalf("%q leaves in %s", secret, got)
		}
	})
}

// A text of a client cannot change how a line is displayed, wherever in the record it is.
func TestLinesHaveEscapesForWhatReordersText(t *testing.T) {
	const odd = "a\u202eb\x1b\u009b\u2029c"
	var out bytes.Buffer
	log := slog.New(redact.Handler(slog.NewJSONHandler(&out, nil)))
	log.With(odd, odd).WithGroup(odd).Info(odd, odd, odd, "error", errors.New(odd),
		slog.Group(odd, "x", odd), "any", map[string]any{odd: []string{odd}}, "lines", "a\n\tb")
	got := out.String()
	if hidden := strings.IndexFunc(got, func(r rune) bool {
		return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}); hidden >= 0 {
		t.Errorf("%q in %s", got[hidden:], got)
	}
	const want = `a\\u202eb\\u001b\\u009b\\u2029c`
	if strings.Count(got, want) != 11 || !strings.Contains(got, `"lines":"a\n\tb"`) {
		t.Error(got)
	}
}

func BenchmarkHandler(b *testing.B) {
	attrs := []any{"principal", "ada", "tool", "get_device", "role", "Admin", "missing",
		"scope dcim:write", "request_id", "QWERTYUIOPASDFGHJKLZXCVBNM", "duration", time.Second,
		"count", 7}
	for name, handler := range map[string]slog.Handler{"bare": slog.NewJSONHandler(io.Discard, nil),
		"redacted": redact.Handler(slog.NewJSONHandler(io.Discard, nil))} {
		b.Run(name, func(b *testing.B) {
			log := slog.New(handler)
			b.ReportAllocs()
			for b.Loop() {
				log.Info("the call was refused: it is not allowed", attrs...)
			}
		})
	}
}

func BenchmarkText(b *testing.B) {
	s := strings.Repeat("the call was refused, since the role Viewer does not reach get_device. ",
		15)
	token := strings.Repeat("eyJhbGciOiJSUzI1NiJ9.", 40)
	for name, m := range map[string]redact.Masker{
		"without texts":     {},
		"with a token":      {Texts: func() []string { return []string{token} }},
		"with a passphrase": {Texts: func() []string { return []string{"correct horse+battery/staple"} }},
	} {
		for _, size := range []int{20, len(s)} {
			b.Run(fmt.Sprintf("%s, %d bytes", name, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					m.Text(s[:size])
				}
			})
		}
	}
}

package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMergedLinesHaveTheirConditions(t *testing.T) {
	of := func(version, transport string) variant {
		return variant{version: version, transport: transport}
	}
	for name, test := range map[string]struct {
		got  map[variant][]string
		want string
	}{
		"equal": {map[variant][]string{of("2025-11-25", "http"): {"< a"},
			of("2026-07-28", "stdio"): {"< a"}}, "< a"},
		"a line more": {map[variant][]string{of("2025-11-25", "http"): {"< a"},
			of("2026-07-28", "http"): {"< 400", "< a"}}, "[2026-07-28] < 400|< a"},
		"another order": {map[variant][]string{of("2025-11-25", "http"): {"< a", "< b"},
			of("2026-07-28", "http"): {"< b", "< a"}},
			"[sessions] < a|[sessions] < b|[2026-07-28] < b|[2026-07-28] < a"},
		"twice": {map[variant][]string{of("2025-11-25", "http"): {"< a", "< a"},
			of("2025-11-25", "stdio"): {"< a"}}, "< a|[http] < a"},
	} {
		lines := merge(test.got)
		for v, want := range test.got {
			var own []string
			for _, text := range lines {
				var l line
				if m := conditionOf.FindStringSubmatch(text); m != nil {
					l.condition, text = m[1], text[len(m[0]):]
				}
				if v.has(l.condition) {
					own = append(own, text)
				}
			}
			if !slices.Equal(own, want) {
				t.Errorf("%s: %v reads %q", name, v, own)
			}
		}
		if got := strings.Join(lines, "|"); name != "another order" && got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAlternativesAreAllChosen(t *testing.T) {
	texts, choices := pick("(a|b)> x (|{\"n\":1}) (f)")
	want := []string{`a> x  (f)`, `a> x {"n":1} (f)`, `b> x  (f)`, `b> x {"n":1} (f)`}
	if !slices.Equal(texts, want) || choices[3].in("$1 $2") != `b {"n":1}` {
		t.Errorf("%q %v", texts, choices)
	}
}

func TestPatternsMatchWholeLines(t *testing.T) {
	for _, test := range []struct {
		expected, got string
		matches       bool
	}{{"< a.c", "< a.c", true}, {"< a.c", "< abc", false}, {"< a…", "< abc", true},
		{"< …c", "< abc", true}, {"< a…b", "< abc", false}, {"< a", "< ab", false}} {
		if got := matches(test.expected, test.got); got != test.matches {
			t.Errorf("%q, %q: %v", test.expected, test.got, got)
		}
	}
}

func TestLinesThatAreNoneAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"-- steps --\nvera> tools/list\n":                      "does not say what it proves",
		"x\n-- server --\na: b\n":                              "it has no steps",
		"x\n-- steps --\n< a\n":                                "before the first step",
		"x\n-- steps --\nvera> tools/list\nexpect something\n": "is no line of a scenario",
	} {
		path := filepath.Join(t.TempDir(), "a.txtar")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An update changes what a step expects, and nothing else.
func TestUpdateKeepsOtherLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txtar")
	const before = "x\n-- server --\na: b\n-- steps --\n# why\nvera> ping\n+ A: b\n< old\n\n" +
		"mel> ping\n< {}\nsame: ping\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write(map[*step][]string{f.steps[0]: {"* a", "< b"}}); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if want := strings.Replace(before, "< old", "* a\n< b", 1); err != nil || string(after) != want {
		t.Errorf("%v\n%s", err, after)
	}
}

// noted notes errors in place of failing.
type noted struct {
	testing.TB
	errors []string
}

func (n *noted) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

func (n *noted) Failed() bool { return len(n.errors) > 0 }

// A server that tells a known name from an unknown one fails "same", and so does a comparison of a
// request with itself.
func TestSameFailsAtADifferenceAndWithoutAChange(t *testing.T) {
	for name, test := range map[string]struct{ step, same, want string }{
		"body":           {`vera> ping {"name":"plain"}`, "plain", ""},
		"told body":      {`vera> ping {"name":"told"}`, "told", "with told:"},
		"header":         {"vera> ping\n+ X-Name: plain", "plain", ""},
		"told header":    {"vera> ping\n+ X-Name: told", "told", "with told:"},
		"value":          {"vera> ping\n+ X-Name: $secret", "$secret -> AAAA", "with told:"},
		"query":          {"vera> ping\n+ ?name=plain", "plain", ""},
		"told query":     {"vera> ping\n+ ?name=told", "told", "with told:"},
		"a prime event":  {"vera> ping\n+ X-Name: prime", "prime", "with prime:"},
		"ids of events":  {"vera> ping\n+ X-Name: plain\n+ X-Id: 7", "7", ""},
		"no change":      {"vera> ping\n+ X-Name: plain", "told", "the request is the same"},
		"no value":       {"vera> ping\n+ X-Name: $secret", "$other -> A", "the request is the same"},
		"no comparison":  {"vera#s> ping", "ping", "has nothing to compare"},
		"stdio":          {`[stdio] vera> ping {"name":"plain"}`, "plain", ""},
		"header, stdio":  {"[stdio] vera> ping\n+ X-Name: plain", "plain", "the request is the same"},
		"told, on stdio": {`[stdio] vera> ping {"name":"told"}`, "told", "with told:"},
	} {
		path := filepath.Join(t.TempDir(), "a.txtar")
		step, _, _ := strings.Cut(test.step, "\n")
		text := "x\n-- steps --\nlet secret = told\n" + test.step + "\nsame: " + test.same + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := read(path)
		if err != nil {
			t.Fatal(err)
		}
		n := &noted{TB: t}
		v := variant{version: "2026-07-28", transport: "http"}
		if strings.HasPrefix(step, "[stdio] ") {
			v.transport = "stdio"
		}
		synctest.Test(t, func(t *testing.T) {
			n.TB = t
			r := newRunner(n, f, v, t.Context(), telling())
			for _, s := range f.steps {
				r.step(s)
			}
			r.close()
		})
		if got := strings.Join(n.errors, "\n"); len(n.errors) > 1 ||
			(got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// played runs the steps of a file, and returns the errors.
func played(t *testing.T, text string, v variant, world World) string {
	path := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	n := &noted{}
	synctest.Test(t, func(t *testing.T) {
		n.TB = t
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r := newRunner(n, f, v, ctx, world)
		r.run(map[*step]map[variant][]string{}, map[*step]bool{})
		// The server gets the end of its input, and not of its context.
		r.ctx = t.Context()
		r.close()
	})
	return strings.Join(n.errors, "\n")
}

// The id, the status and the headers of an answer are compared where "show" names them.
func TestAnswersAreComparedByIDStatusAndHeader(t *testing.T) {
	const server = "x\n-- server --\nshow: ids status Content-Type\n-- steps --\n"
	for name, test := range map[string]struct{ steps, want string }{
		"an id": {"vera> as (1e0|-1|\"a\") ping\n< 200\n< Content-Type: text/plain\n" +
			"< $1: error -1 no", ""},
		"the usual id": {"vera> ping\n< 200\n< Content-Type: text/plain\n< 7: error -1 no", ""},
		"another id": {"vera> as 1e0 ping\n< 200\n< Content-Type: text/plain\n< 1: error -1 no",
			"< 1e0: error"},
		"no id":          {"vera> as 0 ping\n< 200\n< Content-Type: text/plain\n< none: error -1 no", ""},
		"a status":       {"vera> notify ping {}\n< 202", ""},
		"another status": {"vera> notify ping {}\n< 200", "< 202"},
		"a stream":       {"vera#s> GET\nvera#s> status\n< 202\nvera#s> rest", ""},
	} {
		got := played(t, server+test.steps+"\n", variant{"2026-07-28", "http", ""}, repeating())
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// repeating answers a request with an error that has the request's own id. An id of 0 is left out.
func repeating() World {
	answer := func(body []byte) string {
		var m message
		if _ = json.Unmarshal(body, &m); m.ID == nil {
			return ""
		}
		id := `"id":` + string(m.ID) + `,`
		if string(m.ID) == "0" {
			id = ""
		}
		return `{"jsonrpc":"2.0",` + id + `"error":{"code":-1,"message":"no"}}`
	}
	return World{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			text := answer(body)
			if text == "" {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, text)
		}),
		Token:   func(string) string { return "" },
		Records: func() []string { return nil },
		Close:   func(context.Context) error { return nil },
		// Stdio answers at the end of the input, but for a request of the method "never". It
		// answers a notification of "stray" with another one.
		Stdio: func(ctx context.Context, in io.Reader, out io.Writer, _ string) error {
			defer context.AfterFunc(ctx, func() {
				_ = in.(*io.PipeReader).CloseWithError(ctx.Err())
			})()
			all, err := io.ReadAll(in)
			for line := range strings.Lines(string(all)) {
				if strings.Contains(line, "stray") {
					fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/stray"}`)
				} else if !strings.Contains(line, "never") {
					fmt.Fprintln(out, answer([]byte(line)))
				}
			}
			return err
		},
	}
}

func TestEndOfInputShowsWhatTheServerStillWrites(t *testing.T) {
	const server = "x\n-- server --\nshow: ids\n-- steps --\n"
	for steps, want := range map[string]string{
		"vera#a> ping\nvera> eof\nvera#a> rest\n< 7: error -1 no":  "",
		"vera#a> never\nvera> eof\nvera#a> rest":                   "",
		"vera#a> never\nvera> eof\nvera#a> rest\n< 7: error -1 no": "got:",

		// of no request
		"vera> notify stray {}\nvera> eof\n* notifications/stray": "",
		"vera> notify stray {}\nvera> eof":                        "* notifications/stray",
	} {
		got := played(t, server+steps+"\n", variant{"2026-07-28", "stdio", ""}, repeating())
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", steps, got, want)
		}
	}
}

func TestRunThatWaitsForNothingEnds(t *testing.T) {
	got := played(t, "x\n-- steps --\nvera> never\n< d\n",
		variant{"2026-07-28", "stdio", ""}, repeating())
	if !strings.Contains(got, "< d") {
		t.Error(got)
	}
}

// A bubble begins at midnight.
func TestTimePassesAtAStep(t *testing.T) {
	world := repeating()
	world.Do = func(string, string) error {
		return errors.New(time.Now().UTC().Format(time.TimeOnly))
	}
	if got := played(t, "x\n-- steps --\nserver> wait 90s\nserver> end\n< error 00:01:30\n",
		variant{"2026-07-28", "http", ""}, world); got != "" {
		t.Error(got)
	}
}

// telling answers a message that has the word told with another text, and one that has the word
// prime with an event before the answer.
func telling() World {
	answer := func(asked string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"result":{"told":%v}}`,
			strings.Contains(asked, "told"))
	}
	return World{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			if r.Header.Get("X-Name") == "prime" {
				fmt.Fprint(w, "event: prime\nid: 1\ndata: \n\n")
			}
			fmt.Fprintf(w, "id: %s1\ndata: %s\n\n", r.Header.Get("X-Id"),
				answer(string(body)+r.URL.RawQuery+r.Header.Get("X-Name")))
		}),
		Token:   func(string) string { return "" },
		Records: func() []string { return nil },
		Close:   func(context.Context) error { return nil },
		Stdio: func(_ context.Context, in io.Reader, out io.Writer, _ string) error {
			for lines := bufio.NewScanner(in); lines.Scan(); {
				fmt.Fprintln(out, answer(lines.Text()))
			}
			return nil
		},
	}
}

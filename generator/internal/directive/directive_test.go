package directive

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

func comment(text string) *ast.Comment { return &ast.Comment{Slash: 1000, Text: text} }

func parse(t *testing.T, text string) (*Directive, []Problem) {
	t.Helper()
	c := comment(text)
	if !Is(c) {
		t.Fatalf("%s is no directive", text)
	}
	return Parse(c)
}

func TestValuesAreWordsOrGoStrings(t *testing.T) {
	for text, want := range map[string]map[string][]string{
		`//mcp:tool public`:                                {"public": nil},
		"//mcp:tool\tpublic \t readonly":                   {"public": nil, "readonly": nil},
		`//mcp:tool minrole=Viewer`:                        {"minrole": {"Viewer"}},
		`//mcp:tool minrole=Viewer,Auditor`:                {"minrole": {"Viewer", "Auditor"}},
		`//mcp:tool title="Find \"it\""`:                   {"title": {`Find "it"`}},
		"//mcp:tool title=`Find \"it\" \\n`":               {"title": {`Find "it" \n`}},
		`//mcp:tool title=a=b`:                             {"title": {"a=b"}},
		`//mcp:tool title=a,b`:                             {"title": {"a,b"}},
		`//mcp:tool title=über`:                            {"title": {"über"}},
		`//mcp:tool scopes=read,write:all`:                 {"scopes": {"read", "write:all"}},
		`//mcp:tool scopes="read",write`:                   {"scopes": {"read", "write"}},
		`//mcp:tool anyscope=repo,public_repo`:             {"anyscope": {"repo", "public_repo"}},
		`//mcp:tool catalog=a`:                             {"catalog": {"a"}},
		`//mcp:tool catalog=b,a/ü,"night shift","c, d"`:    {"catalog": {"b", "a/ü", "night shift", "c, d"}},
		`//mcp:tool readonly=false openworld=true`:         {"readonly": {"false"}, "openworld": {"true"}},
		`//mcp:tool denial=forbid`:                         {"denial": {"forbid"}},
		`//mcp:param x pattern=[a-z]{3,12}`:                {"pattern": {"[a-z]{3,12}"}},
		`//mcp:param x default=`:                           nil,
		`//mcp:param x default="" description="a\nb"`:      {"default": {""}, "description": {"a\nb"}},
		`//mcp:param x enum=a,"b, c" minimum=-1.5e3`:       {"enum": {"a", "b, c"}, "minimum": {"-1.5e3"}},
		`//mcp:param x nullable maxItems=0`:                {"nullable": nil, "maxItems": {"0"}},
		`//mcp:limit timeout=1m30s`:                        {"timeout": {"1m30s"}},
		`//mcp:ignore reason="see http://example.com/why"`: {"reason": {"see http://example.com/why"}},
		`//mcp:server name=http://x version=1.0.0`:         {"name": {"http://x"}, "version": {"1.0.0"}},
	} {
		d, problems := parse(t, text)
		if want == nil {
			if len(problems) == 0 {
				t.Errorf("%s: no problem", text)
			}
			continue
		}
		if len(problems) > 0 || d.Broken || len(d.Args) != len(want) {
			t.Errorf("%s: %v, %v", text, problems, d.Args)
		}
		for key, values := range want {
			if !d.Has(key) || !slices.Equal(d.List(key), values) {
				t.Errorf("%s: %s is %q", text, key, d.List(key))
			}
		}
	}
}

func TestReadersOfADirective(t *testing.T) {
	d, _ := parse(t, `//mcp:tool readonly destructive=false scopes=a,b title=T public`)
	if h := d.Hint("readonly"); h == nil || !*h {
		t.Error("readonly")
	}
	if h := d.Hint("destructive"); h == nil || *h {
		t.Error("destructive")
	}
	if d.Hint("openworld") != nil || d.Has("openworld") || d.Text("name") != "" || d.Text("public") != "" || d.Text("title") != "T" {
		t.Error("what is not written is not there")
	}
	if _, ok := d.Duration("timeout"); ok {
		t.Error("timeout")
	}
	d, _ = parse(t, `//mcp:limit timeout=90s`)
	if v, ok := d.Duration("timeout"); !ok || v != 90*time.Second {
		t.Error(v)
	}
	d, _ = parse(t, `//mcp:roles A<B  <	C_1`)
	var chain []string
	for _, v := range d.Chain {
		chain = append(chain, v.Text)
	}
	if !slices.Equal(chain, []string{"A", "B", "C_1"}) {
		t.Error(chain)
	}
}

// Every position that a directive or a problem names is a place within the comment.
func TestPositionsPointAtWhatTheySay(t *testing.T) {
	text := `//mcp:tool  minrole=Viewer title="two words" scopes=a,"b"`
	d, _ := parse(t, text)
	sub := func(pos, end token.Pos) string { return text[pos-1000 : end-1000] }
	for key, want := range map[string]string{"minrole": "minrole=Viewer", "title": `title="two words"`, "scopes": `scopes=a,"b"`} {
		a, _ := d.Arg(key)
		if got := sub(a.Pos, a.End); got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
	a, _ := d.Arg("scopes")
	if got := sub(a.Values[1].Pos, a.Values[1].End); got != `"b"` {
		t.Errorf("second scope: %q", got)
	}
	text = `//mcp:roles Guest < Guests < Guest < Owner`
	d, problems := parse(t, text)
	if len(problems) != 0 || d.Chain[2].Pos != 1000+token.Pos(strings.LastIndex(text, "Guest <")) {
		t.Errorf("got %+v, %v", d, problems)
	}
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]diag.Code{
		"//mcp:tool\u00a0public":                diag.Malformed,
		"//mcp:tool public\u200b":               diag.Malformed,
		"//mcp:tool title=a\u00a0b":             diag.Malformed,
		"//mcp:tool title=\xff":                 diag.Malformed,
		"//mcp:tool\u200b public":               diag.Malformed,
		"//mcp:tool public // note":             diag.Malformed,
		"//mcp:tool public /* note */":          diag.Malformed,
		"//mcp:tool, public":                    diag.Malformed,
		"//mcp:tool=x":                          diag.Malformed,
		"//mcp:tool:sub":                        diag.Malformed,
		"//mcp:tOOL public":                     diag.Malformed,
		"//mcp:tool2 public":                    diag.Malformed,
		"//mcp:roles A < B // note":             diag.Malformed,
		`//mcp:tool title="a"b`:                 diag.Malformed,
		`//mcp:tool title=a"b"`:                 diag.Malformed,
		`//mcp:tool title`:                      diag.Malformed,
		`//mcp:tool readonly=`:                  diag.Malformed,
		`//mcp:tool =x`:                         diag.Malformed,
		`//mcp:tool title = x`:                  diag.Malformed,
		`//mcp:tool scopes=a ,b`:                diag.Malformed,
		`//mcp:tool scopes=a, b`:                diag.BadValue,
		`//mcp:tool scopes=a\b`:                 diag.BadValue,
		`//mcp:tool catalog`:                    diag.Malformed,
		`//mcp:tool catalog=`:                   diag.Malformed,
		`//mcp:tool catalog=a,`:                 diag.BadValue,
		`//mcp:tool catalog=a,b,a`:              diag.Duplicate,
		`//mcp:tool catalog=a catalog=b`:        diag.Duplicate,
		`//mcp:tool catalog=" a"`:               diag.BadValue,
		`//mcp:tool catalog="a "`:               diag.BadValue,
		`//mcp:tool catalog="a\u2028b"`:         diag.BadValue,
		`//mcp:tool catalog="\xff"`:             diag.BadValue,
		`//mcp:prompt catalog=a`:                diag.UnknownKey,
		`//mcp:default catalog=a`:               diag.UnknownKey,
		`//mcp:server app=1x`:                   diag.BadValue,
		`//mcp:param x minimum=0x10`:            diag.BadValue,
		`//mcp:param x minimum=1.`:              diag.BadValue,
		`//mcp:param x minLength=1.5`:           diag.BadValue,
		`//mcp:param x nullable=true`:           diag.BadValue,
		`//mcp:limit timeout=10`:                diag.BadValue,
		`//mcp:limit timeout=999us`:             diag.OutOfRange,
		`//mcp:worker of=Service`:               diag.UnknownKey,
		`//mcp:limit rate=10`:                   diag.BadValue,
		`//mcp:limit rate=0/s`:                  diag.BadValue,
		`//mcp:limit rate=10/d`:                 diag.BadValue,
		`//mcp:limit rate=1000001/h`:            diag.OutOfRange,
		`//mcp:limit concurrency=0`:             diag.BadValue,
		`//mcp:limit concurrency=1000001`:       diag.BadValue,
		`//mcp:limit memory=512MB`:              diag.BadValue,
		`//mcp:limit memory=1.5GiB`:             diag.BadValue,
		`//mcp:limit memory=4095KiB`:            diag.OutOfRange,
		`//mcp:limit memory=1025GiB`:            diag.OutOfRange,
		`//mcp:limit memory=9999999999GiB`:      diag.BadValue,
		`//mcp:limit memory=99999999999KiB`:     diag.BadValue,
		`//mcp:limit output=2GiB`:               diag.OutOfRange,
		`//mcp:limit isolate=container`:         diag.BadValue,
		`//mcp:limit isolate`:                   diag.Malformed,
		`//mcp:limit capabilities=disk`:         diag.BadValue,
		`//mcp:limit capabilities=exec,exec`:    diag.Duplicate,
		`//mcp:limit capabilities=none,exec`:    diag.Contradiction,
		`//mcp:allow file.read`:                 diag.Malformed,
		`//mcp:allow file.read=`:                diag.BadValue,
		`//mcp:allow file.read={}`:              diag.BadValue,
		`//mcp:allow file.read={path`:           diag.BadValue,
		`//mcp:allow file.read=path`:            diag.BadValue,
		`//mcp:allow file.read=public/**`:       diag.BadValue,
		`//mcp:allow file.read={a},{b}`:         diag.Malformed,
		`//mcp:allow file.read={{a}}`:           diag.BadValue,
		`//mcp:allow file.read={a} // b`:        diag.Malformed,
		`//mcp:allow file.open={a}`:             diag.BadValue,
		`//mcp:allow files.read={a}`:            diag.BadValue,
		`//mcp:allow net.listen={a}`:            diag.BadValue,
		`//mcp:allow system.comand={a}`:         diag.BadValue,
		`//mcp:allow file={a}`:                  diag.BadValue,
		`//mcp:allow File.Read={a}`:             diag.BadValue,
		`//mcp:allow ={a}`:                      diag.Malformed,
		`//mcp:allow a.b={x} a.b={x}`:           diag.Duplicate,
		`//mcp:allow a.b={x}:y a.b={x}:z`:       diag.Duplicate,
		`//mcp:allow file.read={a}:`:            diag.BadValue,
		`//mcp:allow file.read={a}*.txt`:        diag.BadValue,
		`//mcp:allow file.read=:*.txt`:          diag.BadValue,
		`//mcp:allow file.read={a}:/etc/*`:      diag.BadValue,
		`//mcp:allow file.read={a}:../*`:        diag.BadValue,
		`//mcp:allow file.read={a}:x/`:          diag.BadValue,
		`//mcp:allow file.read={a}:*.md,*.txt`:  diag.Malformed,
		`//mcp:allow net.connect={a}:http://b`:  diag.BadValue,
		`//mcp:allow system.command={a}:"ls"`:   diag.Malformed,
		`//mcp:allow system.command={a}:a;b`:    diag.BadValue,
		`//mcp:Roles`:                           "",
		`//mcp:roles highest`:                   diag.BadHierarchy,
		`//mcp:roles A <`:                       diag.BadHierarchy,
		`//mcp:scopes`:                          diag.BadHierarchy,
		`//mcp:scopes a b`:                      diag.BadHierarchy,
		`//mcp:scopes a >`:                      diag.BadHierarchy,
		`//mcp:scopes > a`:                      diag.BadHierarchy,
		`//mcp:scopes a > b c`:                  diag.BadHierarchy,
		`//mcp:scopes a > b,`:                   diag.BadHierarchy,
		`//mcp:scopes a>b>c`:                    diag.BadHierarchy,
		`//mcp:scopes a,b > c`:                  diag.BadHierarchy,
		`//mcp:scopes a > b // note`:            diag.Malformed,
		`//mcp:tool anyscope=`:                  diag.Malformed,
		`//mcp:tool anyscope=a,a`:               diag.Duplicate,
		`//mcp:roles 1 < 2`:                     diag.BadHierarchy,
		`//mcp:roles Viewer<Member,Admin`:       diag.BadHierarchy,
		`//mcp:ignore because`:                  diag.UnknownKey,
		`//mcp:default readonly`:                diag.UnknownKey,
		`//mcp:tool denial=conceal denial=hide`: diag.Duplicate,
		`//mcp:param`:                           diag.MissingKey,
		`//mcp:param minimum=1`:                 diag.MissingKey,
		`//mcp:param limit`:                     diag.MissingKey,
		`//mcp:limit`:                           diag.MissingKey,
		"//mcp:limit \t":                        diag.MissingKey,
		`//mcp:allow`:                           diag.MissingKey,
		`//mcp:default`:                         diag.MissingKey,
		`//mcp:schema`:                          diag.MissingKey,
		`//mcp:ignore`:                          diag.MissingKey,
		`//mcp:resource`:                        diag.MissingKey,
		`//mcp:complete`:                        diag.MissingKey,
	} {
		c := &ast.Comment{Slash: 1, Text: text}
		if want == "" {
			if Is(c) {
				t.Errorf("%s should be no directive", text)
			}
			continue
		}
		d, problems := Parse(c)
		if len(problems) == 0 || problems[0].Code != want || !d.Broken {
			t.Errorf("%q: got %v, want %s", text, problems, want)
		}
		for _, p := range problems {
			if p.Message == "" || p.Fix == "" || strings.Contains(p.Message+p.Fix, "\n") {
				t.Errorf("%q: not a message and a fix of one line each: %+v", text, p)
			}
		}
	}
}

func TestBindingsAndLimitsAreRead(t *testing.T) {
	d, problems := parse(t, "//mcp:allow file.read={path} file.write={path}\tqueue.push={the-queue}")
	var got []string
	for _, a := range d.Args {
		got = append(got, a.Key+" "+a.Values[0].Text)
	}
	if want := []string{"file.read path", "file.write path", "queue.push the-queue"}; len(problems) > 0 || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, problems)
	}
	if d, problems = parse(t, "//mcp:allow file.read={from} file.read={to}"); len(problems) > 0 || len(d.Args) != 2 {
		t.Errorf("one kind of two arguments: %v", problems)
	}
	for text, want := range map[string]string{
		`file.read={path}:*.txt`:                "**/*.txt",
		`file.read={path}:.`:                    ".",
		`file.write={path}:**`:                  "**",
		`file.read={path}:docs/*.md`:            "docs/*.md",
		`file.read="{path}:two words, a comma"`: "**/two words, a comma",
		`system.command="{argv}:git log **"`:    "git log **",
		`net.connect={url}:API.example.com:443`: "api.example.com:443",
		`queue.push={queue}:mail-*`:             "mail-*",
	} {
		d, problems := parse(t, "//mcp:allow "+text)
		if len(problems) > 0 || len(d.Args) != 1 || len(d.Args[0].Values) != 2 ||
			d.Args[0].Values[1].Text != want {
			t.Errorf("%s: %+v, %v", text, d.Args, problems)
		}
	}
	d, problems = parse(t, `//mcp:limit timeout=5s memory=512MiB output=64KiB concurrency=2 rate=100/m isolate=process capabilities=network,files`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if d.Size("memory") != 512*model.MiB || d.Size("output") != 64*model.KiB || d.Count("concurrency") != 2 ||
		d.Rate("rate") != (model.Rate{Calls: 100, Per: time.Minute}) || d.Text("isolate") != "process" ||
		!slices.Equal(d.List("capabilities"), []string{"network", "files"}) {
		t.Errorf("got %+v", d.Args)
	}
	d, _ = parse(t, `//mcp:limit timeout=5s`)
	if d.Size("memory") != 0 || d.Count("concurrency") != 0 || d.Rate("rate") != (model.Rate{}) {
		t.Error("what is not written is not there")
	}
}

// A pattern in a directive would say which files the tool may use; grants do.
func TestAPatternInPlaceOfAnArgumentIsTaught(t *testing.T) {
	_, problems := Parse(comment("//mcp:allow file.read=public/**"))
	if len(problems) != 1 || !strings.Contains(problems[0].Fix, "an administrator grants") {
		t.Errorf("got %+v", problems)
	}
}

func TestSuggestionsNameTheNearest(t *testing.T) {
	list := []string{"Viewer", "Member", "Manager", "Admin"}
	for wrong, want := range map[string]string{
		"Manger": "did you mean Manager?",
		"admin":  "did you mean Admin?",
		"Boss":   "write one of Viewer, Member, Manager, Admin",
		"":       "write one of Viewer, Member, Manager, Admin",
	} {
		if got := Nearest("", wrong, list); got != want {
			t.Errorf("%s: %s", wrong, got)
		}
	}
	if got := Nearest("isolate=", "thread", []string{"process"}); got != "write isolate=process" {
		t.Error(got)
	}
}

// The table is the grammar and the documentation: it must be complete, and its examples hold.
func TestTheTableOfDirectivesIsSound(t *testing.T) {
	for _, s := range Specs() {
		if s.Purpose == "" || len(s.Places) == 0 {
			t.Errorf("%s is not documented", s.Name)
		}
		d, problems := parse(t, s.Example)
		if len(problems) > 0 || d.Name != s.Name {
			t.Errorf("the example of %s: %v", s.Name, problems)
		}
		seen := map[string]bool{}
		for _, k := range s.Keys {
			if seen[k.Name] || !keyWord.MatchString(k.Name) || k.Purpose == "" ||
				(k.Kind == Choice || k.Kind == Choices) && len(k.Choices) == 0 ||
				k.Kind == Size && k.Most == 0 {
				t.Errorf("key %s of %s", k.Name, s.Name)
			}
			seen[k.Name] = true
		}
		text, ok := Explain("//mcp:" + s.Name)
		if !ok || !strings.Contains(text, s.Example) || !strings.Contains(text, s.Where()) {
			t.Errorf("explain %s:\n%s", s.Name, text)
		}
		for _, k := range s.Keys {
			if !strings.Contains(text, k.Name) {
				t.Errorf("explain %s is silent about %s", s.Name, k.Name)
			}
		}
		if !strings.HasPrefix(s.Synopsis(), "//mcp:"+s.Name) {
			t.Errorf("synopsis %s", s.Synopsis())
		}
	}
	for _, name := range []string{"workers", "nothing", ""} {
		if _, ok := Explain(name); ok {
			t.Errorf("%q is no directive", name)
		}
	}
}

func TestExplainText(t *testing.T) {
	const want = `//mcp:complete completes an argument of a prompt or a variable of a resource, for callers who may use the prompt or resource. mcpgen completes enums without it.

Allowed on a func or method or an interface method.

    ref=TEXT       the prompt's name, or the resource's uri= unchanged
    argument=TEXT  the argument or the variable

Example

    //mcp:complete ref=welcome argument=name
`
	if got, _ := Explain("complete"); got != want {
		t.Errorf("got:\n%s", got)
	}
	for name, want := range map[string]string{
		"limit": "//mcp:limit [timeout=DURATION] [nonblocking] [memory=SIZE] [output=SIZE] " +
			"[concurrency=COUNT] [rate=CALLS/s|m|h] [isolate=process] [capabilities=files,network,exec,none]",
		"allow":  "//mcp:allow KIND={ARGUMENT}[:PATTERN] …",
		"worker": "//mcp:worker",
		"roles":  "//mcp:roles [A < B < C]",
	} {
		if s, _ := Lookup(name); s.Synopsis() != want {
			t.Errorf("got %s", s.Synopsis())
		}
	}
	if s, _ := Lookup("param"); !strings.HasPrefix(s.Synopsis(), "//mcp:param NAME [title=TEXT]") {
		t.Errorf("got %s", s.Synopsis())
	}
	if s, _ := Lookup("tool"); !strings.Contains(s.Synopsis(), " [denial=conceal|forbid|challenge] ") || !strings.Contains(s.Synopsis(), " [readonly[=true|false]] ") {
		t.Errorf("got %s", s.Synopsis())
	}
}

// FuzzParse holds two laws for any comment: parsing does not panic, and every position lies
// within the comment; what has no problem is not broken.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("../check/testdata/codes/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatal("no cases to start from")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			for line := range strings.Lines(string(file.Data)) {
				if strings.Contains(line, "mcp:") {
					f.Add(strings.TrimSpace(line))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range Misses(text) {
			if _, ok := Lookup(m.Name); !ok || m.Line > strings.Count(text, "\n") {
				t.Fatalf("%q: %+v", text, m)
			}
		}
		c := &ast.Comment{Slash: 1, Text: text}
		if !Is(c) {
			return
		}
		d, problems := Parse(c)
		within := func(pos, end token.Pos) {
			if pos < 1 || end < pos || int(end) > len(text)+2 {
				t.Fatalf("%q: %d-%d is not within the comment", text, pos, end)
			}
		}
		for _, a := range d.Args {
			within(a.Pos, a.End)
			for _, v := range a.Values {
				within(v.Pos, v.End)
			}
		}
		for _, v := range d.Chain {
			within(v.Pos, v.End)
		}
		for _, p := range problems {
			within(p.Pos, p.End)
		}
		if d.Broken != (len(problems) > 0) {
			t.Fatalf("%q: broken %v with %d problems", text, d.Broken, len(problems))
		}
	})
}

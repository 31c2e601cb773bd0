package document

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

var update = flag.Bool("update", false, "write testdata/page.golden.html")

// everyPart is a service with each part of a page. Its texts are what a page must not interpret.
func everyPart() model.Service {
	s := everyRule(true)
	s.Server.Title = "Desk & <b>Co</b>"
	s.Tools[0].Description = "First line.\n<script>alert(1)</script> \"quoted\" {{.Title}}\n"
	s.Tools[0].Title = "<i>A</i>"
	s.Tools[0].Catalogs = []string{"night <shift>"}
	s.Tools[0].Input.Schema = schemaOf(`{"type":"object","required":["text"],"properties":{
		"text":{"type":"string","maxLength":9,"pattern":"^` + "`" + `</script>","description":"The <b>text</b>."},
		"count":{"type":"integer","minimum":1,"default":3},
		"place":{"type":"object","properties":{"row":{"enum":["<a>","b"]}}}}}`)
	s.Tools[0].Facts, s.Tools[5].Facts = []string{"none"}, []string{"private", "untrusted"}
	stays := false
	s.Tools[1].Hints.OpenWorld = &stays
	s.Tools[1].Input.File = "schemas/b.json"
	s.Tools[1].Output = model.Output{Kind: model.TextOutput}
	s.Proof = &model.Proof{Current: true, Tools: []model.Proven{{Tool: "a_public"}}}
	s.Prompts = []model.Prompt{{Tool: model.Tool{
		Name: "greet", Description: "Greets.", Access: model.Access{MinRole: []string{"Clerk"}},
	}}}
	s.Resources = []model.Resource{{URI: "desk://hours?a=\"b\"", MIMEType: "text/plain",
		Tool: model.Tool{Name: "hours", Access: model.Access{Public: true}}}}
	return s
}

func TestPageIsAsItWas(t *testing.T) {
	got, err := Page([]model.Service{everyPart(), everyRule(false)})
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/page.golden.html"
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; run this test with -update", golden)
	}
}

// No text of an author is markup: the only elements are those of the page's own template.
func TestPageInterpretsNoText(t *testing.T) {
	got, err := Page([]model.Service{everyPart()})
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	for element, want := range map[string]int{
		"<script": 1, "</script": 1, "<style": 1, "<b>": 0, "<i>": 0, "<a>": 0, "http": 1,
	} {
		if n := strings.Count(text, element); n != want {
			t.Errorf("%d times %s, want %d", n, element, want)
		}
	}
	for _, escaped := range []string{
		"&lt;script&gt;alert(1)&lt;/script&gt;", "Desk &amp; &lt;b&gt;Co&lt;/b&gt;",
		"&lt;i&gt;A&lt;/i&gt;", "{{.Title}}", "night &lt;shift&gt;",
		"default-src &#39;none&#39;; style-src &#39;sha256-",
	} {
		if !strings.Contains(text, escaped) {
			t.Errorf("the page does not have %s", escaped)
		}
	}
}

// A role of one service is a caller of all others on the page.
func TestCallersOfAPageAreThoseOfAllServices(t *testing.T) {
	own, any := matrixOf(everyRule(true)), matrixOf(everyRule(false))
	for _, tc := range []struct {
		m      matrix
		lowest bool // the role is the lowest one or above it in another service
		caller string
		want   string
	}{
		{own, false, "Clerk", "Clerk"}, {own, false, "Stranger", noRole},
		{own, false, lowestRole, "Guest"}, {own, false, highestRole, "Clerk"},
		{own, false, anonymous, anonymous},
		{any, true, "Clerk", lowestRole}, {any, false, "Support", noRole},
		{any, false, highestRole, highestRole},
		{any, false, noRole, noRole},
	} {
		if got := tc.m.callers[tc.m.column(tc.caller, tc.lowest)]; got != tc.want {
			t.Errorf("%s is %s, want %s", tc.caller, got, tc.want)
		}
	}
}

func TestSpansReadCode(t *testing.T) {
	for text, want := range map[string][]span{
		"":              nil,
		"a `b` c":       {{"a ", false}, {"b", true}, {" c", false}},
		"`b``c`":        {{"b``c", true}},
		code("x`y"):     {{"x`y", true}},
		code("`") + ".": {{"`", true}, {".", false}},
		"a ` b":         {{"a ` b", false}},
		"`a` `":         {{"a", true}, {" `", false}},
	} {
		if got := spans(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestMarkdownHasTheHierarchyAsADiagram(t *testing.T) {
	got := Markdown([]model.Service{everyRule(true), everyRule(false)})
	const diagram = "```mermaid\nflowchart LR\n  role0[\"Guest\"]\n  role1[\"Clerk\"]\n" +
		"  role0 --> role1\n```\n\n## Tools of desk\n"
	if !strings.HasPrefix(got, diagram) || strings.Count(got, "mermaid") != 1 ||
		strings.Count(got, "\n\n## Tools of desk\n") != 2 {
		t.Errorf("got %s", got)
	}
	if strings.Contains(got, "mcpgen:begin") {
		t.Error("it has the markers of MCP.md")
	}
}

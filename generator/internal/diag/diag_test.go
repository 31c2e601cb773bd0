package diag

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

func at(file string, line, col int) model.Position {
	return model.Position{File: file, Line: line, Col: col}
}

func TestSortOrdersByPlaceAndRemovesDuplicates(t *testing.T) {
	want := List{
		{Code: "MCP001", Message: "without a place"},
		{Code: "MCP002", Pos: at("/w/a.go", 1, 1), Message: "a"},
		{Code: "MCP002", Pos: at("/w/a.go", 1, 1), Message: "b"},
		{Code: "MCP002", Pos: at("/w/a.go", 1, 1), Message: "b", Suggestion: "another"},
		{Code: "MCP003", Pos: at("/w/a.go", 1, 1), Message: "a"},
		{Code: "MCP001", Pos: at("/w/a.go", 1, 2), Message: "a"},
		{Code: "MCP001", Pos: at("/w/a.go", 2, 1), Message: "a"},
		{Code: "MCP001", Pos: at("/w/b.go", 1, 1), Message: "a"},
	}
	for range 20 {
		got := slices.Concat(want, want[2:5])
		got = append(got, Diagnostic{Code: "MCP001", Pos: model.Position{File: "/w/b.go", Line: 1, Col: 1, EndCol: 9}, Message: "a"})
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		got.Sort()
		for i := range got {
			got[i].Pos.EndCol = 0
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v", got)
		}
	}
}

func TestAPlaceHasOneFindingACause(t *testing.T) {
	reached := func(message, suggestion string) Diagnostic {
		return Diagnostic{Code: "MCP016", Pos: at("/w/a.go", 1, 1), Message: message, Suggestion: suggestion, Cause: "x"}
	}
	want := List{reached("In: x", "first"), reached("In.A: x", "second"), {Code: "MCP016", Pos: at("/w/a.go", 2, 1), Message: "In: x", Cause: "x"}}
	for range 20 {
		got := append(slices.Clone(want), reached("A.In: x", "first"), reached("A[].B.In: x", "second"), reached("B: x", "second"))
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		got.Sort()
		if want[1] = reached("B: x", "second"); !slices.Equal(got, want) {
			t.Fatalf("got %v", got)
		}
	}
}

func TestRender(t *testing.T) {
	source := "package a\n\tfunc Gét(x int)\r\nlast"
	list := List{
		{Code: "MCP001", Message: "about the run"},
		{Code: "MCP002", Pos: model.Position{File: "/w/sub/a.go", Line: 2, Col: 7, EndCol: 11}, Message: "here", Suggestion: "fix it"},
		{Code: "MCP003", Pos: at("/elsewhere/b.go", 1, 1), Message: "there"},
		{Code: "MCP004", Pos: at("/w/sub/a.go", 3, 5), Message: "behind the end of the line"},
		{Code: "MCP005", Pos: at("/w/sub/a.go", 9, 1), Message: "behind the end of the file"},
		{Code: "MCP006", Pos: at("/w/sub/a.go", 1, 50), Message: "behind the line"},
	}
	read := func(file string) ([]byte, error) {
		if file == "/w/sub/a.go" {
			return []byte(source), nil
		}
		return nil, errors.New("gone")
	}
	for _, c := range []struct {
		name  string
		style Style
		want  string
	}{
		{"plain", Style{Base: "/w"}, `MCP001: about the run
sub/a.go:2:7: MCP002: here
	fix: fix it
/elsewhere/b.go:1:1: MCP003: there
sub/a.go:3:5: MCP004: behind the end of the line
sub/a.go:9:1: MCP005: behind the end of the file
sub/a.go:1:50: MCP006: behind the line
`},
		{"with snippets", Style{Snippets: true, Source: read}, `MCP001: about the run
/w/sub/a.go:2:7: MCP002: here
		func Gét(x int)
		     ^^^
	fix: fix it
/elsewhere/b.go:1:1: MCP003: there
/w/sub/a.go:3:5: MCP004: behind the end of the line
	last
	    ^
/w/sub/a.go:9:1: MCP005: behind the end of the file
/w/sub/a.go:1:50: MCP006: behind the line
`},
	} {
		var got bytes.Buffer
		if err := list.Render(&got, c.style); err != nil {
			t.Fatal(err)
		}
		if got.String() != c.want {
			t.Errorf("%s: got:\n%s", c.name, got.String())
		}
	}
	var got bytes.Buffer
	if err := list[1:2].Render(&got, Style{Color: true, Snippets: true}); err != nil {
		t.Fatal(err)
	}
	if want := "/w/sub/a.go:2:7: \x1b[1;31mMCP002\x1b[0m: here\n\t\x1b[36mfix:\x1b[0m fix it\n"; got.String() != want {
		t.Errorf("got %q", got.String())
	}
	if got := Relative("/w/a.go", "relative"); got != "/w/a.go" {
		t.Errorf("got %s", got)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRenderReportsWhenItCannotWrite(t *testing.T) {
	if err := (List{{Code: "MCP001"}}).Render(broken{}, Style{}); err == nil {
		t.Error("no error")
	}
}

func TestEveryCodeIsExplainedOnceAndInOrder(t *testing.T) {
	form := regexp.MustCompile(`^MCP\d{3}$`)
	seen := map[Code]bool{}
	for i, e := range Codes() {
		if !form.MatchString(string(e.Code)) || seen[e.Code] {
			t.Errorf("code %q", e.Code)
		}
		seen[e.Code] = true
		if want := Code(fmt.Sprintf("MCP%03d", i+1)); e.Code != want {
			t.Errorf("%s stands where %s should", e.Code, want)
		}
		if e.Title == "" || e.Cause == "" || e.Example == "" || e.Cure == "" {
			t.Errorf("%s is not explained in full", e.Code)
		}
		for _, sentence := range []string{e.Cause, e.Cure} {
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s: %q does not end as a sentence", e.Code, sentence)
			}
		}
		text, ok := Explain(strings.ToLower(string(e.Code)))
		if !ok || !strings.HasPrefix(text, string(e.Code)+": "+e.Title+"\n") || !strings.Contains(text, e.Cure) {
			t.Errorf("explain %s: %s", e.Code, text)
		}
	}
	if _, ok := Explain("MCP999"); ok {
		t.Error("MCP999 is no code")
	}
}

func TestExplainShowsTheExampleAsSource(t *testing.T) {
	text, _ := Explain("MCP001")
	if !strings.Contains(text, "\n    func Find(") || !strings.Contains(text, ")\n\n    func Purge(") {
		t.Errorf("got:\n%s", text)
	}
}

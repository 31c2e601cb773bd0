package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var findings = []report.Finding{
	{Code: "MCP001", Level: report.Error, Message: "100% wrong:\r\nsee, here", Cure: "fix it",
		File: "a b,c:d%/x.go", Line: 3, Column: 5},
	{Code: "widened", Level: report.Warning, Message: "a", File: "/tmp/ä.json", Line: 1},
	{Code: "MCP001", Level: report.Error, Message: "b", File: "x.go"},
	{Code: "cut off", Level: report.Note, Message: "c"},
}

func written(t *testing.T, f report.Format, findings []report.Finding) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, f, findings); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGitHubFormatEscapes follows the documentation of workflow commands: % CR LF in a message, and
// : and , too in a property.
func TestGitHubFormatEscapes(t *testing.T) {
	want := strings.Join([]string{
		"::error file=a b%2Cc%3Ad%25/x.go,line=3,col=5,title=MCP001::" +
			"100%25 wrong:%0D%0Asee, here%0Afix: fix it",
		"::warning file=/tmp/ä.json,line=1,title=widened::a",
		"::error file=x.go,title=MCP001::b",
		"::notice title=cut off::c", "",
	}, "\n")
	if got := written(t, report.GitHub, findings); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestGitHubFormatHasOneLineForEachFinding draws texts, and reads the commands back as the runner
// of GitHub Actions does.
func TestGitHubFormatHasOneLineForEachFinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := report.Finding{Code: "c", Level: report.Error,
			Message: rapid.StringOf(rapid.RuneFrom([]rune("a%:,\r\n02AD5C3"))).Draw(t, "message"),
			File:    "f" + rapid.StringOf(rapid.RuneFrom([]rune("a%:,\r\n02AD5C3"))).Draw(t, "file")}
		var b bytes.Buffer
		if err := report.Write(&b, report.GitHub, []report.Finding{f}); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(b.String(), "\n")
		properties, message, ok := strings.Cut(strings.TrimPrefix(line, "::error "), "::")
		file, title, _ := strings.Cut(properties, ",")
		unescape := func(s string) string {
			for _, pair := range [][2]string{{"%0D", "\r"}, {"%0A", "\n"}, {"%3A", ":"},
				{"%2C", ","}, {"%25", "%"}} {
				s = strings.ReplaceAll(s, pair[0], pair[1])
			}
			return s
		}
		if !ok || rest != "" || title != "title=c" ||
			unescape(strings.TrimPrefix(file, "file=")) != f.File ||
			unescape(message) != f.Message {
			t.Errorf("%+v is %q", f, b.String())
		}
	})
}

func TestJSONFormatIsAnObject(t *testing.T) {
	var got struct {
		Version  int
		Findings []report.Finding
	}
	d := json.NewDecoder(strings.NewReader(written(t, report.JSON, findings)))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.Version != 1 || len(got.Findings) != 4 ||
		got.Findings[0] != findings[0] {
		t.Errorf("%+v, %v", got, err)
	}
	if got := written(t, report.JSON, nil); !strings.Contains(got, `"findings": []`) {
		t.Errorf("no list: %s", got)
	}
}

func TestFormatsOfAFlag(t *testing.T) {
	format := report.Text
	f := report.Flag{Format: &format, Of: report.All}
	for _, name := range []string{"json", "github", "sarif", "text"} {
		if err := f.Set(name); err != nil || f.String() != name || string(format) != name {
			t.Errorf("%s: %v, %s", name, err, f)
		}
	}
	const want = `unknown format "xml": write text, json, github or sarif`
	if err := f.Set("xml"); err == nil || err.Error() != want || format != report.Text {
		t.Errorf("xml: %v, %s", err, f)
	}
	if err := report.Write(&bytes.Buffer{}, report.Text, nil); err == nil {
		t.Error("text is no document")
	}
}

// TestReportsHideNothing writes characters that control a terminal, hide or reorder text.
func TestReportsHideNothing(t *testing.T) {
	const hostile = "a\u009b2J\x7f\u202eb\u2066c\U000e0041\u2028\x1b[2J"
	list := []report.Finding{{Code: "x" + hostile, Level: report.Error, Message: hostile,
		Cure: hostile, File: hostile, Line: 1}}
	for _, f := range []report.Format{report.JSON, report.SARIF, report.GitHub} {
		got := written(t, f, list)
		for _, r := range got {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%s has %U:\n%s", f, r, got)
				break
			}
		}
	}
	var got struct{ Findings []report.Finding }
	if err := json.Unmarshal([]byte(written(t, report.JSON, list)), &got); err != nil ||
		len(got.Findings) != 1 || got.Findings[0] != list[0] {
		t.Errorf("the text is another one: %+v, %v", got, err)
	}
	if got := written(t, report.GitHub, list); !strings.Contains(got, `\u202eb`) {
		t.Errorf("no escape: %s", got)
	}
}

// TestSARIFMessagesHaveNoLinks follows section 3.11.6 of SARIF 2.1.0: [text](target) is a link.
func TestSARIFMessagesHaveNoLinks(t *testing.T) {
	for _, text := range []string{"[a](https://example.com)", `[a\](https://example.com)`,
		`[a\\](https://example.com)`, "[[a]](1)"} {
		got := written(t, report.SARIF, []report.Finding{{Code: "x", Level: report.Error,
			Message: text, Cure: text}})
		if strings.Contains(got, "](") || strings.Count(got, "] (") != 2 {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestSARIFColumnsAreCharacters has a line whose characters have several bytes. A column behind the
// end and a file that does not exist keep theirs.
func TestSARIFColumnsAreCharacters(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a.go", []byte("package a\n\nfunc größe𝒳(x int)\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file               string
		line, column, want int
	}{{"a.go", 3, 1, 1}, {"a.go", 3, 9, 9}, {"a.go", 3, 18, 13}, {"a.go", 3, 99, 99},
		{"a.go", 9, 4, 4}, {"a.go", 3, 0, 0}, {"missing.go", 1, 7, 7}} {
		got := written(t, report.SARIF, []report.Finding{{Code: "MCP001", Level: report.Error,
			File: test.file, Line: test.line, Column: test.column}})
		var log struct {
			Runs []struct {
				ColumnKind string
				Results    []struct {
					Locations []struct {
						PhysicalLocation struct{ Region struct{ StartColumn int } }
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(got), &log); err != nil {
			t.Fatal(err)
		}
		column := log.Runs[0].Results[0].Locations[0].PhysicalLocation.Region.StartColumn
		if column != test.want || log.Runs[0].ColumnKind != "unicodeCodePoints" {
			t.Errorf("%+v: column %d, %s", test, column, log.Runs[0].ColumnKind)
		}
	}
}

// TestSARIFRulesAreDescribed follows the helpUri of each rule to a heading of the page.
func TestSARIFRulesAreDescribed(t *testing.T) {
	codes := []string{"stale", "widened", "added", "narrowed", "removed", "changed", "missing"}
	for _, e := range diag.Codes() {
		codes = append(codes, string(e.Code))
	}
	anchor := strings.NewReplacer(" ", "-", "`", "")
	for _, code := range codes {
		var log struct {
			Runs []struct {
				Tool struct {
					Driver struct {
						Rules []struct {
							ID                     string
							ShortDescription, Help struct{ Text string }
							HelpURI                string
						}
					}
				}
			}
		}
		got := written(t, report.SARIF, []report.Finding{{Code: code, Level: report.Error}})
		if err := json.Unmarshal([]byte(got), &log); err != nil {
			t.Fatal(err)
		}
		rule := log.Runs[0].Tool.Driver.Rules[0]
		uri, found := strings.CutPrefix(rule.HelpURI, "https://github.com/mcpgen/mcpgen/blob/main/")
		file, heading, _ := strings.Cut(uri, "#")
		text, err := os.ReadFile(filepath.Join(testrepo.Root(t), file))
		if err != nil || !found || rule.ShortDescription.Text == "" || rule.Help.Text == "" {
			t.Errorf("%s: %+v, %v", code, rule, err)
			continue
		}
		for line := range strings.Lines(string(text)) {
			line = anchor.Replace(strings.ToLower(strings.Trim(line, "# \n")))
			found = found && line != heading
		}
		if found && heading != "" {
			t.Errorf("%s: no heading %s", code, rule.HelpURI)
		}
	}
}

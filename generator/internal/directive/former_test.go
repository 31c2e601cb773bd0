package directive

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
)

// Each form of an earlier version is an error whose cure is the present form, and Renewed writes
// it. What Renewed writes has no form of an earlier version.
func TestFormsOfEarlierVersions(t *testing.T) {
	for text, want := range map[string]string{
		"//mcp:server strict":                           "//mcp:server unannotated=strict",
		"//mcp:server name=a \t strict  app=b":          "//mcp:server name=a \t unannotated=strict  app=b",
		"//mcp:server unannotated=ignore strict":        "//mcp:server unannotated=ignore strict",
		"//mcp:server strict unannotated=error":         "//mcp:server strict unannotated=error",
		"//mcp:server strict strict":                    "//mcp:server strict strict",
		"//mcp:tool unsolicited=minrole=Admin":          "//mcp:tool unsolicited=minrole=Admin",
		"//mcp:tool annotationtitle public":             "//mcp:tool annotationtitle public",
		"//mcp:icon minrole=Admin src=data:,a":          "//mcp:icon minrole=Admin src=data:,a",
		"//mcp:icon src=data:,a src=data:,b":            "//mcp:icon src=data:,a src=data:,b",
		"//mcp:icon src=data:,a public":                 "//mcp:icon src=data:,a public",
		`//mcp:tool annotationtitle="A b" public`:       `//mcp:tool title="A b" public`,
		"//mcp:tool title=a annotationtitle=`b` public": "//mcp:tool title=a public",
		"//mcp:tool unsolicited elicits":                "//mcp:tool elicits",
		"//mcp:tool annotationtitle=a unsolicited":      "//mcp:tool title=a",
		"//mcp:icon src=data:image/png,A":               "//mcp:meta icon value=data:image/png,A",
		`//mcp:icon src="https://a/b c"`:                `//mcp:meta icon value="https://a/b c"`,
		"//mcp:icon theme=dark src=@icon":               "//mcp:meta icon json=`{\"src\":\"@icon\",\"theme\":\"dark\"}`",
		"//mcp:icon src=https://a/`":                    "//mcp:icon src=https://a/`",
		"//mcp:icon src=data:a,b sizes=1x1,any mimetype=\"`\"": `//mcp:meta icon json=` +
			`"{\"src\":\"data:a,b\",\"mimeType\":\"` + "`" + `\",\"sizes\":[\"1x1\",\"any\"]}"`,
		"//mcp:icon theme=dark":         "//mcp:icon theme=dark",
		"//mcp:param n multipleOf=2":    "//mcp:param n multipleOf=2",
		"//mcp:prompt annotationtitle=": "//mcp:prompt annotationtitle=",
		"//mcp:tool strict":             "//mcp:tool strict",
	} {
		got := Renewed(text)
		if got != want || Renewed(got) != got {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		_, problems := parse(t, text)
		if len(problems) == 0 {
			t.Fatalf("%s: no problem", text)
		}
		if got == text {
			continue
		}
		if p := problems[0]; !strings.Contains(p.Fix, orFix) ||
			p.Code != diag.UnknownKey && p.Code != diag.UnknownDirective {
			t.Errorf("%s: %+v", text, p)
		}
		if _, problems := parse(t, got); len(problems) > 0 {
			t.Errorf("%s: %+v", got, problems)
		}
	}
	for name, keys := range former {
		spec, ok := Lookup(name)
		for key := range keys {
			if _, present := spec.key(key); present || !ok {
				t.Errorf("//mcp:%s has the key %s", name, key)
			}
		}
	}
}

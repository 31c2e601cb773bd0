package boundaryfile_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/internal/boundaryitem"
)

func read(text string) ([]boundaryfile.Entry, error) {
	return boundaryfile.Read("b.yaml", func() (fs.File, error) {
		return fstest.MapFS{"b.yaml": {Data: []byte(text)}}.Open("b.yaml")
	})
}

// A missing key, null and an empty list allow nothing, and "*" allows all.
func TestListsOfAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "items:": nil, "items: null": nil, "items: []": nil,
		`items: "*"`: {"*"}, `items: ["*"]`: {"*"}, "items: [tool:a, 'prompt:b']": {"tool:a", "prompt:b"},
	} {
		entries, err := read("boundaries:\n  - issuer: i\n    client: a\n    " + text + "\n    " +
			strings.Replace(text, "items", "roles", 1) + "\n")
		if strings.Contains(text, ":a") {
			entries, err = read("boundaries:\n  - issuer: i\n    client: a\n    " + text + "\n")
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		b := entries[0].Boundary
		all := len(want) == 1
		if !slices.Equal(b.Items, want) || boundaryitem.IsAll(b.Items) != all ||
			boundaryitem.IsAll(b.Roles) != all ||
			!all && len(b.Roles) > 0 {
			t.Errorf("%q: %+v, want %q", text, b, want)
		}
	}
	entries, err := read("boundaries: [{issuer: i, client: a, readonly: true, until: " +
		"2027-06-30T00:00:00Z}]")
	if err != nil {
		t.Fatal(err)
	}
	b := entries[0].Boundary
	end := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	if !b.ReadOnly || !b.Until.Equal(end) {
		t.Errorf("%+v", b)
	}
}

func TestMistakesOfAFile(t *testing.T) {
	const entry = "boundaries:\n  - issuer: i\n    client: a\n    "
	for text, want := range map[string]string{
		"":                `b.yaml:1: is empty: write its first key`,
		"a: 1":            `b.yaml:1: /a: is not a known key: use boundaries`,
		"{}":              `b.yaml:1: /boundaries: is missing: write the entries, or [] for none`,
		"boundaries: {}":  `b.yaml:1: /boundaries: is a mapping: write a list`,
		"boundaries: [a]": `b.yaml:1: /boundaries/0: is text: write a mapping`,
		entry + "item: []": `b.yaml:4: /boundaries/0/item: is not a known key: use issuer, client, ` +
			`subject, actor, roles, items, readonly, blocked, until`,
		entry + "items: tool:a": `b.yaml:4: /boundaries/0/items: is text: write a list`,
		entry + "items: ['*', tool:a]": `b.yaml:4: /boundaries/0/items/0: is wrong: the item "*" stands for ` +
			`all items, and must be the only one: remove it, or the others`,
		entry + "items: [tol:a]": `b.yaml:4: /boundaries/0/items/0: is wrong: the item "tol:a" has no kind ` +
			`that exists: did you mean tool:a?`,
		entry + "items: [tool:a, tool:a]": `b.yaml:4: /boundaries/0/items/1: is in its list twice: remove one`,
		entry + "roles: [Viewer, '*']": `b.yaml:4: /boundaries/0/roles/1: is no role: write names of roles, ` +
			`or "*" alone for all`,
		entry + "readonly: yes": `b.yaml:4: /boundaries/0/readonly: is text: write true or false`,
		entry + "until: tomorrow": `b.yaml:4: /boundaries/0/until: is not a time of RFC 3339: write one as ` +
			`in 2027-06-30T00:00:00Z`,
		entry + "until: 0001-01-01T00:00:00Z": `b.yaml:4: /boundaries/0/until: is not a time`,
		entry + "actor: b": `b.yaml:2: /boundaries/0: has none or both of client and actor: write one of ` +
			`them`,
		entry + "subject: ''": `b.yaml:4: /boundaries/0/subject: is empty: write the subject, or remove the key`,
		"boundaries: [{client: a}]": `b.yaml:1: /boundaries/0: has no issuer: write the issuer of the ` +
			`client, or "" for principals without one`,
		"boundaries: [{issuer: i}]":             `has none or both of client and actor`,
		"boundaries: [{issuer: i, client: ''}]": `/client: is empty: write the client, or "*" for all others`,
		"boundaries: [{issuer: i, client: '*', subject: ada}]": `b.yaml:1: /boundaries/0: has a subject ` +
			`without one client: write the client, or remove the subject`,
		entry + "subject: b\n  - {issuer: i, subject: b, client: a}": `b.yaml:5: /boundaries/1: is about ` +
			`the same party as b.yaml:2: remove one of the two`,
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

package static_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
)

func open(t *testing.T, text string) (boundary.Source, error) {
	t.Helper()
	return static.OpenFS(fstest.MapFS{"b.yaml": {Data: []byte(text)}}, "b.yaml")
}

// The most specific entry counts. What no entry names has no boundary.
func TestMostSpecificEntryCounts(t *testing.T) {
	s, err := open(t, `boundaries:
  - {issuer: i, client: "*", items: [tool:other]}
  - {issuer: i, client: a, items: [tool:client]}
  - {issuer: i, client: a, subject: ada, items: [tool:subject]}
  - {issuer: i, actor: a, items: [tool:actor]}
  - {issuer: "", client: a, items: [tool:local]}
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		party boundary.Party
		want  string
	}{
		{boundary.Party{Issuer: "i", Client: "a", Subject: "ada"}, "tool:subject"},
		{boundary.Party{Issuer: "i", Client: "a", Subject: "bob"}, "tool:client"},
		{boundary.Party{Issuer: "i", Client: "A", Subject: "ada"}, "tool:other"},
		{boundary.Party{Issuer: "i", Client: "*", Subject: "ada"}, "tool:other"},
		{boundary.Party{Issuer: "i", Subject: "ada"}, "tool:other"},
		{boundary.Party{Issuer: "i", Actor: "a"}, "tool:actor"},
		{boundary.Party{Issuer: "i", Actor: "b"}, ""},
		{boundary.Party{Issuer: "j", Client: "a", Subject: "ada"}, ""},
		{boundary.Party{Client: "a", Subject: "ada"}, "tool:local"},
		{boundary.Party{Subject: "ada"}, ""},
	} {
		b, ok, err := s.Boundary(context.Background(), test.party)
		if got := strings.Join(b.Items, " "); got != test.want || ok != (test.want != "") || err != nil {
			t.Errorf("%+v: %q %v %v, want %q", test.party, got, ok, err, test.want)
		}
	}
	var places []string
	for _, b := range s.(interface {
		All() iter.Seq2[boundary.Party, boundary.Boundary]
	}).All() {
		places = append(places, b.Where)
	}
	if got := strings.Join(places, " "); got != "b.yaml:2 b.yaml:3 b.yaml:4 b.yaml:5 b.yaml:6" {
		t.Error(got)
	}
}

// A block of a client holds for a caller with an entry of its own. That of all others holds for
// clients without an entry only.
func TestBlockedClientIsBlockedForEachCaller(t *testing.T) {
	s, err := open(t, `boundaries:
  - {issuer: i, client: "*", blocked: true}
  - {issuer: i, client: a, blocked: true}
  - {issuer: i, client: a, subject: ada, items: [tool:subject]}
  - {issuer: i, client: b, items: [tool:client]}
  - {issuer: i, client: b, subject: ada, blocked: true}
`)
	if err != nil {
		t.Fatal(err)
	}
	for party, want := range map[boundary.Party]bool{
		{Issuer: "i", Client: "a", Subject: "ada"}: true, {Issuer: "i", Client: "a", Subject: "bob"}: true,
		{Issuer: "i", Client: "b", Subject: "ada"}: true, {Issuer: "i", Client: "b", Subject: "bob"}: false,
		{Issuer: "i", Client: "c", Subject: "ada"}: true, {Issuer: "i", Subject: "ada"}: true,
	} {
		if b, ok, err := s.Boundary(context.Background(), party); b.Blocked != want || !ok || err != nil {
			t.Errorf("%+v: %+v %v %v", party, b, ok, err)
		}
	}
}

// A missing key, null and an empty list allow nothing, and "*" allows all.
func TestListsOfAFile(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "items:": nil, "items: null": nil, "items: []": nil,
		`items: "*"`: {"*"}, `items: ["*"]`: {"*"}, "items: [tool:a, 'prompt:b']": {"tool:a", "prompt:b"},
	} {
		s, err := open(t, "boundaries:\n  - issuer: i\n    client: a\n    "+text+"\n    "+
			strings.Replace(text, "items", "roles", 1)+"\n")
		if strings.Contains(text, ":a") {
			s, err = open(t, "boundaries:\n  - issuer: i\n    client: a\n    "+text+"\n")
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		b, _, _ := s.Boundary(context.Background(), boundary.Party{Issuer: "i", Client: "a"})
		all := len(want) == 1
		if !slices.Equal(b.Items, want) || boundaryitem.IsAll(b.Items) != all || boundaryitem.IsAll(b.Roles) != all ||
			!all && len(b.Roles) > 0 {
			t.Errorf("%q: %+v, want %q", text, b, want)
		}
	}
	s, err := open(t, "boundaries: [{issuer: i, client: a, readonly: true, until: 2027-06-30T00:00:00Z}]")
	if err != nil {
		t.Fatal(err)
	}
	b, _, _ := s.Boundary(context.Background(), boundary.Party{Issuer: "i", Client: "a"})
	end := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	if !b.ReadOnly || !b.Until.Equal(end) || b.Ended(end.Add(-1)) || !b.Ended(end) {
		t.Errorf("%+v", b)
	}
}

func TestMistakesOfAFile(t *testing.T) {
	const entry = "boundaries:\n  - issuer: i\n    client: a\n    "
	for text, want := range map[string]string{
		"":                `static: b.yaml:1: is empty: write its first key`,
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
		if _, err := open(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

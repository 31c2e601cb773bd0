package static_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
  - {issuer: "", client: a, items: [tool:local], until: 2027-06-30T00:00:00Z}
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
	b, _, _ := s.Boundary(context.Background(), boundary.Party{Client: "a"})
	end := time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)
	if b.Ended(end.Add(-1)) || !b.Ended(end) || (boundary.Boundary{}).Ended(end) {
		t.Errorf("%+v", b)
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
		{Issuer: "i", Client: "a", Subject: "ada"}: true, {Issuer: "i", Client: "a",
			Subject: "bob"}: true,
		{Issuer: "i", Client: "b", Subject: "ada"}: true, {Issuer: "i", Client: "b",
			Subject: "bob"}: false,
		{Issuer: "i", Client: "c", Subject: "ada"}: true, {Issuer: "i", Subject: "ada"}: true,
	} {
		if b, ok, err := s.Boundary(context.Background(), party); b.Blocked != want || !ok || err != nil {
			t.Errorf("%+v: %+v %v %v", party, b, ok, err)
		}
	}
}

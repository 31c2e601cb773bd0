package sandbox

import (
	"encoding/json"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// TestVariablesComeBackAsAHandlerLeftThem takes variables to a helper and back, as a handler there
// changes them.
func TestVariablesComeBackAsAHandlerLeftThem(t *testing.T) {
	all := &workspaces{options: WorkspaceOptions{Variables: 4, VariableBytes: 60}}
	name := rapid.SampledFrom([]string{"a", "bb", "\xff\x00", "é"})
	value := rapid.SampledFrom([]string{"", "1", "\xfe", "text"})
	rapid.Check(t, func(t *rapid.T) {
		server := &ClientWorkspace{all: all}
		change := func(s *ClientWorkspace, label string) {
			for range rapid.IntRange(0, 8).Draw(t, label) {
				if rapid.Bool().Draw(t, "unset") {
					s.Unset(name.Draw(t, "name"))
				} else if err := s.Set(name.Draw(t, "name"), value.Draw(t, "value")); err != nil {
					t.Fatal(err)
				}
			}
		}
		change(server, "before")
		before := server.Variables()
		lent := server.snapshot()
		text, err := json.Marshal(lent)
		if err != nil {
			t.Fatal(err)
		}
		arrived := new(workspaceCopy)
		if err := json.Unmarshal(text, arrived); err != nil {
			t.Fatal(err)
		}
		helper := arrived.workspace(nil)
		if !maps.Equal(helper.Variables(), before) || helper.bytes != server.bytes {
			t.Fatalf("%q arrived of %q, %d bytes of %d", helper.Variables(), before, helper.bytes,
				server.bytes)
		}
		change(helper, "in the helper")
		j := helper.journal(arrived)
		if maps.Equal(helper.Variables(), before) != (j == nil) {
			t.Fatalf("%q of %q is journal %+v", helper.Variables(), before, j)
		}
		if j == nil {
			return
		}
		text, err = json.Marshal(j)
		if err != nil || int64(len(text)) > server.journalBound() {
			t.Fatalf("%d bytes of %d, %v", len(text), server.journalBound(), err)
		}
		back := new(journal)
		if err := json.Unmarshal(text, back); err != nil {
			t.Fatal(err)
		}
		if err := server.apply(*back); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(server.Variables(), helper.Variables()) || server.bytes != helper.bytes {
			t.Fatalf("the server has %q, the handler left %q", server.Variables(), helper.Variables())
		}
	})
}

func TestWhatAnotherCallHasSetMeanwhileStays(t *testing.T) {
	all := &workspaces{options: WorkspaceOptions{Variables: 3, VariableBytes: 8}}
	server := &ClientWorkspace{all: all}
	set := func(s *ClientWorkspace, name, value string) {
		t.Helper()
		if err := s.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	set(server, "a", "1")
	lent := server.snapshot()
	helper := lent.workspace(nil)
	helper.Unset("a")
	set(helper, "b", "2")
	set(server, "c", "3")
	if err := server.apply(*helper.journal(lent)); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"b": "2", "c": "3"}; !maps.Equal(server.Variables(), want) {
		t.Errorf("%q, want %q", server.Variables(), want)
	}
	before := server.Variables()
	for what, j := range map[string]journal{
		"too many": {Set: []variable{{Name: []byte("d")}, {Name: []byte("e")}}},
		"too long": {Unset: [][]byte{[]byte("b")},
			Set: []variable{{Name: []byte("c"), Value: []byte("12345678")}}},
	} {
		if err := server.apply(j); limitOfErr(err) != limitQuota {
			t.Errorf("%s: %v", what, err)
		}
		if !maps.Equal(server.Variables(), before) {
			t.Errorf("%s: something was done: %q", what, server.Variables())
		}
	}
}

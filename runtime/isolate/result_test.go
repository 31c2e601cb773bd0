package isolate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

func TestARefusalCrosses(t *testing.T) {
	refusal := &grant.Denied{
		Kind: grant.NetConnect, Resource: "db.test:80", Cause: grant.NotPublic, Reason: "it is private",
	}
	_, err := Encoded(nil, fmt.Errorf("connecting: %w", refusal))
	denied, text := ParseRefused(err.Error())
	if denied == nil || *denied != *refusal || text == err.Error() {
		t.Errorf("%q is parsed as %v, %q", err, denied, text)
	}
	plain := errors.New("no such file")
	if err := Refused(plain); err != plain {
		t.Errorf("another error becomes %v", err)
	}
	if err := Refused(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	for words, want := range map[string]string{
		"no such file":           "no such file",
		"":                       "",
		refusedMark:              "",
		refusedMark + "null":     "null",
		refusedMark + `{"Kind":`: `{"Kind":`,
		"x" + refusedMark + "{}": "x" + refusedMark + "{}",
	} {
		if denied, text := ParseRefused(words); denied != nil || text != want {
			t.Errorf("%q is parsed as %v, %q", words, denied, text)
		}
	}
}

func TestEncodedIsJSON(t *testing.T) {
	if out, err := Encoded(map[string]int{"n": 1}, nil); err != nil || string(out) != `{"n":1}` {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := Encoded(func() {}, nil); err == nil {
		t.Error("a func is encoded")
	}
}

package secret

import (
	"reflect"
	"testing"
)

func TestWordsOfAName(t *testing.T) {
	for name, want := range map[string][]string{
		"apiKey": {"api", "key"}, "HTTPToken": {"http", "token"}, "a_b-c.d": {"a", "b", "c", "d"},
		"Über2Key": {"über", "key"}, "": nil, "__": nil, "ID": {"id"},
	} {
		if got := words(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

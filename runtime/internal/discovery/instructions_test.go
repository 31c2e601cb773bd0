package discovery

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

func TestNamesAreFoundAsWords(t *testing.T) {
	for _, test := range []struct {
		text, name string
		kind       access.Kind
		left       string // with * for each byte of the name; empty if it is not found
	}{
		{"Use list_all or list_all.", "list_all", access.Tools, "Use ******** or ********."},
		{"Use list_all2, relist_all or _list_all.", "list_all", access.Tools, ""},
		{"Use list_2 and list_22.", "list_2", access.Tools, "Use ****** and list_22."},
		{"A list, or `list`.", "list", access.Tools, "A list, or `****`."},
		{"A list.", "list", access.Tools, ""},
		{"See docs://a/b.", "docs://a/b", access.Resources, "See **********."},
	} {
		left := []byte(test.text)
		found := takes(left, inCode(test.text),
			named{name: test.name, targets: []request.Target{{Kind: test.kind, Name: test.name}}})
		got := strings.ReplaceAll(string(left), "\x00", "*")
		if found != (test.left != "") || found && got != test.left || !found && got != test.text {
			t.Errorf("%q in %q: %t, %q", test.name, test.text, found, got)
		}
	}
	const words = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	for b := range 256 {
		beside := string([]byte{byte(b)})
		for _, text := range []string{beside + "a_b", "a_b" + beside} {
			n := named{name: "a_b", targets: []request.Target{{Name: "a_b"}}}
			found := takes([]byte(text), inCode(text), n)
			if found == (strings.IndexByte(words, byte(b)) >= 0) {
				t.Errorf("a_b in %q: %t", text, found)
			}
		}
	}
}

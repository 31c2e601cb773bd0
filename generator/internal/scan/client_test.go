package scan

import "testing"

func TestInternalPackagesAreForThoseBelowTheirParent(t *testing.T) {
	for _, test := range []struct {
		what, by string
		want     bool
	}{
		{"example.com/a", "example.com/b/client", true},
		{"example.com/a/internal/x", "example.com/a/b/client", true},
		{"example.com/a/internal/x", "example.com/ab/client", false},
		{"example.com/a/internal", "example.com/a/client", true},
		{"example.com/a/internal", "example.com/client", false},
		{"example.com/a/internals/x", "example.com/client", true},
		{"example.com/internal/a/internal/x", "example.com/internal/b", false},
		{"internal/x", "example.com/client", true}, // the standard library's are never named
	} {
		if got := importable(test.what, test.by); got != test.want {
			t.Errorf("%s by %s: %v", test.what, test.by, got)
		}
	}
}

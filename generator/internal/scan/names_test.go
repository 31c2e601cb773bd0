package scan

import (
	"slices"
	"testing"
)

func TestOneNameATypeAndOneTypeAName(t *testing.T) {
	var n names
	if got := []string{n.name("a", "x"), n.name("b", "x"), n.name("a", "y"), n.name("c", "x"),
		n.name("d", "y")}; !slices.Equal(got, []string{"x", "x2", "x", "x3", "y"}) {
		t.Errorf("got %v", got)
	}
}

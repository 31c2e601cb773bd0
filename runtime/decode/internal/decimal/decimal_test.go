package decimal

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"
)

func TestNumbersAreComparedByTheirValue(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		got, want := Compare([]byte(a), b), Parse([]byte(a)).Compare(Parse([]byte(b)))
		if cmp.Compare(got, 0) != cmp.Compare(want, 0) {
			t.Fatalf("%s with %s: %d, want %d", a, b, got, want)
		}
	})
}

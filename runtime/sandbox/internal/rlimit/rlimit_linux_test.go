package rlimit

import (
	"strings"
	"testing"
)

func TestOddMeasuresAreErrors(t *testing.T) {
	for _, odd := range []string{"", "1 2 3", "1 2 3 4 5 six 7"} {
		if n, err := dataBytes(strings.NewReader(odd)); err == nil {
			t.Errorf("%q is %d bytes", odd, n)
		}
	}
}

package sandbox

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestCaptureKeepsBeginningAndEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		writes := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 50)).Draw(t, "writes")
		c := newCapture(limit)
		var all []byte
		for _, b := range writes {
			if n, err := c.Write(b); n != len(b) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
			all = append(all, b...)
		}
		half := limit / 2
		want := all
		if len(all) > 2*half {
			want = append(append(bytes.Clone(all[:half]), "\n…\n"...), all[len(all)-half:]...)
		}
		if got := c.bytes(); !bytes.Equal(got, want) {
			t.Fatalf("limit %d: %q, want %q", limit, got, want)
		}
	})
}

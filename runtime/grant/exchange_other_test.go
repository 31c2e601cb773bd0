//go:build unix && !linux

package grant

import "os"

// exchange swaps two names, and leaves the first empty for a moment.
func exchange(a, b string) {
	_ = os.Rename(a, b+".away")
	_ = os.Rename(b, a)
	_ = os.Rename(b+".away", b)
}

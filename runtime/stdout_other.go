//go:build !linux

package runtime

import (
	"io"
	"os"
)

// takeStdout returns standard output as it is now, and makes os.Stdout standard error until
// restore is called.
func takeStdout() (out io.Writer, restore func(), err error) {
	before := os.Stdout
	os.Stdout = os.Stderr
	return before, func() { os.Stdout = before }, nil
}

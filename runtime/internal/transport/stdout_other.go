//go:build !linux

package transport

import (
	"io"
	"os"
)

// TakeStdout returns the output and redirects os.Stdout to standard error until restore is called.
func TakeStdout() (out io.Writer, restore func(), err error) {
	before := os.Stdout
	os.Stdout = os.Stderr
	return before, func() { os.Stdout = before }, nil
}
